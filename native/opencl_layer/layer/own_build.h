/* The application's own build, during which its compiler keeps one stage.
 *
 * IGC is told to through its settings in memory (igc/settings.h). Other builds wait meanwhile: their callers share the lock of
 * builds (base/locks.h). Where this cannot be, a second build yields the stage (second_build.h): while other builds run, if the
 * user has such dumps made for himself, for other stages and compilers.
 */
#ifndef KERNLENS_OWN_BUILD_H
#define KERNLENS_OWN_BUILD_H

#include "opencl_layer/compilers/stages.h"

#include <CL/cl.h>
#include <CL/cl_codeplay_program_snapshot.h>
#include <CL/cl_icd.h>

#include <stdbool.h>
#include <stddef.h>

/* Tells whether the next build could keep this. */
bool own_build_possible(const struct stage_form *form);
/* Before a build of the program: has it keep this, and lets every other build wait until own_build_end. False, with nothing
 * to be ended, if it cannot. */
bool own_build_begin(cl_program program, const struct stage_form *form);
/* After it: hands over the folder of its files; NULL if there are none, or some of another program's. */
char *own_build_end(const struct stage_form *form);

/* The same for a caller that is no OpenCL loader: kernlens's Python functions, around pyopencl's build. Only for IGC. */
struct own_build;

/* Takes the caller's OpenCL functions, in place of those that a layer gets. Names of their types differ between headers. */
void kernlens_own_build_use(__typeof__(&clGetProgramInfo) get_info, __typeof__(&clCreateProgramWithIL) create,
                            __typeof__(&clSetProgramSpecializationConstant) set, __typeof__(&clReleaseProgram) release);

/* Called before a build of this program with IGC: has it keep this stage. What it returns is for the two other functions, to
 * be called in their order; NULL: it cannot, a second build must. */
struct own_build *kernlens_own_build_begin(cl_program program, const char *stage, int text);

/* Called right after it, also if it failed. */
void kernlens_own_build_over(struct own_build *build);

/* Then calls back with what was kept, as a request to the layer would. `binary` is the program's; NULL if there is none, which
 * serves stages of the whole program only. */
void kernlens_own_build_take(struct own_build *build, const unsigned char *binary, size_t size,
                             cl_codeplay_snapshot_callback_t callback, void *user_data);

#endif
