/* The end of a process that cannot be confined. */
#include "confine/confine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void confine_fail(const char *what, const char *subject)
{
    int error = errno;
    fprintf(stderr, "kernlens_confine: %s%s%s: %s\n", what, subject[0] != '\0' ? " " : "", subject, strerror(error));
    _exit(CONFINE_FAILED);
}
