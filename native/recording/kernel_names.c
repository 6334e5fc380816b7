#define _GNU_SOURCE
#include "recording/kernel_names.h"

#include "base/bytes.h"
#include "base/elf_sections.h"
#include "base/owned.h"

#include <string.h>

static bool in_name(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
}

static bool is_word(const struct view *word, const char *text)
{
    return word->size == strlen(text) && memcmp(word->bytes, text, word->size) == 0;
}

/* Reads a name, or one other character; comments and texts in quotes are passed over. Empty at the end. */
static struct view next_word(const struct view *source, size_t *offset)
{
    const unsigned char *bytes = source->bytes;
    size_t at = *offset, size = source->size;
    while (at < size) {
        if (at + 1 < size && bytes[at] == '/' && bytes[at + 1] == '/') {
            while (at < size && bytes[at] != '\n')
                ++at;
        } else if (at + 1 < size && bytes[at] == '/' && bytes[at + 1] == '*') {
            const unsigned char *end = memmem(bytes + at + 2, size - at - 2, "*/", 2);
            at = end != NULL ? (size_t)(end - bytes) + 2 : size;
        } else if (bytes[at] == '"') {
            for (++at; at < size && bytes[at] != '"' && bytes[at] != '\n'; ++at)
                if (bytes[at] == '\\')
                    ++at;
            ++at;
        } else if (bytes[at] <= ' ' || bytes[at] == '\\') {
            ++at;
        } else {
            break;
        }
    }
    size_t start = at < size ? at : size, end = start;
    while (end < size && in_name(bytes[end]))
        ++end;
    if (end == start && end < size)
        ++end;
    *offset = end;
    return (struct view){bytes + start, end - start};
}

/* After `__attribute__`: passes its parentheses. */
static void pass_parentheses(const struct view *source, size_t *offset)
{
    size_t depth = 0;
    do {
        struct view word = next_word(source, offset);
        if (word.size == 0)
            return;
        depth += is_word(&word, "(");
        if (is_word(&word, ")") && depth > 0)
            --depth;
    } while (depth > 0);
}

/* The name of a kernel stands between `kernel` and its parameters. */
static bool source_defines(const struct view *source, const char *name)
{
    size_t offset = 0;
    bool of_kernel = false;
    struct view last = {0};
    for (struct view word = next_word(source, &offset); word.size > 0; word = next_word(source, &offset)) {
        if (is_word(&word, "kernel") || is_word(&word, "__kernel"))
            of_kernel = true;
        else if (is_word(&word, "__attribute__"))
            pass_parentheses(source, &offset);
        else if (in_name(word.bytes[0]))
            last = word;
        else if (of_kernel) {
            if (is_word(&word, "(") && is_word(&last, name))
                return true;
            of_kernel = is_word(&word, "*");
        }
    }
    return false;
}

/* The entry points of a SPIR-V module (its specification, 2.3 and 3.3.5: OpEntryPoint). */
static bool module_defines(const struct view *module, const char *name)
{
    enum { WORD = 4, HEADER = 5 * WORD, ENTRY_POINT = 15, NAME = 3 * WORD };
    for (size_t offset = HEADER; offset + WORD <= module->size;) {
        uint32_t first;
        memcpy(&first, module->bytes + offset, sizeof first);
        size_t size = (size_t)(first >> 16) * WORD;
        if (size == 0 || size > module->size - offset)
            return false;
        if ((first & 0xffff) == ENTRY_POINT && size > NAME) {
            const char *entry = (const char *)module->bytes + offset + NAME;
            size_t length = strnlen(entry, size - NAME);
            if (length == strlen(name) && memcmp(entry, name, length) == 0)
                return true;
        }
        offset += size;
    }
    return false;
}

/* Tells whether a kernel's header of a patch-token program ends here (compute-runtime, patch_list.h: SKernelBinaryHeaderCommon): it
 * states the size of the name behind it. */
static bool is_after_header(const unsigned char *start, const unsigned char *at, size_t size)
{
    enum { NAME_SIZE = 28, ROUNDED = 4 };
    uint32_t stated;
    if (at - start < NAME_SIZE)
        return false;
    memcpy(&stated, at - NAME_SIZE, sizeof stated);
    return stated >= size && stated - size < ROUNDED;
}

/* A zebin has a section for each kernel, a patch-token program its name behind a header, other binaries anywhere, as text that ends with
 * a zero byte. Within Intel's container only the device binary counts: SPIR-V beside it names functions too. */
static bool binary_defines(const struct view *binary, const char *name)
{
    FREED char *section = text_format(".text.%s", name);
    struct view device = elf_section_of_type(binary, ELF_OPENCL_DEVICE_BINARY);
    const struct view *searched = device.bytes != NULL ? &device : binary;
    if (section != NULL && elf_section_named(searched, ".ze_info").bytes != NULL)
        return elf_section_named(searched, section).bytes != NULL;
    size_t size = strlen(name) + 1;
    const unsigned char *end = searched->bytes + searched->size;
    bool has_tokens = searched->size > 4 && memcmp(searched->bytes, "CTNI", 4) == 0;
    for (const unsigned char *at = searched->bytes; (at = memmem(at, (size_t)(end - at), name, size)) != NULL; ++at)
        if (has_tokens ? is_after_header(searched->bytes, at, size) : at == searched->bytes || !in_name(at[-1]))
            return true;
    return false;
}

bool defines_kernel(enum made_from form, const struct view *bytes, const char *name)
{
    switch (form) {
    case FROM_SOURCE:
        return source_defines(bytes, name);
    case FROM_IL:
        return module_defines(bytes, name);
    case FROM_BINARY:
        return binary_defines(bytes, name);
    }
    return false;
}
