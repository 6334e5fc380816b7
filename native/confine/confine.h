/* What the program kernlens_confine (main.c) is made of. */
#ifndef KERNLENS_CONFINE_H
#define KERNLENS_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

/* LISTED: only the names below it can be read, where names cannot be hidden. */
enum shown_how { SHOWN_TO_READ, SHOWN_TO_WRITE, SHOWN_LISTED };

/* A path that the confined program sees. */
struct shown_path {
    const char *path;
    enum shown_how how;
};

struct shown_paths {
    const struct shown_path *items;
    size_t count;
    bool has_processes; /* Whether it also sees its own entry in /proc. */
    bool is_cuda;       /* Whether CUDA runs in it: it names its threads there, and opens sockets, by which it reaches nobody. */
};

/* Prints what failed, with errno's words, and ends the process with CONFINE_FAILED. */
_Noreturn void confine_fail(const char *what, const char *subject);

/* The exit status that says: nothing was run, as it could not be confined. */
#define CONFINE_FAILED 125

/* Makes namespaces for users, mounts, processes, network and IPC, starts a process in them, and ends as what that starts ends;
 * returns in that process only. */
void namespaces_enter(void);

/* Called in that process, when all is set up: starts another, and waits; returns in that one only. Nothing that it leaves running
 * outlives it. */
void namespaces_start(void);

/* Called between the two: from now on there are these paths, under their names, and nothing else. */
void namespaces_show(struct shown_paths shown);

/* From now on only these paths can be opened, where the kernel has Landlock; that others are there can be seen. No TCP either. */
void landlock_restrict(struct shown_paths shown);

/* Takes away all capabilities, and the calls that lead past files: sockets, keys, other processes' memory. With `is_visible`,
 * where foreign files have names, also the calls that change a file without opening it. With `is_cuda` others may connect to the
 * program's sockets, and it cannot connect to theirs. */
void calls_restrict(bool is_visible, bool is_cuda);

#endif
