#define _GNU_SOURCE
#include "recording/growing_files.h"

#include "base/files.h"
#include "base/locks.h"
#include "base/owned.h"
#include "recording/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

char *spool_begin(const char *kind, const struct writer *fields, const char *what)
{
    int before = errno;
    lock_take(LOCK_RECORDER);
    FREED char *name = spool_name(kind);
    lock_give(LOCK_RECORDER);
    FREED char *path = name != NULL && !fields->failed ? spool_path(".", name) : NULL;
    bool is_written = path != NULL && fields->size <= file_size_limit() && file_write(path, fields->bytes, fields->size);
    int error = is_written ? 0 : path == NULL ? ENOMEM : fields->size > file_size_limit() ? EFBIG : errno;
    if (error != 0 && path != NULL)
        unlink(path);
    if (error != 0)
        spool_missing(what, error);
    errno = before;
    return error == 0 ? GIVE(name) : NULL;
}

bool spool_append(const char *name, const void *bytes, size_t size)
{
    FREED char *path = spool_path(".", name);
    CLOSED int file = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    return file >= 0 && file_write_all(file, bytes, size);
}

bool spool_end(const char *name, bool is_whole, const char *what)
{
    int before = errno;
    FREED char *partial = spool_path(".", name), *path = spool_path("", name);
    bool is_named = is_whole && partial != NULL && path != NULL && rename(partial, path) == 0;
    if (!is_named) {
        spool_missing(what, is_whole && (partial == NULL || path == NULL) ? ENOMEM : errno);
        spool_drop(name, false);
    }
    errno = before;
    return is_named;
}

void spool_drop(const char *name, bool is_whole)
{
    int before = errno;
    FREED char *path = spool_path(is_whole ? "" : ".", name);
    if (path != NULL)
        unlink(path);
    errno = before;
}
