#define _GNU_SOURCE
#include "igc_settings.h"

#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum {
    SEGMENTS = 16,
    VALUE_SIZE = 1024, /* of a text; a number has its first four bytes */
    NAME_SIZE = 64,
    FEWEST_SETTINGS = 200, /* IGC 1.0.12504 has 703, IGC 2.40 has 997 */
};

struct segment {
    uintptr_t start, end;
    unsigned flags; /* PF_R, PF_W, PF_X */
};

/* The IGC library as it is mapped. */
struct library {
    struct segment segments[SEGMENTS];
    size_t count;
    uintptr_t read_only_start, read_only_end; /* within a writable segment */
    unsigned found;                           /* how many such libraries there are */
    bool shared;                              /* with the application's own use of Level Zero */
};

static int note_library(struct dl_phdr_info *loaded, size_t size, void *result)
{
    (void)size;
    struct library *library = result;
    const char *slash = loaded->dlpi_name != NULL ? strrchr(loaded->dlpi_name, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : "";
    library->shared = library->shared || strncmp(name, "libze_loader.so", strlen("libze_loader.so")) == 0;
    if (strncmp(name, "libigc.so.", strlen("libigc.so.")) != 0 || ++library->found > 1)
        return 0;
    for (size_t index = 0; index < loaded->dlpi_phnum; ++index) {
        const ElfW(Phdr) *header = &loaded->dlpi_phdr[index];
        uintptr_t start = loaded->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_GNU_RELRO) {
            library->read_only_start = start;
            library->read_only_end = start + header->p_memsz;
        }
        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) && library->count < SEGMENTS)
            library->segments[library->count++] =
                (struct segment){.start = start, .end = start + header->p_memsz, .flags = header->p_flags};
    }
    return 0;
}

/* The bytes from an address to its segment's end, if the segment has these flags; else 0. */
static size_t room(const struct library *library, uintptr_t address, unsigned flags)
{
    for (size_t index = 0; index < library->count; ++index) {
        const struct segment *segment = &library->segments[index];
        if ((segment->flags & flags) == flags && address >= segment->start && address < segment->end)
            return segment->end - address;
    }
    return 0;
}

static bool word_at(const struct library *library, uintptr_t address, uintptr_t *word)
{
    if (address % sizeof *word != 0 || room(library, address, PF_R) < sizeof *word)
        return false;
    memcpy(word, (const void *)address, sizeof *word);
    return true;
}

/* The setting's name at an address; NULL if there is nothing like one. */
static const char *name_at(const struct library *library, uintptr_t address)
{
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    size_t size = room(library, address, PF_R);
    const char *name = (const char *)address;
    size_t length = size > 0 ? strnlen(name, size < NAME_SIZE ? size : NAME_SIZE) : 0;
    return length > 0 && length < NAME_SIZE && length < size && strspn(name, LETTERS) == length ? name : NULL;
}

/* IGC 1: an object with virtual functions, the first of which returns the name: lea rax, [rip + offset]; ret. */
static const char *virtual_name(const struct library *library, uintptr_t element)
{
    static const unsigned char ENDBR64[] = {0xf3, 0x0f, 0x1e, 0xfa}, LEA_RAX[] = {0x48, 0x8d, 0x05};
    enum { RET = 0xc3, LEA_SIZE = 7 };
    uintptr_t functions, function;
    if (!word_at(library, element, &functions) || !word_at(library, functions, &function) ||
        room(library, function, PF_X) < sizeof ENDBR64 + LEA_SIZE + 1)
        return NULL;
    if (memcmp((const void *)function, ENDBR64, sizeof ENDBR64) == 0)
        function += sizeof ENDBR64;
    const unsigned char *code = (const unsigned char *)function;
    int32_t offset;
    if (memcmp(code, LEA_RAX, sizeof LEA_RAX) != 0 || code[LEA_SIZE] != RET)
        return NULL;
    memcpy(&offset, code + sizeof LEA_RAX, sizeof offset);
    return name_at(library, function + LEA_SIZE + (uintptr_t)(intptr_t)offset);
}

/* IGC 2: a plain structure with a pointer to the name: value, two vectors, two flags, name. */
static const char *stored_name(const struct library *library, uintptr_t element)
{
    uintptr_t name;
    return word_at(library, element + VALUE_SIZE + 2 * 24 + 8, &name) ? name_at(library, name) : NULL;
}

static const struct layout {
    size_t size, value, pointer; /* of an element, and where in it its value and its pointer stand */
    const char *(*name)(const struct library *library, uintptr_t element);
} LAYOUTS[] = {
    {.size = 8 + VALUE_SIZE + 24 + 8, .value = 8, .pointer = 0, .name = virtual_name},
    {.size = VALUE_SIZE + 2 * 24 + 8 + 8 + 8, .value = 0, .pointer = VALUE_SIZE + 2 * 24 + 8, .name = stored_name},
};

struct table {
    struct library library;
    const struct layout *layout;
    uintptr_t start;
    size_t count;
};

/* The name of an element that lies in memory which can be written; NULL if there is none. */
static const char *element_name(const struct table *table, uintptr_t element)
{
    const struct library *library = &table->library;
    bool read_only = element < library->read_only_end && element + table->layout->size > library->read_only_start;
    return !read_only && room(library, element, PF_W) >= table->layout->size ? table->layout->name(library, element) : NULL;
}

/* Takes the whole array around an element as the table; false if it is too small for one. */
static bool take_array(struct table *table, uintptr_t element)
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

/* An element of every table, by which it is found. */
static const char LANDMARK[] = "DumpToCustomDir";

static bool is_landmark(const struct table *table, uintptr_t element)
{
    const char *name = element_name(table, element);
    return name != NULL && strcmp(name, LANDMARK) == 0;
}

/* Looks at each word that might be an element's pointer: to its functions, or to its name. */
static bool find_in(struct table *table, uintptr_t start, uintptr_t end)
{
    const struct library *library = &table->library;
    uintptr_t first = library->segments[0].start, last = library->segments[library->count - 1].end;
    for (uintptr_t place = (start + 7) & ~(uintptr_t)7; place + 8 <= end; place += 8) {
        uintptr_t word = *(const uintptr_t *)place;
        if (word >= first && word < last && place - start >= table->layout->pointer &&
            is_landmark(table, place - table->layout->pointer) && take_array(table, place - table->layout->pointer))
            return true;
    }
    return false;
}

/* Where the last search found it; one build at a time searches, but requests may come from several threads. */
static struct table known;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static bool same_library(const struct library *left, const struct library *right)
{
    return left->count == right->count && left->count > 0 &&
           memcmp(left->segments, right->segments, left->count * sizeof *left->segments) == 0;
}

static bool search(struct table *table)
{
    const struct library *library = &table->library;
    for (size_t layout = 0; layout < COUNT(LAYOUTS); ++layout) {
        table->layout = &LAYOUTS[layout];
        for (size_t index = 0; index < library->count; ++index) {
            const struct segment *segment = &library->segments[index];
            bool part = library->read_only_start >= segment->start && library->read_only_end <= segment->end;
            if ((segment->flags & PF_W) &&
                (part ? find_in(table, segment->start, library->read_only_start) ||
                            find_in(table, library->read_only_end, segment->end)
                      : find_in(table, segment->start, segment->end)))
                return true;
        }
    }
    return false;
}

static bool find_table(struct table *table)
{
    *table = (struct table){0};
    dl_iterate_phdr(note_library, &table->library);
    if (table->library.found != 1 || table->library.shared || table->library.count == 0)
        return false;
    pthread_mutex_lock(&known_lock);
    bool found = same_library(&known.library, &table->library);
    if (found)
        *table = known;
    else if ((found = search(table)))
        known = *table;
    pthread_mutex_unlock(&known_lock);
    return found && element_name(table, table->start) != NULL;
}

static void after_fork(void)
{
    known_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread of the parent may have held it */
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork);
}

bool igc_settings_found(void)
{
    struct table table;
    return find_table(&table);
}

/* What IGC switches on by itself when it finds IGC_ShaderDumpEnable set while it reads its variables. */
static const char *const DERIVED[] = {"DumpLLVMIR",       "EnableCosDump",    "DumpOCLProgramInfo",
                                      "EnableVISAOutput", "EnableVISABinary", "EnableVISADumpCommonISA",
                                      "EnableCapsDump",   "DumpPatchTokens",  "RayTracingDumpYaml"};

struct igc_settings_before {
    size_t count;
    struct {
        char *value;
        char bytes[VALUE_SIZE];
    } items[ENVIRONMENT_SETTINGS + COUNT(DERIVED)];
};

static void keep(struct igc_settings_before *before, char *value)
{
    before->items[before->count].value = value;
    memcpy(before->items[before->count++].bytes, value, VALUE_SIZE);
}

/* A setting "NAME=value" or "NAME", and where its value is; NULL if this IGC has none of that name. */
struct place {
    const char *setting;
    char *value;
};

static void find_values(const struct table *table, struct place *places, size_t count)
{
    for (size_t index = 0; index < table->count; ++index) {
        uintptr_t element = table->start + index * table->layout->size;
        const char *name = element_name(table, element);
        size_t length = name != NULL ? strlen(name) : 0;
        for (size_t place = 0; name != NULL && place < count; ++place)
            if (strncmp(places[place].setting, name, length) == 0 &&
                (places[place].setting[length] == '=' || places[place].setting[length] == '\0'))
                places[place].value = (char *)element + table->layout->value;
    }
}

static bool is_text(const char *setting)
{
    static const char *const TEXTS[] = {"DumpToCustomDir=", "ShaderDumpFilter=", "ShaderDumpRegexFilter=", "VISAOptions="};
    for (size_t index = 0; index < COUNT(TEXTS); ++index)
        if (strncmp(setting, TEXTS[index], strlen(TEXTS[index])) == 0)
            return true;
    return false;
}

static bool put(char *value, const char *setting)
{
    const char *text = strchr(setting, '=') + 1;
    if (!is_text(setting)) {
        uint32_t number = (uint32_t)strtoul(text, NULL, 0);
        memcpy(value, &number, sizeof number);
        return true;
    }
    if (strlen(text) >= VALUE_SIZE)
        return false;
    strcpy(value, text);
    return true;
}

struct igc_settings_before *igc_settings_change(const struct environment *wanted)
{
    static const char PREFIX[] = "IGC_";
    struct table table;
    struct igc_settings_before *before = !wanted->failed && find_table(&table) ? calloc(1, sizeof *before) : NULL;
    if (before == NULL)
        return NULL;
    struct place places[COUNT(DERIVED) + ENVIRONMENT_SETTINGS] = {0};
    size_t count = 0;
    while (count < COUNT(DERIVED)) {
        places[count].setting = DERIVED[count];
        ++count;
    }
    for (size_t index = 0; index < wanted->count; ++index)
        if (strncmp(wanted->settings[index], PREFIX, sizeof PREFIX - 1) == 0)
            places[count++].setting = wanted->settings[index] + sizeof PREFIX - 1;
    find_values(&table, places, count);
    bool folder = false, all = true;
    for (size_t index = 0; index < count && all; ++index) {
        const struct place *place = &places[index];
        if (place->value == NULL)
            continue; /* another version's */
        keep(before, place->value);
        if (strchr(place->setting, '=') != NULL)
            all = put(place->value, place->setting);
        folder = folder || strncmp(place->setting, LANDMARK, sizeof LANDMARK - 1) == 0;
    }
    if (all && folder)
        return before;
    igc_settings_restore(before);
    return NULL;
}

void igc_settings_restore(struct igc_settings_before *before)
{
    /* The last first: of a setting that was kept twice, the first is what it was. */
    while (before->count > 0) {
        --before->count;
        memcpy(before->items[before->count].value, before->items[before->count].bytes, VALUE_SIZE);
    }
    free(before);
}
