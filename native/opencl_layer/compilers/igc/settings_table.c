#define _GNU_SOURCE
#include "opencl_layer/compilers/igc/settings_table.h"

#include "base/bytes.h"
#include "base/loader.h"

#include <elf.h>
#include <string.h>

enum { NAME_SIZE = 64 };

/* What a walk over the loaded libraries comes by. */
struct walk {
    struct library *library;
    unsigned count; /* of IGC's */
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
    struct walk *walk = result;
    const char *slash = loaded->dlpi_name != NULL ? strrchr(loaded->dlpi_name, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : "";
    if (text_starts_with(name, "libze_loader.so"))
        walk->level_zero = true;
    if (text_starts_with(name, "libigc.so.") && ++walk->count == 1)
        note_segments(walk->library, loaded);
    return 0;
}

/* Finds the library. False if none or several are loaded, or if the application uses Level Zero, whose compiles in the same
 * library this layer does not see. */
static bool library_find(struct library *library)
{
    *library = (struct library){0};
    struct walk walk = {.library = library};
    loader_visit(note_library, &walk);
    return walk.count == 1 && !walk.level_zero && library->count > 0;
}

static bool library_same(const struct library *left, const struct library *right)
{
    return left->count == right->count && left->count > 0 &&
           memcmp(left->segments, right->segments, left->count * sizeof *left->segments) == 0;
}

/* Counts the bytes from an address to its segment's end, if the segment has these flags; else 0. */
static size_t library_room(const struct library *library, uintptr_t address, unsigned flags)
{
    for (size_t index = 0; index < library->count; ++index) {
        const struct segment *segment = &library->segments[index];
        if ((segment->flags & flags) == flags && address >= segment->start && address < segment->end)
            return segment->end - address;
    }
    return 0;
}

static bool library_word(const struct library *library, uintptr_t address, uintptr_t *word)
{
    if (address % sizeof *word != 0 || library_room(library, address, PF_R) < sizeof *word)
        return false;
    memcpy(word, (const void *)address, sizeof *word);
    return true;
}

/* Reads the name of a setting, shorter than 64 characters; NULL if there is nothing like one. */
static const char *library_name(const struct library *library, uintptr_t address)
{
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    size_t size = library_room(library, address, PF_R);
    const char *name = (const char *)address;
    size_t length = size > 0 ? strnlen(name, size < NAME_SIZE ? size : NAME_SIZE) : 0;
    return length > 0 && length < NAME_SIZE && length < size && strspn(name, LETTERS) == length ? name : NULL;
}

enum { FEWEST_SETTINGS = 200 }; /* IGC 1.0.12504 has 703, IGC 2.40 has 997 */
enum { SHORT_VALUE = 256, LONG_VALUE = SETTING_VALUE_SIZE, VECTOR = 24 };

/* Reads the name of an element before IGC 2.38: an object with virtual functions, the first of which returns it with
 * lea rax, [rip + offset]; ret. */
static const char *virtual_name(const struct library *library, uintptr_t element)
{
    static const unsigned char ENDBR64[] = {0xf3, 0x0f, 0x1e, 0xfa}, LEA_RAX[] = {0x48, 0x8d, 0x05};
    enum { RET = 0xc3, LEA_SIZE = 7 };
    uintptr_t functions, function;
    if (!library_word(library, element, &functions) || !library_word(library, functions, &function) ||
        library_room(library, function, PF_X) < sizeof ENDBR64 + LEA_SIZE + 1)
        return NULL;
    if (memcmp((const void *)function, ENDBR64, sizeof ENDBR64) == 0)
        function += sizeof ENDBR64;
    const unsigned char *code = (const unsigned char *)function;
    int32_t offset;
    if (memcmp(code, LEA_RAX, sizeof LEA_RAX) != 0 || code[LEA_SIZE] != RET)
        return NULL;
    memcpy(&offset, code + sizeof LEA_RAX, sizeof offset);
    return library_name(library, function + LEA_SIZE + (uintptr_t)(intptr_t)offset);
}

/* From IGC 2.38 on it is a plain structure: value, two vectors, two flags, a pointer to the name, default. */
static const char *stored_name(const struct library *library, uintptr_t element)
{
    uintptr_t name;
    return library_word(library, element + LONG_VALUE + 2 * VECTOR + 8, &name) ? library_name(library, name) : NULL;
}

static const struct layout {
    size_t size, value, value_size, pointer; /* of an element; where in it its value and its pointer stand */
    const char *(*name)(const struct library *library, uintptr_t element);
} LAYOUTS[] = {
    /* before 1.0.6410: functions, value, a vector */
    {.size = 8 + SHORT_VALUE + VECTOR, .value = 8, .value_size = SHORT_VALUE, .name = virtual_name},
    /* before 1.0.12037: and flags */
    {.size = 8 + SHORT_VALUE + VECTOR + 8, .value = 8, .value_size = SHORT_VALUE, .name = virtual_name},
    /* to 1.0.16509 */
    {.size = 8 + LONG_VALUE + VECTOR + 8, .value = 8, .value_size = LONG_VALUE, .name = virtual_name},
    /* to 2.37: two vectors */
    {.size = 8 + LONG_VALUE + 2 * VECTOR + 8, .value = 8, .value_size = LONG_VALUE, .name = virtual_name},
    {.size = LONG_VALUE + 2 * VECTOR + 8 + 8 + 8,
     .value_size = LONG_VALUE,
     .pointer = LONG_VALUE + 2 * VECTOR + 8,
     .name = stored_name},
};

/* Reads the name of an element that lies in memory which can be written; NULL if there is none. */
static const char *element_name(const struct settings_table *table, uintptr_t element)
{
    const struct library *library = &table->library;
    size_t size = table->layout->size;
    bool read_only = element < library->read_only_end && element + size > library->read_only_start;
    return !read_only && library_room(library, element, PF_W) >= size ? table->layout->name(library, element) : NULL;
}

/* Takes the whole array around an element as the table; false if it is too small for one. */
static bool take_array(struct settings_table *table, uintptr_t element)
{
    size_t size = table->layout->size;
    uintptr_t end = element + size;
    table->start = element;
    while (element_name(table, table->start - size) != NULL)
        table->start -= size;
    while (element_name(table, end) != NULL)
        end += size;
    table->count = (end - table->start) / size;
    return table->count >= FEWEST_SETTINGS;
}

static bool is_landmark(const struct settings_table *table, uintptr_t element)
{
    const char *name = element_name(table, element);
    return name != NULL && strcmp(name, SETTING_FOLDER) == 0;
}

/* Looks at each word that might be an element's pointer: to its functions, or to its name. */
static bool search_range(struct settings_table *table, uintptr_t start, uintptr_t end)
{
    const struct library *library = &table->library;
    size_t pointer = table->layout->pointer;
    uintptr_t first = library->segments[0].start, last = library->segments[library->count - 1].end;
    for (uintptr_t place = (start + 7) & ~(uintptr_t)7; place + 8 <= end; place += 8) {
        uintptr_t word = *(const uintptr_t *)place;
        if (word >= first && word < last && place - start >= pointer && is_landmark(table, place - pointer) &&
            take_array(table, place - pointer))
            return true;
    }
    return false;
}

static bool search_segment(struct settings_table *table, const struct segment *segment)
{
    const struct library *library = &table->library;
    if (library->read_only_start < segment->start || library->read_only_end > segment->end)
        return search_range(table, segment->start, segment->end);
    return search_range(table, segment->start, library->read_only_start) ||
           search_range(table, library->read_only_end, segment->end);
}

static bool search(struct settings_table *table)
{
    for (size_t layout = 0; layout < sizeof LAYOUTS / sizeof *LAYOUTS; ++layout) {
        table->layout = &LAYOUTS[layout];
        for (size_t index = 0; index < table->library.count; ++index)
            if ((table->library.segments[index].flags & PF_W) && search_segment(table, &table->library.segments[index]))
                return true;
    }
    return false;
}

/* What the last search found, which may be nothing; of which library it was the table. */
static struct settings_table known;
static bool known_found;

bool settings_table_find(struct settings_table *table)
{
    *table = (struct settings_table){0};
    if (!library_find(&table->library))
        return false;
    if (!library_same(&known.library, &table->library)) {
        known_found = search(table);
        known = *table;
    }
    *table = known;
    return known_found && element_name(table, table->start) != NULL;
}

void settings_table_forget(void)
{
    known = (struct settings_table){0};
}

size_t settings_table_value_size(const struct settings_table *table)
{
    return table->layout->value_size;
}

const char *settings_table_name(const struct settings_table *table, size_t number, char **value)
{
    uintptr_t element = table->start + number * table->layout->size;
    *value = (char *)element + table->layout->value;
    return element_name(table, element);
}
