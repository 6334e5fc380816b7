#define _GNU_SOURCE
#include "level_zero_layer/command_lists.h"

#include "base/arrays.h"
#include "base/locks.h"
#include "base/records.h"

#include <stdlib.h>

/* A kernel's launches in a list. */
struct appended {
    struct counter *counter;
    struct tally launches;
};

struct known_list {
    struct record record;
    const void *device;
    bool immediate;
    struct appended *kernels; /* of a list that is not immediate: one for each kernel */
    size_t count, capacity, latest;
};

static struct records lists;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER))
        lists = (struct records){0};
}

static struct known_list *find(const void *list)
{
    return (struct known_list *)(void *)records_find(&lists, list);
}

static void forget(const void *list)
{
    struct known_list *known = (struct known_list *)(void *)records_remove(&lists, list);
    if (known != NULL)
        free(known->kernels);
    free(known);
}

void list_created(const void *list, const void *device, bool immediate)
{
    struct known_list *known = calloc(1, sizeof *known);
    if (known == NULL)
        return;
    known->record.handle = list;
    known->device = device;
    known->immediate = immediate;
    lock_take(LOCK_RECORDER);
    forget(list);
    records_add(&lists, &known->record);
    lock_give(LOCK_RECORDER);
}

void list_destroyed(const void *list)
{
    lock_take(LOCK_RECORDER);
    forget(list);
    lock_give(LOCK_RECORDER);
}

void list_reset(const void *list)
{
    lock_take(LOCK_RECORDER);
    struct known_list *known = find(list);
    if (known != NULL)
        known->count = 0;
    lock_give(LOCK_RECORDER);
}

/* The kernel's launches: often those of the latest one, or of the one after it. */
static struct appended *find_appended(struct known_list *list, struct counter *counter)
{
    for (size_t tried = 0; tried < list->count; ++tried) {
        size_t place = (list->latest + tried) % list->count;
        if (list->kernels[place].counter == counter) {
            list->latest = place;
            return &list->kernels[place];
        }
    }
    struct appended *grown = array_reserve(list->kernels, &list->capacity, list->count + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    list->kernels = grown;
    list->latest = list->count++;
    grown[list->latest] = (struct appended){.counter = counter};
    return &grown[list->latest];
}

void list_appended(const void *list, const void *kernel, const struct shape *shape)
{
    lock_take(LOCK_RECORDER);
    struct known_list *known = find(list);
    struct counter *counter = known != NULL ? counters_find(kernel, known->device) : NULL;
    if (counter != NULL && known->immediate) {
        struct tally one = {0};
        tally_launches(&one, shape, 1);
        counter_add(counter, &one);
    } else if (counter != NULL) {
        struct appended *appended = find_appended(known, counter);
        if (appended != NULL)
            tally_launches(&appended->launches, shape, 1);
    }
    lock_give(LOCK_RECORDER);
}

void list_executed(const void *list)
{
    lock_take(LOCK_RECORDER);
    const struct known_list *known = find(list);
    for (size_t place = 0; known != NULL && place < known->count; ++place)
        counter_add(known->kernels[place].counter, &known->kernels[place].launches);
    lock_give(LOCK_RECORDER);
}

void lists_watch(void)
{
    forks_watch(after_fork);
}
