#define _GNU_SOURCE
#include "base/folders.h"

#include "base/bytes.h"
#include "base/owned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LONGEST_PARENT = 180, DEEPEST = 32 }; /* IGC 1 cuts its folder's path at 238 characters, and makes that one */
static const uint64_t MEMORY_WANTED = UINT64_C(1) << 29;

static const char MARK[] = "kernlens-snapshot-", IN_MEMORY[] = "/dev/shm", ON_DISK[] = "/tmp";

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
    bool plenty = access(IN_MEMORY, W_OK | X_OK) == 0 && folder_room(IN_MEMORY) >= MEMORY_WANTED;
    return plenty ? IN_MEMORY : ON_DISK;
}

/* A process, so that it can be told from a later one of the same number. */
struct process {
    uint32_t space;  /* what its number is valid in: its namespace (pid_namespaces(7)); 0 if that is not known */
    uint32_t number; /* the process's */
    uint64_t start;  /* when it started, in clock ticks since the machine did; 0 if that is not known */
};

/* Reads when the process of this number started; 0 if it cannot be read. */
static uint64_t start_of(uint32_t number)
{
    enum { STATE = 3, START = 22 }; /* proc(5) counts the fields of this file from 1 */
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", number);
    CLOSED int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *place = strrchr(text, ')'); /* the program's name, in brackets, may hold anything */
    for (int field = STATE; place != NULL && field <= START; ++field)
        place = strchr(place + 1, ' ');
    return place != NULL ? strtoull(place, NULL, 10) : 0;
}

static uint32_t own_space(void)
{
    char text[64];
    ssize_t size = readlink("/proc/self/ns/pid", text, sizeof text - 1);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *bracket = strchr(text, '['); /* "pid:[4026531836]" */
    return bracket != NULL ? (uint32_t)strtoul(bracket + 1, NULL, 10) : 0;
}

static struct process process_self(void)
{
    uint32_t number = (uint32_t)getpid();
    return (struct process){.space = own_space(), .number = number, .start = start_of(number)};
}

/* Tells whether that process has certainly ended. */
static bool process_has_ended(const struct process *process)
{
    if (process->space == 0 || process->start == 0 || process->number == 0 || process->space != own_space())
        return false;
    uint64_t start = start_of(process->number);
    if (start != 0)
        return start != process->start;
    return kill((pid_t)process->number, 0) != 0 && errno == ESRCH;
}

/* A folder's name says whose it is: MARK, the numbers of the process, each in hexadecimal digits, and one by chance. */
#define NUMBERS "%" PRIx32 "-%" PRIx32 "-%" PRIx64

char *folder_name(void)
{
    uint32_t chance;
    const char *parent = parent_folder();
    if (getrandom(&chance, sizeof chance, 0) != sizeof chance)
        return NULL;
    struct process owner = process_self();
    return text_format("%s/%s" NUMBERS "-%" PRIx32, parent, MARK, owner.space, owner.number, owner.start, chance);
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

/* Opens a folder that lies in another; -1 if it is none, also if it is a link to one. */
static int open_folder(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Removes what is below an open folder, which it closes. Follows no links: whatever takes a name's place meanwhile, nothing
 * else is reached. */
static void remove_contents(int folder, int depth)
{
    DIR *listing = fdopendir(folder);
    if (listing == NULL) {
        close(folder);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(folder, entry->d_name, 0) == 0)
            continue;
        int below = depth < DEEPEST ? open_folder(folder, entry->d_name) : -1;
        if (below >= 0)
            remove_contents(below, depth + 1);
        unlinkat(folder, entry->d_name, AT_REMOVEDIR);
    }
    closedir(listing);
}

void folder_remove(const char *folder)
{
    int opened = folder != NULL ? open_folder(AT_FDCWD, folder) : -1;
    if (opened < 0)
        return;
    remove_contents(opened, 0);
    rmdir(folder);
}

void folder_release(char **folder)
{
    folder_remove(*folder);
    free(*folder);
}

/* Tells whether a process made a folder of this name and has ended. */
static bool is_left_behind(const char *name)
{
    struct process owner;
    return text_starts_with(name, MARK) &&
           sscanf(name + sizeof MARK - 1, "%" SCNx32 "-%" SCNx32 "-%" SCNx64 "-", &owner.space, &owner.number,
                  &owner.start) == 3 &&
           process_has_ended(&owner);
}

/* Removes a folder that is this user's. */
static void sweep_folder(int parent, const char *name)
{
    struct stat status;
    int folder = open_folder(parent, name);
    if (folder < 0)
        return;
    if (fstat(folder, &status) != 0 || status.st_uid != geteuid()) {
        close(folder);
        return;
    }
    remove_contents(folder, 0);
    unlinkat(parent, name, AT_REMOVEDIR);
}

static void sweep(const char *parent)
{
    DIR *listing = opendir(parent);
    if (listing == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL)
        if (is_left_behind(entry->d_name))
            sweep_folder(dirfd(listing), entry->d_name);
    closedir(listing);
}

void folders_sweep(void)
{
    const char *parent = parent_folder();
    sweep(IN_MEMORY);
    sweep(ON_DISK);
    if (strcmp(parent, IN_MEMORY) != 0 && strcmp(parent, ON_DISK) != 0)
        sweep(parent);
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
