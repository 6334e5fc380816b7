/* Folders for the files of one snapshot: where they lie, how they are made and removed. */
#ifndef KERNLENS_FOLDERS_H
#define KERNLENS_FOLDERS_H

#include <stdbool.h>
#include <stdint.h>

/* Makes up a name that no folder has yet, below KERNLENS_SNAPSHOT_DIR, TMPDIR, /dev/shm (if it has room for 512 MB) or /tmp.
 * NULL (and errno) on failure. */
char *folder_name(void);
/* Makes a folder of such a name, for this user only. NULL (and errno) on failure. */
char *folder_make(void);
/* Makes a folder of this name, for this user only. */
bool folder_make_named(const char *folder);
/* Removes a folder and everything below it; what cannot be removed stays. A link is not followed. NULL does nothing. */
void folder_remove(const char *folder);
/* Removes it and frees its name: for RELEASED_BY. */
void folder_release(char **folder);
/* Removes the folders of this user's processes that were killed before they could. */
void folders_sweep(void);
/* Tells how many bytes this user may still write into the file system below a folder; 0 if that is not known. */
uint64_t folder_room(const char *folder);
/* Tells whether the file system below this folder has no space left. */
bool folder_full(const char *folder);

#endif
