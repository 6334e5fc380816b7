/* Tools: programs that turn a binary form into text. */
#ifndef KERNLENS_TOOLS_H
#define KERNLENS_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

/* Runs PROGRAM ARGUMENTS... INPUT with each of `programs` in turn until one succeeds, its standard output going to the file
 * `output`. Both lists end with NULL. False if none succeeded. */
bool tool_run(const char *const *programs, const char *const *arguments, const char *input, const char *output);

#endif
