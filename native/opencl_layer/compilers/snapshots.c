#define _GNU_SOURCE
#include "opencl_layer/compilers/snapshots.h"

#include "base/arrays.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *label_of(const char *ending, const char *kernel)
{
    size_t ending_size = strlen(ending) + 1, kernel_size = strlen(kernel) + 1;
    char *label = malloc(ending_size + kernel_size);
    if (label != NULL) {
        memcpy(label, ending, ending_size);
        memcpy(label + ending_size, kernel, kernel_size);
    }
    return label;
}

bool snapshots_add(struct snapshots *snapshots, char *bytes, size_t size, const char *ending, const char *kernel)
{
    FREED char *taken = bytes;
    FREED char *label = bytes != NULL ? label_of(ending, kernel != NULL ? kernel : "") : NULL;
    if (label == NULL)
        return false;
    struct snapshot *grown =
        array_reserve(snapshots->items, &snapshots->capacity, snapshots->count + 1, sizeof *grown);
    if (grown == NULL)
        return false;
    snapshots->items = grown;
    snapshots->items[snapshots->count++] = (struct snapshot){.bytes = GIVE(taken), .size = size, .label = GIVE(label)};
    return true;
}

bool snapshots_add_copy(struct snapshots *snapshots, const void *bytes, size_t size, const char *ending,
                        const char *kernel)
{
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return false;
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    return snapshots_add(snapshots, copy, size, ending, kernel);
}

bool snapshots_add_file(struct snapshots *snapshots, const char *path, const char *ending, const char *kernel)
{
    size_t size = 0;
    char *bytes = file_read(path, &size);
    return snapshots_add(snapshots, bytes, size, ending, kernel);
}

void snapshots_free(struct snapshots *snapshots)
{
    for (size_t index = 0; index < snapshots->count; ++index) {
        free(snapshots->items[index].bytes);
        free(snapshots->items[index].label);
    }
    free(snapshots->items);
    *snapshots = (struct snapshots){0};
}

static void tell(const char *line)
{
    const char *path = getenv("KERNLENS_SNAPSHOT_LOG");
    CLOSED int log = path != NULL && path[0] != '\0' ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    /* One write, so that lines of several threads do not mix. A log that takes no line leaves nothing to tell it to. */
    bool written = file_write_all(log >= 0 ? log : STDERR_FILENO, line, strlen(line));
    (void)written;
}

void problem(const char *stage, const char *format, ...)
{
    int before = errno;
    va_list arguments;
    va_start(arguments, format);
    FREED char *reason = text_format_list(format, arguments);
    va_end(arguments);
    FREED char *line = reason != NULL ? text_format("kernlens: no snapshot of stage '%s': %s\n", stage, reason) : NULL;
    if (line != NULL)
        tell(line);
    errno = before;
}
