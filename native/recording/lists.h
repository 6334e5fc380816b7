/* Which kernels lists of commands launch when they are executed: command lists of Level Zero, its graphs, which record what is
 * appended to immediate lists, and its executable graphs, whose launches come when they are appended; OpenCL's command buffers. */
#ifndef KERNLENS_LISTS_H
#define KERNLENS_LISTS_H

#include "recording/counters.h"

#include <stdbool.h>

/* Where what is appended to a list runs, and when: that of an immediate one at once. */
struct list_home {
    const void *device, *context;
    bool is_immediate;
};

void list_created(const void *list, const struct list_home *home);
/* False if the list is not known. */
bool list_home_of(const void *list, struct list_home *home);
/* A new list, or executable graph, that holds what another does now. */
void list_cloned(const void *clone, const void *of);
void list_destroyed(const void *list);
/* It holds nothing any more. */
void list_reset(const void *list);
/* A launch of the kernel was appended to the list, or recorded in a graph instead (NULL: none). */
void list_appended(const void *list, const void *graph, const void *kernel, const struct shape *shape);
/* The same for all that another list holds. */
void list_appended_list(const void *list, const void *graph, const void *other);
/* Begins what is known of a launch that is looked at each time its list is executed. */
struct listed {
    size_t holders;
    void (*free)(struct listed *launch);
};
struct listed_launches {
    struct listed **items;
    size_t count, capacity;
};
/* Adds a launch that whoever calls holds, too. False if there is no memory. */
bool listed_hold(struct listed_launches *launches, struct listed *launch);
/* Lets all go; what nobody holds any more is freed. */
void listed_let_go(struct listed_launches *launches);
/* The list, or the graph that records it, holds the launch. */
void list_holds(const void *list, const void *graph, struct listed *launch);
/* Adds the launches that a list holds, in their order. */
void list_held(const void *list, struct listed_launches *launches);
/* The list was changed after it was closed: it holds no such launches any more. Returns whether it held any. */
bool list_changed(const void *list);
/* Counts all that it launches. */
void list_executed(const void *list);
/* Has forks looked after. For a loading layer. */
void lists_watch(void);

#endif
