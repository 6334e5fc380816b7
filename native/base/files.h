/* Whole files, and lists of names. */
#ifndef KERNLENS_FILES_H
#define KERNLENS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the whole file into memory of its own, with a zero byte after its end; NULL (and errno) if it cannot be read. */
char *file_read(const char *path, size_t *size);

/* Tells how large files of this process may become (RLIMIT_FSIZE); UINT64_MAX if there is no limit. */
uint64_t file_size_limit(void);

/* Writes all of it; false (and errno) if not. Neither a limit of the size of files nor a pipe that nobody reads ends the process,
 * as it would with write(): no signal comes of it. */
bool file_write_all(int file, const void *bytes, size_t size);

/* Writes a new file; false (and errno) if not all of it could be written. */
bool file_write(const char *path, const void *bytes, size_t size);

/* Names, or paths, of files. */
struct file_names {
    char **items;
    size_t count, capacity;
};

/* Adds a copy of the name; false if there is no memory. */
bool file_names_add(struct file_names *names, const char *name);
void file_names_sort(struct file_names *names);
/* Lists a folder, sorted. Returns false (and errno) if it cannot be read; `names` is then empty. */
bool file_names_read(const char *folder, struct file_names *names);
void file_names_free(struct file_names *names);

#endif
