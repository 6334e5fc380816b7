/* A second build: the application's program is built once more, in a process of its own, with the compiler's dumps on.
 *
 * Dumps are switched on by environment variables that compilers read once per process, they slow every build of the process
 * down, and some compilers then produce other binaries. So the application's build stays as it is, and a child process does
 * the same build at the same time.
 */
#ifndef KERNLENS_SECOND_BUILD_H
#define KERNLENS_SECOND_BUILD_H

#include "base/bytes.h"
#include "opencl_layer/compilers/stages.h"

#include <CL/cl.h>

struct second_build;

/* Starts the process, which loads the driver and then waits. NULL on failure; `tell` says whether the user hears why. Without a stage
 * there are no dumps, and the user hears of nothing. */
struct second_build *second_build_start(cl_device_id device, const struct stage_form *form, bool tell);
/* Has it build. */
bool second_build_run(struct second_build *build, const struct writer *job);
/* Waits for its end. Afterwards its folder holds what the compiler wrote. False, and the user was told, if it came to none. */
bool second_build_wait(struct second_build *build);
const char *second_build_folder(const struct second_build *build);
/* Tells why nothing useful may be in the folder although the process ended well; empty if the build succeeded. */
const char *second_build_answer(const struct second_build *build);
/* Tells why it came to nothing; empty if it did not. */
const char *second_build_reason(const struct second_build *build);
/* Ends the process if it still runs, and removes the folder. NULL does nothing. */
void second_build_free(struct second_build *build);
/* In a forked child, of a second build of its parent's: frees what is here and leaves the process and the folder alone. */
void second_build_leave(struct second_build *build);

#endif
