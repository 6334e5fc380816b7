/* Building a program a second time, in a process of its own, with the compiler's dumps on.
 *
 * Dumps are switched on by environment variables that compilers read once per process, they slow every build of the process
 * down, and some compilers then produce other binaries. So the application's own build stays as it is, and a child process
 * does the same build at the same time.
 */
#ifndef KERNLENS_REPLAY_H
#define KERNLENS_REPLAY_H

#include "bytes.h"
#include "requests.h"

struct replay;

bool replay_needed(const struct compiler *compiler, const struct stage *stage, bool text);

/* Starts the process, which loads the driver and then waits. NULL on failure; `tell` says whether the user hears why. */
struct replay *replay_start(const struct request *request, bool tell);
/* Has it build. */
bool replay_build(struct replay *replay, const struct writer *job);
/* Waits for its end. Afterwards its folder holds what the compiler wrote. False, and the user was told, if it came to none. */
bool replay_wait(struct replay *replay);
const char *replay_folder(const struct replay *replay);
/* Why nothing useful may be in the folder although it ended well: what the second build said. */
const char *replay_answer(const struct replay *replay);
/* Ends the process if it still runs, and removes the folder. NULL does nothing. */
void replay_free(struct replay *replay);

#endif
