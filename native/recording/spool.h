/* The folder that a capture's files are written to, each whole or not at all. */
#ifndef KERNLENS_SPOOL_H
#define KERNLENS_SPOOL_H

#include "base/bytes.h"

/* What a file is made of: fields, each a name and a block of bytes (base/bytes.h). */
void field_bytes(struct writer *fields, const char *name, const void *bytes, size_t size);
void field_text(struct writer *fields, const char *name, const char *text);
void field_number(struct writer *fields, const char *name, uint64_t number);

/* Takes the folder's name from the environment; false if nothing is captured. For a loading layer. */
bool spool_open(void);
/* Leaves an empty file: the layer is in this process. */
void spool_here(void);
/* Numbers this process among all that ever write into the folder: by chance, drawn anew in each forked child. With LOCK_RECORDER
 * held. */
uint64_t spool_process(void);
/* Writes the fields to a new file of this kind; what cannot be is missing, under the name `what`. Without a lock. */
void spool_file(const char *kind, const struct writer *fields, const char *what);
/* Returns a name for a file of this kind that no other has; NULL if there is no memory. With LOCK_RECORDER held: of two files,
 * that with the higher number was named later. */
char *spool_name(const char *kind);
/* Writes the fields to the file of this name; returns 0, or the error number of what kept it from that. The application never hears
 * of it. Without a lock. */
int spool_write(const char *name, const struct writer *fields);
/* Returns zeroed memory of a new file of this kind, which holds whatever is written there, however the process ends; MAP_FAILED if that
 * cannot be. With LOCK_RECORDER held. */
void *spool_memory(const char *kind, size_t size);
/* Removes a file. */
void spool_remove(const char *name);
/* Puts something on the folder's list of what is missing. */
void spool_missing(const char *what, int error);

#endif
