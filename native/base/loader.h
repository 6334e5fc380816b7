/* Questions to the dynamic loader.
 *
 * The loader's locks are not looked after when a process forks: if another thread is in the middle of such a question, the
 * child's next one waits for ever. So all questions are asked with a lock of ours held, which forks look after (locks.h). */
#ifndef KERNLENS_LOADER_H
#define KERNLENS_LOADER_H

#include <link.h>
#include <stdbool.h>

/* Calls back with each loaded library, until a call returns something else than 0. The callback takes no lock. */
void loader_visit(int (*visit)(struct dl_phdr_info *loaded, size_t size, void *context), void *context);
/* Returns the path of the library that holds the address, as long as it is loaded; NULL if there is none. */
const char *loader_path_of(const void *address);
/* Returns a function of a library that is loaded under this name; NULL if there is none. */
void *loader_function(const char *library, const char *name);

/* Tells whether the library or program with the code at an address has this text, to its zero byte, among its constants. */
bool loader_says(const void *address, const char *text);
/* Returns where it is loaded; NULL if the address is in none. */
const void *loader_base_of(const void *address);

/* How a library is opened: whatever it lacks, complete, or only if somebody opened it before. */
enum opening { OPEN_LAZILY, OPEN_NOW, OPENED_ALREADY };
/* Opens a library as the code at an address would, with its search paths; NULL if it cannot be. It stays open. */
void *loader_open(const void *address, const char *path, enum opening opening);
/* Returns a function of an opened library; NULL if there is none. */
void *loader_symbol(void *library, const char *name);
/* Returns this library as an opened one. */
void *loader_own_handle(void);

#endif
