/* Files and folders of a snapshot. */
#ifndef KERNLENS_FILES_H
#define KERNLENS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole file in memory of its own, with a zero byte after its end; NULL (and errno) if it cannot be read. */
char *file_read(const char *path, size_t *size);

/* Writes a new file; false (and errno) if not all of it could be written. */
bool file_write(const char *path, const void *bytes, size_t size);

/* The names in a folder, sorted. Returns false (and errno) if it cannot be read; `names` is then empty. */
struct file_names {
    char **names;
    size_t count;
};
bool file_names_read(const char *folder, struct file_names *names);
void file_names_free(struct file_names *names);

/* In the names of all folders that the layer makes. */
#define FOLDER_MARK "/kernlens-snapshot-"

/* A name that no folder has yet, below KERNLENS_SNAPSHOT_DIR, TMPDIR, /dev/shm (if it has room for 512 MB) or /tmp. NULL (and
 * errno) on failure. */
char *folder_name(void);
/* Makes a new folder of such a name, for this user only. NULL (and errno) on failure. */
char *folder_make(void);
/* Makes a folder of this name, for this user only. */
bool folder_make_named(const char *folder);
/* Removes a folder and everything below it; what cannot be removed stays. */
void folder_remove(const char *folder);
/* The bytes that this user may still write into the file system below a folder; 0 if that is not known. */
uint64_t folder_room(const char *folder);
/* Whether the file system below this folder has no space left. */
bool folder_full(const char *folder);

/* printf into memory of its own; NULL if there is none. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
