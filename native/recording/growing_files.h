/* Files of the spool that grow: until one is whole, its name begins with a dot. */
#ifndef KERNLENS_GROWING_FILES_H
#define KERNLENS_GROWING_FILES_H

#include "base/bytes.h"

/* Makes a file of this kind that begins with the fields; returns its name, NULL if that cannot be: `what` is missing then. Free it.
 * Without a lock, as the others. */
char *spool_begin(const char *kind, const struct writer *fields, const char *what);
/* Adds bytes to it; false (and errno) if not all could be. */
bool spool_append(const char *name, const void *bytes, size_t size);
/* Gives it its name if it is whole; else it is gone, and `what` missing. Returns whether it has its name. */
bool spool_end(const char *name, bool is_whole, const char *what);
/* Removes it, whole or not. */
void spool_drop(const char *name, bool is_whole);

#endif
