/* To be preloaded: takes RTLD_DEEPBIND, with which Intel's driver opens its libraries, from dlopen(), as AddressSanitizer refuses it. */
#define _GNU_SOURCE
#include <dlfcn.h>

void *dlopen(const char *path, int flags)
{
    void *(*next)(const char *path, int flags) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(path, flags & ~RTLD_DEEPBIND);
}
