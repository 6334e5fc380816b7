/* Which kernels command lists launch when they are executed. */
#ifndef KERNLENS_COMMAND_LISTS_H
#define KERNLENS_COMMAND_LISTS_H

#include "recording/counters.h"

#include <stdbool.h>

/* A new list; what is appended to an immediate one is executed at once. */
void list_created(const void *list, const void *device, bool immediate);
void list_destroyed(const void *list);
/* It holds nothing any more. */
void list_reset(const void *list);
/* A launch of the kernel was appended. */
void list_appended(const void *list, const void *kernel, const struct shape *shape);
/* Counts all that it launches. */
void list_executed(const void *list);
/* Has forks looked after. For a loading layer. */
void lists_watch(void);

#endif
