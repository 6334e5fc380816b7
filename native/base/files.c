#define _GNU_SOURCE
#include "base/files.h"

#include "base/arrays.h"
#include "base/owned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

bool file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        return false;
    bool written = fwrite(bytes, 1, size, file) == size;
    return fclose(file) == 0 && written;
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
