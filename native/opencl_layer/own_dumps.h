/* Dumps of the application's own build: its compiler is told for the length of one build to keep one stage.
 *
 * IGC is told through its settings in memory (igc_settings.h), Intel's CPU runtime through environment variables, which it reads
 * at each build. Other builds wait meanwhile. Where this cannot be, a second build keeps the stage (replay.h): while other builds
 * run, if the user has such dumps made for himself, for other stages and compilers.
 */
#ifndef KERNLENS_OWN_DUMPS_H
#define KERNLENS_OWN_DUMPS_H

#include "requests.h"

/* The folder that the compilers are told; it exists during such a build only. NULL if it has no name. */
const char *own_dumps_folder(void);
/* Whether the next build could keep what this request wants. */
bool own_dumps_possible(const struct request *request);
/* Before a build: has it keep what the request wants, and lets every other build wait until own_dumps_end. False, with nothing
 * to be ended, if it cannot. */
bool own_dumps_begin(const struct request *request);
/* After it: the folder of its files, which becomes the caller's; NULL if there are none, or some of another program's. */
char *own_dumps_end(const struct request *request);

/* Around a build of which no files are wanted. */
void own_dumps_pass_begin(void);
void own_dumps_pass_end(void);

#endif
