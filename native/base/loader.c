#define _GNU_SOURCE
#include "base/loader.h"

#include "base/bytes.h"
#include "base/locks.h"
#include "base/owned.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

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

/* What is looked for in the library or program that holds an address. */
struct sought {
    uintptr_t address;
    const char *text;
    const void *base;
    bool says;
};

static bool holds(const struct dl_phdr_info *loaded, uintptr_t address)
{
    for (size_t index = 0; index < loaded->dlpi_phnum; ++index) {
        const ElfW(Phdr) *part = &loaded->dlpi_phdr[index];
        uintptr_t begin = loaded->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && begin <= address && address - begin < part->p_memsz)
            return true;
    }
    return false;
}

static int seek(struct dl_phdr_info *loaded, size_t size, void *context)
{
    (void)size;
    struct sought *sought = context;
    if (!holds(loaded, sought->address))
        return 0;
    sought->base = loaded->dlpi_phdr;
    for (size_t index = 0; sought->text != NULL && !sought->says && index < loaded->dlpi_phnum; ++index) {
        const ElfW(Phdr) *part = &loaded->dlpi_phdr[index];
        /* Not what is written to: it may be somebody else's in the middle of a change. */
        if (part->p_type == PT_LOAD && (part->p_flags & PF_R) != 0 && (part->p_flags & PF_W) == 0)
            sought->says = memmem((const void *)(loaded->dlpi_addr + part->p_vaddr), part->p_filesz, sought->text,
                                  strlen(sought->text) + 1) != NULL;
    }
    return 1;
}

bool loader_says(const void *address, const char *text)
{
    struct sought sought = {.address = (uintptr_t)address, .text = text};
    loader_visit(seek, &sought);
    return sought.says;
}

const void *loader_base_of(const void *address)
{
    struct sought sought = {.address = (uintptr_t)address};
    loader_visit(seek, &sought);
    return sought.base;
}

/* Opens a library of this name in one of the folders that the library or program searches before the system's. */
static void *open_in_own_folders(void *opener, const char *name, int mode)
{
    Dl_serinfo room;
    if (opener == NULL || dlinfo(opener, RTLD_DI_SERINFOSIZE, &room) != 0)
        return NULL;
    FREED Dl_serinfo *paths = calloc(1, room.dls_size);
    if (paths == NULL || dlinfo(opener, RTLD_DI_SERINFOSIZE, paths) != 0 || dlinfo(opener, RTLD_DI_SERINFO, paths) != 0)
        return NULL;
    for (unsigned index = 0; index < paths->dls_cnt; ++index) {
        if ((paths->dls_serpath[index].dls_flags & LA_SER_DEFAULT) != 0)
            break;
        FREED char *path = text_format("%s/%s", paths->dls_serpath[index].dls_name, name);
        void *library = path != NULL && access(path, R_OK) == 0 ? dlopen(path, mode) : NULL;
        if (library != NULL)
            return library;
    }
    return NULL;
}

void *loader_open(const void *address, const char *path, enum opening opening)
{
    int mode = opening == OPEN_NOW ? RTLD_NOW : RTLD_LAZY;
    Dl_info place;
    void *opener = NULL, *library = NULL;
    lock_take(LOCK_LOADER);
    library = dlopen(path, mode | RTLD_NOLOAD);
    if (library == NULL && opening != OPENED_ALREADY) {
        if (strchr(path, '/') == NULL && dladdr1(address, &place, &opener, RTLD_DL_LINKMAP) != 0)
            library = open_in_own_folders(opener, path, mode);
        if (library == NULL)
            library = dlopen(path, mode);
    }
    lock_give(LOCK_LOADER);
    return library;
}

void *loader_symbol(void *library, const char *name)
{
    lock_take(LOCK_LOADER);
    void *function = dlsym(library, name);
    lock_give(LOCK_LOADER);
    return function;
}

void *loader_own_handle(void)
{
    Dl_info place;
    void *own = NULL;
    lock_take(LOCK_LOADER);
    if (dladdr1((void *)loader_own_handle, &place, &own, RTLD_DL_LINKMAP) == 0)
        own = NULL;
    lock_give(LOCK_LOADER);
    return own;
}
