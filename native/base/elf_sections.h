/* Sections of a 64-bit little-endian ELF file, by name or by type. */
#ifndef KERNLENS_ELF_SECTIONS_H
#define KERNLENS_ELF_SECTIONS_H

#include "base/bytes.h"

/* Section types of Intel's OpenCL containers (compute-runtime, elf.h: SHT_OPENCL_*). */
enum { ELF_OPENCL_DEVICE_BINARY = 0xff000005, ELF_OPENCL_SPIRV = 0xff000009 };

/* Return the first such section; no bytes if there is none or `file` is not such an ELF file. */
struct view elf_section_of_type(const struct view *file, unsigned type);
struct view elf_section_named(const struct view *file, const char *name);

#endif
