#include "base/elf_sections.h"

#include <elf.h>
#include <string.h>

static bool read_header(const struct view *file, Elf64_Ehdr *header)
{
    if (file->bytes == NULL || file->size < sizeof *header)
        return false;
    memcpy(header, file->bytes, sizeof *header);
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shoff <= file->size &&
           (file->size - header->e_shoff) / sizeof(Elf64_Shdr) >= header->e_shnum;
}

static Elf64_Shdr section_header(const struct view *file, const Elf64_Ehdr *header, unsigned index)
{
    Elf64_Shdr section;
    memcpy(&section, file->bytes + header->e_shoff + index * sizeof section, sizeof section);
    return section;
}

static struct view contents(const struct view *file, const Elf64_Shdr *section)
{
    if (section->sh_type == SHT_NOBITS || section->sh_offset > file->size ||
        section->sh_size > file->size - section->sh_offset)
        return (struct view){0};
    return (struct view){.bytes = file->bytes + section->sh_offset, .size = section->sh_size};
}

struct view elf_section_of_type(const struct view *file, unsigned type)
{
    Elf64_Ehdr header;
    if (read_header(file, &header))
        for (unsigned index = 0; index < header.e_shnum; ++index) {
            Elf64_Shdr section = section_header(file, &header, index);
            if (section.sh_type == type)
                return contents(file, &section);
        }
    return (struct view){0};
}

struct view elf_section_named(const struct view *file, const char *name)
{
    Elf64_Ehdr header;
    if (!read_header(file, &header) || header.e_shstrndx >= header.e_shnum)
        return (struct view){0};
    Elf64_Shdr names_section = section_header(file, &header, header.e_shstrndx);
    struct view names = contents(file, &names_section);
    size_t size = strlen(name) + 1;
    for (unsigned index = 0; index < header.e_shnum; ++index) {
        Elf64_Shdr section = section_header(file, &header, index);
        if (section.sh_name < names.size && names.size - section.sh_name >= size &&
            memcmp(names.bytes + section.sh_name, name, size) == 0)
            return contents(file, &section);
    }
    return (struct view){0};
}
