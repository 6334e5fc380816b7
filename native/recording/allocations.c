#include "recording/allocations.h"

#include "base/locks.h"
#include "base/records.h"

#include <stdlib.h>

struct known_allocation {
    struct record record;
    struct allocation own;
};

static struct records allocations; /* LOCK_MEMORY */

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_MEMORY))
        allocations = (struct records){0};
}

void allocations_watch(void)
{
    forks_watch(after_fork);
}

void allocation_is(const void *address, size_t size, enum memory_kind kind, uint64_t flags, const void *context)
{
    struct known_allocation *known = address != NULL ? calloc(1, sizeof *known) : NULL;
    if (known == NULL)
        return;
    known->own = (struct allocation){.address = address, .size = size, .kind = kind, .flags = flags, .context = context};
    known->record.handle = address;
    lock_take(LOCK_MEMORY);
    struct record *former = records_remove(&allocations, address);
    records_add(&allocations, &known->record);
    lock_give(LOCK_MEMORY);
    free(former);
}

void allocation_is_gone(const void *address)
{
    if (records_none(&allocations))
        return;
    lock_take(LOCK_MEMORY);
    struct record *known = records_remove(&allocations, address);
    lock_give(LOCK_MEMORY);
    free(known);
}

struct search {
    const char *pointer;
    struct allocation *result;
    bool is_there;
};

static void look(const struct record *record, void *context)
{
    const struct allocation *each = &((const struct known_allocation *)(const void *)record)->own;
    struct search *search = context;
    const char *begin = each->address;
    if (search->is_there || search->pointer < begin || search->pointer >= begin + each->size)
        return;
    *search->result = *each;
    search->is_there = true;
}

bool allocation_of(const void *pointer, struct allocation *result)
{
    struct search search = {.pointer = pointer, .result = result};
    lock_take(LOCK_MEMORY);
    records_visit(&allocations, look, &search);
    lock_give(LOCK_MEMORY);
    return search.is_there;
}

struct visit {
    const void *context;
    enum memory_kind kind;
    void (*visit)(const struct allocation *each, void *to);
    void *to;
};

static void pass_on(const struct record *record, void *context)
{
    const struct allocation *each = &((const struct known_allocation *)(const void *)record)->own;
    const struct visit *visit = context;
    if (each->context == visit->context && each->kind == visit->kind)
        visit->visit(each, visit->to);
}

void allocations_visit(const void *context, enum memory_kind kind, void (*visit)(const struct allocation *each, void *to), void *to)
{
    struct visit asked = {.context = context, .kind = kind, .visit = visit, .to = to};
    lock_take(LOCK_MEMORY);
    records_visit(&allocations, pass_on, &asked);
    lock_give(LOCK_MEMORY);
}
