/* What stands in for programs of the application, from a file that KERNLENS_CAPTURE_REPLACE names.
 *
 * The file holds, as base/bytes.h has numbers, texts and blocks: the number of replacements, and of each what the user calls the
 * program, a hash (the first hexadecimal digits of the SHA-256 of what it is made from; "": any), a kernel's name ("": any), the form
 * of what stands in (enum made_from), and its bytes. */
#ifndef KERNLENS_REPLACEMENTS_H
#define KERNLENS_REPLACEMENTS_H

#include "base/bytes.h"
#include "opencl_layer/recorder/kernel_names.h"

struct replacement {
    const char *program, *hash, *kernel;
    enum made_from form;
    struct view bytes;
};

/* Reads the file; false if there is nothing to replace. For a loading layer. */
bool replacements_open(void);
/* Finds the first that is for a program made from this; NULL if none is. */
const struct replacement *replacement_for(enum made_from form, const struct view *bytes);
/* Notes in the capture's folder that it stands in for this; `error` is what the driver said to it, 0 if it took it. */
void replacement_note(const struct replacement *replacement, const struct view *bytes, const uint64_t identity[2], int error);

#endif
