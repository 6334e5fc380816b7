#define _GNU_SOURCE
#include "base/loader.h"

#include "base/locks.h"

#include <dlfcn.h>
#include <stddef.h>

void loader_visit(int (*visit)(struct dl_phdr_info *loaded, size_t size, void *context), void *context)
{
    lock_take(LOCK_LOADER);
    dl_iterate_phdr(visit, context);
    lock_give(LOCK_LOADER);
}

const char *loader_path_of(const void *address)
{
    Dl_info place;
    lock_take(LOCK_LOADER);
    int is_there = dladdr(address, &place);
    lock_give(LOCK_LOADER);
    return is_there != 0 ? place.dli_fname : NULL;
}

void *loader_function(const char *library, const char *name)
{
    lock_take(LOCK_LOADER);
    void *loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD), *function = NULL;
    if (loaded != NULL) {
        function = dlsym(loaded, name);
        dlclose(loaded);
    }
    lock_give(LOCK_LOADER);
    return function;
}
