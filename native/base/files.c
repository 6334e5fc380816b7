#define _GNU_SOURCE
#include "base/files.h"

#include "base/arrays.h"
#include "base/owned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *read_all(int file, size_t size)
{
    FREED char *bytes = malloc(size + 1);
    size_t done = 0;
    while (bytes != NULL && done < size) {
        ssize_t count = read(file, bytes + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            if (count == 0)
                errno = EIO;
            return NULL;
        }
        done += (size_t)count;
    }
    if (bytes != NULL)
        bytes[size] = '\0';
    return GIVE(bytes);
}

char *file_read(const char *path, size_t *size)
{
    CLOSED int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
        return NULL;
    *size = (size_t)status.st_size;
    return read_all(file, *size);
}

uint64_t file_size_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

/* Writes until all is written or the first error. */
static bool write_loop(int file, const unsigned char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t count = write(file, bytes + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    return true;
}

/* Takes those of the signals away that came to this thread since `before` was noted. */
static void discard_new(const sigset_t *signals, const sigset_t *before)
{
    static const struct timespec NO_TIME;
    sigset_t mine = *signals;
    if (sigismember(before, SIGXFSZ))
        sigdelset(&mine, SIGXFSZ);
    if (sigismember(before, SIGPIPE))
        sigdelset(&mine, SIGPIPE);
    while (sigtimedwait(&mine, NULL, &NO_TIME) > 0 || errno == EINTR)
        ;
}

bool file_write_all(int file, const void *bytes, size_t size)
{
    /* What the application does at these signals is its own affair. A write sends them to the thread that writes; this thread
     * alone holds them back meanwhile, and throws away what came. */
    sigset_t signals, mask, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    sigaddset(&signals, SIGPIPE);
    sigemptyset(&before);
    sigpending(&before);
    if (pthread_sigmask(SIG_BLOCK, &signals, &mask) != 0)
        return false;
    bool written = write_loop(file, bytes, size);
    int error = errno;
    if (!written)
        discard_new(&signals, &before);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = error;
    return written;
}

bool file_write(const char *path, const void *bytes, size_t size)
{
    CLOSED int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return file >= 0 && file_write_all(file, bytes, size);
}

bool file_names_add(struct file_names *names, const char *name)
{
    char **grown = array_reserve(names->items, &names->capacity, names->count + 1, sizeof *grown);
    if (grown == NULL)
        return false;
    names->items = grown;
    names->items[names->count] = strdup(name);
    if (names->items[names->count] == NULL)
        return false;
    ++names->count;
    return true;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void file_names_sort(struct file_names *names)
{
    if (names->count > 0)
        qsort(names->items, names->count, sizeof *names->items, by_name);
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
            complete = file_names_add(names, entry->d_name);
    closedir(directory);
    if (complete)
        file_names_sort(names);
    else
        file_names_free(names);
    return complete;
}

void file_names_free(struct file_names *names)
{
    for (size_t index = 0; index < names->count; ++index)
        free(names->items[index]);
    free(names->items);
    *names = (struct file_names){0};
}
