/* The IGC library as it is mapped into this process, and bounded looks into it. */
#ifndef KERNLENS_IGC_LIBRARY_H
#define KERNLENS_IGC_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIBRARY_SEGMENTS = 16 };

struct segment {
    uintptr_t start, end;
    unsigned flags; /* PF_R, PF_W, PF_X */
};

struct library {
    struct segment segments[LIBRARY_SEGMENTS];
    size_t count;
    uintptr_t read_only_start, read_only_end; /* within a writable segment */
};

/* Finds the library. False if none or several are loaded, or if the application uses Level Zero, whose compiles in the same
 * library this layer does not see. */
bool library_find(struct library *library);
bool library_same(const struct library *left, const struct library *right);

/* Counts the bytes from an address to its segment's end, if the segment has these flags; else 0. */
size_t library_room(const struct library *library, uintptr_t address, unsigned flags);
bool library_word(const struct library *library, uintptr_t address, uintptr_t *word);
/* Reads the name of a setting, shorter than 64 characters; NULL if there is nothing like one. */
const char *library_name(const struct library *library, uintptr_t address);

#endif
