/* Processes that this one starts, and that are no children of its own: the application would hear of their ends (SIGCHLD), and its
 * wait(2) would take them. What they have to tell comes through a descriptor that they are started with,
 * which also ends when they do: while it does not, their number is theirs. */
#ifndef KERNLENS_CHILDREN_H
#define KERNLENS_CHILDREN_H

#include <spawn.h>
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
/* Makes a list for child_start; NULL if `failed` or out of memory. Free the list, not its strings, which are valid until
 * environment_free. */
char **environment_list(const struct environment *environment);
void environment_free(struct environment *environment);

/* Starts the program command[0] with no signal blocked, ignored or handled, and with those descriptors alone that `actions` give it,
 * besides the standard ones. Returns an error number, or 0, and its number (-1 if that is not known). With LOCK_START held if this process has an end of a pipe or socket that
 * only the child must have. */
int child_start(const char *const *command, char *const *environment, const posix_spawn_file_actions_t *actions, pid_t *process);

/* Runs a program that turns a binary form into text: PROGRAM ARGUMENTS... INPUT, with each of `programs` (names with spaces between)
 * in turn until one succeeds, its standard output going to the file `output`. `arguments` ends with NULL. False if none succeeded. */
bool tool_run(const char *programs, const char *const *arguments, const char *input, const char *output);

#endif
