#define _GNU_SOURCE
#include "problems.h"

#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void problem(const char *stage, const char *format, ...)
{
    int before = errno;
    char *reason = NULL;
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&reason, format, arguments);
    va_end(arguments);
    char *line = size < 0 ? NULL : text_format("kernlens: no snapshot of stage '%s': %s\n", stage, reason);
    if (line != NULL) {
        const char *path = getenv("KERNLENS_SNAPSHOT_LOG");
        int log = path != NULL && path[0] != '\0' ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
        /* One write, so that lines of several threads do not mix. A log that takes no line leaves nothing to tell it to. */
        ssize_t written = write(log >= 0 ? log : STDERR_FILENO, line, strlen(line));
        (void)written;
        if (log >= 0)
            close(log);
    }
    free(line);
    if (size >= 0)
        free(reason);
    errno = before;
}
