#define _GNU_SOURCE
#include "recording/lists.h"

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
    struct list_home home;
    struct appended *kernels; /* of a list that is not immediate: one for each kernel */
    size_t count, capacity, latest;
    struct listed_launches held; /* of such a list too */
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

static bool hold(struct listed_launches *launches, struct listed *launch)
{
    struct listed **grown = array_reserve((void *)launches->items, &launches->capacity, launches->count + 1, sizeof(struct listed *));
    if (grown == NULL)
        return false;
    launches->items = grown;
    grown[launches->count++] = launch;
    ++launch->holders;
    return true;
}

static void hold_all(struct listed_launches *launches, const struct listed_launches *others)
{
    for (size_t place = 0; place < others->count; ++place)
        hold(launches, others->items[place]);
}

static void let_go(struct listed_launches *launches)
{
    for (size_t place = 0; place < launches->count; ++place)
        if (--launches->items[place]->holders == 0)
            launches->items[place]->free(launches->items[place]);
    free((void *)launches->items);
    *launches = (struct listed_launches){0};
}

bool listed_hold(struct listed_launches *launches, struct listed *launch)
{
    lock_take(LOCK_RECORDER);
    bool is_held = hold(launches, launch);
    lock_give(LOCK_RECORDER);
    return is_held;
}

void listed_let_go(struct listed_launches *launches)
{
    if (launches->count == 0)
        return;
    lock_take(LOCK_RECORDER);
    let_go(launches);
    lock_give(LOCK_RECORDER);
}

static void forget(const void *list)
{
    struct known_list *known = (struct known_list *)(void *)records_remove(&lists, list);
    if (known == NULL)
        return;
    let_go(&known->held);
    free(known->kernels);
    free(known);
}

/* Makes the list's record anew; NULL if there is no memory. */
static struct known_list *make(const void *list, const struct list_home *home)
{
    forget(list);
    struct known_list *known = calloc(1, sizeof *known);
    if (known == NULL)
        return NULL;
    known->record.handle = list;
    known->home = *home;
    records_add(&lists, &known->record);
    return known;
}

void list_created(const void *list, const struct list_home *home)
{
    lock_take(LOCK_RECORDER);
    make(list, home);
    lock_give(LOCK_RECORDER);
}

bool list_home_of(const void *list, struct list_home *home)
{
    lock_take(LOCK_RECORDER);
    const struct known_list *known = find(list);
    if (known != NULL)
        *home = known->home;
    lock_give(LOCK_RECORDER);
    return known != NULL;
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
    if (known != NULL) {
        known->count = 0;
        let_go(&known->held);
    }
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

/* Launches of a kernel come to the list: counted if it executes them at once. */
static void add(struct known_list *list, struct counter *counter, const struct tally *launches)
{
    struct appended *appended = list->home.is_immediate ? NULL : find_appended(list, counter);
    if (list->home.is_immediate)
        counter_add(counter, launches);
    else if (appended != NULL)
        tally_add(&appended->launches, launches);
}

static void add_all(struct known_list *list, const struct known_list *other)
{
    for (size_t place = 0; place < other->count; ++place)
        add(list, other->kernels[place].counter, &other->kernels[place].launches);
    if (!list->home.is_immediate)
        hold_all(&list->held, &other->held);
}

/* What takes what is appended to a list: the list, or the graph that records it. */
static struct known_list *taker(struct known_list *list, const void *graph)
{
    struct known_list *recording = graph != NULL ? find(graph) : list;
    const struct list_home home = {.device = list->home.device, .context = list->home.context};
    return recording != NULL ? recording : make(graph, &home);
}

void list_holds(const void *list, const void *graph, struct listed *launch)
{
    lock_take(LOCK_RECORDER);
    struct known_list *known = find(list);
    struct known_list *takes = known != NULL ? taker(known, graph) : NULL;
    if (takes != NULL)
        hold(&takes->held, launch);
    lock_give(LOCK_RECORDER);
}

void list_held(const void *list, struct listed_launches *launches)
{
    lock_take(LOCK_RECORDER);
    const struct known_list *known = find(list);
    if (known != NULL)
        hold_all(launches, &known->held);
    lock_give(LOCK_RECORDER);
}

bool list_changed(const void *list)
{
    lock_take(LOCK_RECORDER);
    struct known_list *known = find(list);
    bool has_held = known != NULL && known->held.count > 0;
    if (has_held)
        let_go(&known->held);
    lock_give(LOCK_RECORDER);
    return has_held;
}

void list_appended(const void *list, const void *graph, const void *kernel, const struct shape *shape)
{
    struct tally launch = {0};
    tally_launches(&launch, shape, 1);
    lock_take(LOCK_RECORDER);
    struct known_list *known = find(list);
    struct counter *counter = known != NULL ? counters_find(kernel, known->home.device) : NULL;
    struct known_list *takes = counter != NULL ? taker(known, graph) : NULL;
    if (takes != NULL)
        add(takes, counter, &launch);
    lock_give(LOCK_RECORDER);
}

void list_appended_list(const void *list, const void *graph, const void *other)
{
    lock_take(LOCK_RECORDER);
    struct known_list *known = find(list), *held = find(other);
    struct known_list *takes = known != NULL && held != NULL ? taker(known, graph) : NULL;
    if (takes != NULL)
        add_all(takes, held);
    lock_give(LOCK_RECORDER);
}

void list_cloned(const void *clone, const void *of)
{
    lock_take(LOCK_RECORDER);
    const struct known_list *held = find(of);
    const struct list_home home = {.device = held != NULL ? held->home.device : NULL, .context = held != NULL ? held->home.context : NULL};
    struct known_list *new_list = held != NULL ? make(clone, &home) : NULL;
    if (new_list != NULL)
        add_all(new_list, held);
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
