/* What stands in for programs of the application, from a file that KERNLENS_CAPTURE_REPLACE names.
 *
 * The file holds, as base/bytes.h has numbers, texts and blocks: the number of replacements, and of each what the user calls the
 * program, a hash (the first hexadecimal digits of the SHA-256 of what it is made from; "": any), a kernel's name ("": any), the form
 * of what stands in (enum made_from), and its bytes. */
#ifndef KERNLENS_REPLACEMENTS_H
#define KERNLENS_REPLACEMENTS_H

#include "base/bytes.h"
#include "recording/counters.h"
#include "recording/kernel_names.h"

/* Errors of no interface: there it can stand in for nothing of this kind; one before it in the file is for the same program. */
enum { CANNOT_STAND_IN = 1, ANOTHER_STANDS_IN = 2 };

struct replacement {
    const char *program, *hash, *kernel;
    enum made_from form;
    struct view bytes;
};

/* Reads the file. For a loading layer. */
void replacements_open(void);
/* Tells whether there is any. */
bool replacements_are_there(void);
/* Finds the first that is for a program made from this, and notes of others that they are too; NULL if none is. */
const struct replacement *replacement_for(enum made_from form, const struct view *bytes);
/* Notes in the capture's folder that it stands in for this, in the program that was made; `error` is 0 if the driver took it, else
 * what that said to it (OpenCL's errors are negative, Level Zero's are not), or CANNOT_STAND_IN; `log` is the driver's, NULL if
 * there is none. */
void replacement_note(const struct replacement *replacement, const struct view *bytes, struct program_identity program, int error,
                      const char *log);

#endif
