#define _GNU_SOURCE
#include "base/problems.h"

#include "base/files.h"
#include "base/owned.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
