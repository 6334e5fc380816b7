#define _GNU_SOURCE
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LONGEST_PARENT = 180 }; /* IGC 1 cuts its folder's path at 238 characters, and makes that one */
static const uint64_t MEMORY_WANTED = UINT64_C(1) << 29;

static char *read_all(int file, size_t size)
{
    char *bytes = malloc(size + 1);
    if (bytes == NULL)
        return NULL;
    size_t done = 0;
    while (done < size) {
        ssize_t count = read(file, bytes + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            free(bytes);
            if (count == 0)
                errno = EIO;
            return NULL;
        }
        done += (size_t)count;
    }
    bytes[size] = '\0';
    return bytes;
}

char *file_read(const char *path, size_t *size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    char *bytes = NULL;
    struct stat status;
    if (fstat(file, &status) == 0) {
        *size = (size_t)status.st_size;
        bytes = read_all(file, *size);
    }
    int problem = errno;
    close(file);
    errno = problem;
    return bytes;
}

bool file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        return false;
    bool written = fwrite(bytes, 1, size, file) == size;
    return fclose(file) == 0 && written;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool add_name(struct file_names *names, const char *name)
{
    char **grown = realloc(names->names, (names->count + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    names->names = grown;
    names->names[names->count] = strdup(name);
    return names->names[names->count] != NULL && ++names->count > 0;
}

bool file_names_read(const char *folder, struct file_names *names)
{
    *names = (struct file_names){0};
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return false;
    bool complete = true;
    const struct dirent *entry;
    while (complete && (entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            complete = add_name(names, entry->d_name);
    closedir(directory);
    if (!complete)
        file_names_free(names);
    else if (names->count > 0)
        qsort(names->names, names->count, sizeof *names->names, by_name);
    return complete;
}

void file_names_free(struct file_names *names)
{
    for (size_t index = 0; index < names->count; ++index)
        free(names->names[index]);
    free(names->names);
    *names = (struct file_names){0};
}

/* In memory where there is plenty of it: writing and removing the files on a disk takes a few per cent of a build. */
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
    char *folder = folder_name();
    if (folder != NULL && !folder_make_named(folder)) {
        int problem = errno;
        free(folder);
        errno = problem;
        return NULL;
    }
    return folder;
}

bool folder_make_named(const char *folder)
{
    return mkdir(folder, 0700) == 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    remove(path); /* the walk goes on: as much as possible is to go */
    return 0;
}

void folder_remove(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
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

char *text_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    return size < 0 ? NULL : text;
}
