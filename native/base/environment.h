/* The environment of a child process: this process's own, with some variables set otherwise. */
#ifndef KERNLENS_ENVIRONMENT_H
#define KERNLENS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

enum { ENVIRONMENT_SETTINGS = 12 };

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

#endif
