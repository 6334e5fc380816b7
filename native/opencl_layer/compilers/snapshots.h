/* What a stage yielded, ready for the callback, or why that is nothing. */
#ifndef KERNLENS_SNAPSHOTS_H
#define KERNLENS_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>

struct snapshot {
    char *bytes; /* followed by a zero byte that `size` does not count */
    size_t size;
    char *label; /* the usual file ending, a zero byte, the kernel's name (empty for a whole program), a zero byte */
};

struct snapshots {
    struct snapshot *items;
    size_t count, capacity;
};

/* Adds `bytes`, which are freed even if they could not be added. `kernel` may be NULL. */
bool snapshots_add(struct snapshots *snapshots, char *bytes, size_t size, const char *ending, const char *kernel);
/* Adds a copy of bytes that are somebody else's. */
bool snapshots_add_copy(struct snapshots *snapshots, const void *bytes, size_t size, const char *ending,
                        const char *kernel);
/* Adds a whole file; false (and errno) also if it cannot be read. */
bool snapshots_add_file(struct snapshots *snapshots, const char *path, const char *ending, const char *kernel);
void snapshots_free(struct snapshots *snapshots);

/* Tells the user why a snapshot could not be made: one line to standard error, or to the end of the file that
 * KERNLENS_SNAPSHOT_LOG names. The application hears of it never. */
void problem(const char *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
