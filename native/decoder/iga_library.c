#define _GNU_SOURCE /* dladdr */
#include "decoder/iga_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32 /* untested: no Windows machine has run this yet */
#include <windows.h>

static void *open_library(const char *path, char *error, size_t capacity)
{
    HMODULE handle = LoadLibraryA(path);
    if (handle == NULL)
        snprintf(error, capacity, "%s: LoadLibrary failed with code %lu", path, (unsigned long)GetLastError());
    return (void *)handle;
}

static void *find_function(void *handle, const char *name)
{
    return (void *)GetProcAddress((HMODULE)handle, name);
}

static void find_file(iga_library *library)
{
    if (GetModuleFileNameA((HMODULE)library->handle, library->file, sizeof library->file) == 0)
        library->file[0] = '\0';
}
#else
#include <dlfcn.h>

static void *open_library(const char *path, char *error, size_t capacity)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *reason = dlerror();
        snprintf(error, capacity, "%s", reason != NULL ? reason : path);
    }
    return handle;
}

static void *find_function(void *handle, const char *name)
{
    return dlsym(handle, name);
}

static void find_file(iga_library *library)
{
    Dl_info place;
    void *function;
    memcpy(&function, &library->kv_create, sizeof function);
    if (dladdr(function, &place) != 0 && place.dli_fname != NULL)
        snprintf(library->file, sizeof library->file, "%s", place.dli_fname);
}
#endif

enum { GEN9 = 0x90000, OLD_GENERAL_FILE = 17 };

/* iga::RegName gained the scalar file before the general one: ask for the file of r1 in "mov (8) r1.0:f r2.0:f". */
static bool has_scalar_file(const iga_library *library)
{
    static const uint8_t mov[16] = {0x01, 0x00, 0x60, 0x00, 0xe8, 0x3a, 0x20, 0x20, 0x40, 0x00, 0x8d};
    int status = 0;
    kv_t *view = library->kv_create(GEN9, mov, sizeof mov, &status, NULL, 0, 0);
    if (view == NULL)
        return true; /* a library without Gen9 is newer than all we know */
    uint32_t file = library->kv_get_destination_register_type(view, 0);
    library->kv_delete(view);
    return file != OLD_GENERAL_FILE;
}

bool iga_library_open(iga_library *library, const char *path, char *error, size_t error_capacity)
{
    memset(library, 0, sizeof *library);
    library->handle = open_library(path, error, error_capacity);
    if (library->handle == NULL)
        return false;
#define IGA_RESOLVE(type, name, parameters)                                                                          \
    {                                                                                                                \
        void *function = find_function(library->handle, #name);                                                      \
        if (function == NULL) {                                                                                      \
            snprintf(error, error_capacity, "%s has no function %s: it is too old or not libiga64", path, #name);    \
            return false;                                                                                            \
        }                                                                                                            \
        /* ISO C has no cast from object to function pointer */                                                      \
        memcpy(&library->name, &function, sizeof function);                                                          \
    }
    IGA_FUNCTIONS(IGA_RESOLVE)
#undef IGA_RESOLVE
#define IGA_FIND(type, name, parameters)                                                                             \
    {                                                                                                                \
        void *function = find_function(library->handle, #name);                                                      \
        memcpy(&library->name, &function, sizeof function);                                                          \
    }
    IGA_LATER_FUNCTIONS(IGA_FIND)
#undef IGA_FIND
    library->has_scalar_file = has_scalar_file(library);
    find_file(library);
    return true;
}

bool iga_ops_read(const iga_library *library, uint32_t platform, iga_ops *ops)
{
    memset(ops, 0, sizeof *ops);
    size_t length = 0;
    if (library->iga_opspec_enumerate(platform, NULL, &length) != IGA_SUCCESS || length == 0)
        return false;
    /* The unit of `length` is not the same in every header's comment; pointers for that many fit either reading. */
    const void **specs = calloc(length + 1, sizeof *specs);
    if (specs == NULL)
        return false;
    bool read = library->iga_opspec_enumerate(platform, specs, &length) == IGA_SUCCESS;
    for (size_t index = 0; read && index < length && specs[index] != NULL; index++) {
        uint32_t number = 0;
        char text[IGA_MNEMONIC_SIZE] = {0};
        size_t size = sizeof text;
        if (library->iga_opspec_op(specs[index], &number) != IGA_SUCCESS || number >= IGA_MAX_OPS)
            continue;
        if (library->iga_opspec_mnemonic(specs[index], text, &size) != IGA_SUCCESS)
            continue;
        text[sizeof text - 1] = '\0';
        memcpy(ops->mnemonics[number], text, sizeof text);
        if (strcmp(text, "illegal") == 0)
            ops->illegal = number;
        else if (strcmp(text, "calla") == 0)
            ops->absolute_call = number;
    }
    free(specs);
    return read;
}
