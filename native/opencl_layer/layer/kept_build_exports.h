/* Kept builds for a caller that is no OpenCL loader: kernlens's Python functions, around pyopencl's build.
 *
 * Only for IGC: the CPU runtime's variables would be set too late. */
#ifndef KERNLENS_KEPT_BUILD_EXPORTS_H
#define KERNLENS_KEPT_BUILD_EXPORTS_H

#include <CL/cl.h>
#include <CL/cl_codeplay_program_snapshot.h>
#include <CL/cl_icd.h>

#include <stddef.h>

struct kept_build;

/* Takes the caller's OpenCL functions, in place of those that a layer gets. */
void kernlens_kept_build_use(cl_api_clGetProgramInfo get_info, cl_api_clCreateProgramWithIL create,
                             cl_api_clSetProgramSpecializationConstant set, cl_api_clReleaseProgram release);

/* Called before a build of this program with IGC: has it keep this stage. What it returns is for the two other functions, to
 * be called in their order; NULL: it cannot, a second build must. */
struct kept_build *kernlens_kept_build_begin(cl_program program, const char *stage, int text);

/* Called right after it, also if it failed. */
void kernlens_kept_build_over(struct kept_build *build);

/* Then calls back with what was kept, as a request to the layer would. `binary` is the program's; NULL if there is none, which
 * serves stages of the whole program only. */
void kernlens_kept_build_take(struct kept_build *build, const unsigned char *binary, size_t size,
                              cl_codeplay_snapshot_callback_t callback, void *user_data);

#endif
