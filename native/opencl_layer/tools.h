/* Programs that turn a binary form into text. */
#ifndef KERNLENS_TOOLS_H
#define KERNLENS_TOOLS_H

#include <stddef.h>

/* Runs one of `programs` (a NULL-terminated list; the first that can be run and succeeds) as PROGRAM ARGUMENTS... INPUT and
 * writes its standard output to `output`. `arguments` is NULL-terminated. Returns 0, or -1 if none succeeded. */
int tool_run(const char *const *programs, const char *const *arguments, const char *input, const char *output);

#endif
