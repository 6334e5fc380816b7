/* Child processes: the environment that they get, and tools that are run to their end. */
#ifndef KERNLENS_CHILDREN_H
#define KERNLENS_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>

enum { ENVIRONMENT_SETTINGS = 12 };

/* The environment of a child process: this process's own, with some variables set otherwise. */
struct environment {
    char *settings[ENVIRONMENT_SETTINGS]; /* "NAME=value" */
    size_t count;
    bool failed; /* out of memory or of room */
};

void environment_set(struct environment *environment, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes a list for posix_spawn; NULL if `failed` or out of memory. Free the list, not its strings, which are valid until
 * environment_free. */
char **environment_list(const struct environment *environment);
void environment_free(struct environment *environment);

/* Runs a program that turns a binary form into text: PROGRAM ARGUMENTS... INPUT, with each of `programs` in turn until one
 * succeeds, its standard output going to the file `output`. Both lists end with NULL. False if none succeeded. */
bool tool_run(const char *const *programs, const char *const *arguments, const char *input, const char *output);

#endif
