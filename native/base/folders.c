#define _GNU_SOURCE
#include "base/folders.h"

#include "base/owned.h"
#include "base/text.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LONGEST_PARENT = 180, WALK_DESCRIPTORS = 16 }; /* IGC 1 cuts its folder's path at 238 characters, and makes that one */
static const uint64_t MEMORY_WANTED = UINT64_C(1) << 29;

/* Chooses a folder in memory where there is plenty of it: writing and removing files on a disk takes a few per cent of a
 * build. */
static const char *parent_folder(void)
{
    static const char *const VARIABLES[] = {"KERNLENS_SNAPSHOT_DIR", "TMPDIR"};
    for (size_t index = 0; index < sizeof VARIABLES / sizeof *VARIABLES; ++index) {
        const char *folder = getenv(VARIABLES[index]);
        if (folder != NULL && folder[0] != '\0' && strlen(folder) <= LONGEST_PARENT)
            return folder;
    }
    static const char IN_MEMORY[] = "/dev/shm";
    bool plenty = access(IN_MEMORY, W_OK | X_OK) == 0 && folder_room(IN_MEMORY) >= MEMORY_WANTED;
    return plenty ? IN_MEMORY : "/tmp";
}

char *folder_name(void)
{
    uint64_t number;
    const char *parent = parent_folder();
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return NULL;
    return text_format("%s" FOLDER_MARK "%016" PRIx64, parent, number);
}

char *folder_make(void)
{
    FREED char *folder = folder_name();
    return folder != NULL && folder_make_named(folder) ? GIVE(folder) : NULL;
}

bool folder_make_named(const char *folder)
{
    return mkdir(folder, 0700) == 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    remove(path); /* the walk goes on whether it could be removed or not: as much as possible is to go */
    return 0;
}

void folder_remove(const char *folder)
{
    if (folder != NULL)
        nftw(folder, remove_entry, WALK_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

void folder_release(char **folder)
{
    folder_remove(*folder);
    free(*folder);
}

uint64_t folder_room(const char *folder)
{
    struct statvfs system;
    return statvfs(folder, &system) == 0 ? (uint64_t)system.f_bavail * system.f_frsize : 0;
}

bool folder_full(const char *folder)
{
    struct statvfs system;
    return statvfs(folder, &system) == 0 && system.f_blocks > 0 && system.f_bavail == 0;
}
