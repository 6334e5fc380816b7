/* Questions to the dynamic loader.
 *
 * The loader's locks are not looked after when a process forks: if another thread is in the middle of such a question, the
 * child's next one waits for ever. So all questions are asked with a lock of ours held, which forks look after (locks.h). */
#ifndef KERNLENS_LOADER_H
#define KERNLENS_LOADER_H

#include <link.h>

/* Calls back with each loaded library, until a call returns something else than 0. The callback takes no lock. */
void loader_visit(int (*visit)(struct dl_phdr_info *loaded, size_t size, void *context), void *context);
/* Returns the path of the library that holds the address, as long as it is loaded; NULL if there is none. */
const char *loader_path_of(const void *address);
/* Returns a function of a library that is loaded under this name; NULL if there is none. */
void *loader_function(const char *library, const char *name);

#endif
