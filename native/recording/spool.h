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
/* Returns a name for a file of this kind that no other has; NULL if there is no memory. With LOCK_RECORDER held: of two files,
 * that with the higher number was named later. Free it. */
char *spool_name(const char *kind);
/* Returns the path of a file of the folder, whose name begins with `start`; NULL if there is no memory. Free it. */
char *spool_path(const char *start, const char *name);
/* Numbers this process among all that ever write into the folder: by chance, drawn anew in each forked child. With LOCK_RECORDER
 * held. */
uint64_t spool_process(void);
/* Writes the fields to a new file of this kind; what cannot be is missing, under the name `what`. Without a lock. */
void spool_file(const char *kind, const struct writer *fields, const char *what);
/* What an entry of this process's file of builds tells: nothing (it is being written, or was taken back), a build that has not ended,
 * or one that has. */
enum entry_kind { ENTRY_VOID, ENTRY_STARTED, ENTRY_BUILD };
/* Where an entry is. Zero: there is none. */
struct spool_entry {
    uint64_t process, file, offset;
};
/* Adds an entry: its fields, and a time to sort by (nanoseconds since 1970). Returns 0, or the error number of what kept it from that.
 * The application never hears of it. Without a lock. */
int spool_add(enum entry_kind kind, uint64_t time, const struct writer *fields, struct spool_entry *entry);
/* Takes it back. Without a lock. */
void spool_take_back(const struct spool_entry *entry);
/* Returns zeroed memory of a new file of this kind, which holds whatever is written there, however the process ends; MAP_FAILED if that
 * cannot be. With LOCK_RECORDER held. */
void *spool_memory(const char *kind, size_t size);
/* Puts something on the folder's list of what is missing; `error` is why, 0 if that says it. */
void spool_missing(const char *what, int error);

#endif
