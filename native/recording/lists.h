/* Which kernels lists of commands launch when they are executed: command lists of Level Zero, its graphs, which record what is
 * appended to immediate lists, and its executable graphs, whose launches come when they are appended; OpenCL's command buffers. */
#ifndef KERNLENS_LISTS_H
#define KERNLENS_LISTS_H

#include "recording/counters.h"

#include <stdbool.h>

/* A new list; what is appended to an immediate one is executed at once. */
void list_created(const void *list, const void *device, bool is_immediate);
/* A new list, or executable graph, that holds what another does now. */
void list_cloned(const void *clone, const void *of);
void list_destroyed(const void *list);
/* It holds nothing any more. */
void list_reset(const void *list);
/* A launch of the kernel was appended to the list, or recorded in a graph instead (NULL: none). */
void list_appended(const void *list, const void *graph, const void *kernel, const struct shape *shape);
/* The same for all that another list holds. */
void list_appended_list(const void *list, const void *graph, const void *other);
/* Counts all that it launches. */
void list_executed(const void *list);
/* Has forks looked after. For a loading layer. */
void lists_watch(void);

#endif
