#define _GNU_SOURCE
#include "opencl_layer/compilers/igc/library.h"

#include "base/loader.h"
#include "base/text.h"

#include <string.h>

enum { NAME_SIZE = 64 };

/* What a walk over the loaded libraries found. */
struct search {
    struct library *library;
    unsigned found;
    bool level_zero;
};

static void note_segments(struct library *library, const struct dl_phdr_info *loaded)
{
    for (size_t index = 0; index < loaded->dlpi_phnum; ++index) {
        const ElfW(Phdr) *header = &loaded->dlpi_phdr[index];
        uintptr_t start = loaded->dlpi_addr + header->p_vaddr, end = start + header->p_memsz;
        if (header->p_type == PT_GNU_RELRO) {
            library->read_only_start = start;
            library->read_only_end = end;
        }
        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) && library->count < LIBRARY_SEGMENTS)
            library->segments[library->count++] = (struct segment){.start = start, .end = end, .flags = header->p_flags};
    }
}

static int note_library(struct dl_phdr_info *loaded, size_t size, void *result)
{
    (void)size;
    struct search *search = result;
    const char *slash = loaded->dlpi_name != NULL ? strrchr(loaded->dlpi_name, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : "";
    if (text_starts_with(name, "libze_loader.so"))
        search->level_zero = true;
    if (text_starts_with(name, "libigc.so.") && ++search->found == 1)
        note_segments(search->library, loaded);
    return 0;
}

bool library_find(struct library *library)
{
    *library = (struct library){0};
    struct search search = {.library = library};
    loader_visit(note_library, &search);
    return search.found == 1 && !search.level_zero && library->count > 0;
}

bool library_same(const struct library *left, const struct library *right)
{
    return left->count == right->count && left->count > 0 &&
           memcmp(left->segments, right->segments, left->count * sizeof *left->segments) == 0;
}

size_t library_room(const struct library *library, uintptr_t address, unsigned flags)
{
    for (size_t index = 0; index < library->count; ++index) {
        const struct segment *segment = &library->segments[index];
        if ((segment->flags & flags) == flags && address >= segment->start && address < segment->end)
            return segment->end - address;
    }
    return 0;
}

bool library_word(const struct library *library, uintptr_t address, uintptr_t *word)
{
    if (address % sizeof *word != 0 || library_room(library, address, PF_R) < sizeof *word)
        return false;
    memcpy(word, (const void *)address, sizeof *word);
    return true;
}

const char *library_name(const struct library *library, uintptr_t address)
{
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    size_t size = library_room(library, address, PF_R);
    const char *name = (const char *)address;
    size_t length = size > 0 ? strnlen(name, size < NAME_SIZE ? size : NAME_SIZE) : 0;
    return length > 0 && length < NAME_SIZE && length < size && strspn(name, LETTERS) == length ? name : NULL;
}
