/* Kept builds: the application's build, during which its compiler keeps one stage.
 *
 * IGC is told to through its settings in memory (igc/settings.h), Intel's CPU runtime through environment variables, which it
 * reads at each build. Other builds wait meanwhile. Where this cannot be, a second build yields the stage (second_build.h):
 * while other builds run, if the user has such dumps made for himself, for other stages and compilers.
 */
#ifndef KERNLENS_KEPT_BUILD_H
#define KERNLENS_KEPT_BUILD_H

#include "opencl_layer/compilers/stages.h"

#include <CL/cl.h>

/* Tells whether the next build could keep this. */
bool kept_build_possible(const struct stage_form *form);
/* Before a build of the program: has it keep this, and lets every other build wait until kept_build_end. False, with nothing
 * to be ended, if it cannot. */
bool kept_build_begin(cl_program program, const struct stage_form *form);
/* After it: hands over the folder of its files; NULL if there are none, or some of another program's. */
char *kept_build_end(const struct stage_form *form);

/* Stand around a build that keeps nothing. */
void other_build_begin(void);
void other_build_end(void);

#endif
