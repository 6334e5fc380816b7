/* Dumps of the application's own builds: IGC's dumps switched on in this process, for one stage.
 *
 * IGC 1 reads its variables at the first build of a process and never again, IGC 2 when the driver loads. So the stage of the
 * first snapshot is the one that later builds of the process can have as well, at little cost; other stages need a second
 * build (replay.h). For IGC 2 the stage must be known beforehand: KERNLENS_SNAPSHOT_STAGE names it, and the layer must also be
 * named in LD_PRELOAD. The folder is a symbolic link which is pointed elsewhere for each build; builds of a process with its
 * dumps on therefore do not overlap with one whose files are wanted.
 */
#ifndef KERNLENS_OWN_DUMPS_H
#define KERNLENS_OWN_DUMPS_H

#include "requests.h"

/* Whether a string of the environment is one that this file put there: a child process is not to get it. */
bool own_dumps_setting(const char *setting);
/* When a loader takes the layer: what was switched on when the library was loaded, gets its folder. */
void own_dumps_loaded(void);
/* Whether the next build could write what this request wants. */
bool own_dumps_possible(const struct request *request);
/* Before a build: has it write what the request wants into a new folder, and returns the folder; NULL if it cannot. With a
 * folder, every other build waits until own_dumps_end. */
char *own_dumps_begin(const struct request *request);
/* After it. False if the compiler wrote nothing at all: it had read its variables before. The folder stays the caller's. */
bool own_dumps_end(const char *folder);

/* Around a build of which no files are wanted. The first returns what the second takes. */
bool own_dumps_pass_begin(cl_program program);
void own_dumps_pass_end(bool passing);

#endif
