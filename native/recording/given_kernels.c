#include "recording/given_kernels.h"

#include "base/arrays.h"
#include "base/locks.h"
#include "base/records.h"

#include <stdlib.h>
#include <string.h>

/* Drivers take no more arguments. */
enum { MOST_ARGUMENTS = 4096 };

struct known_kernel {
    struct record record;
    struct given_kernel own; /* its number and `if_slowest` are those of a launch */
    size_t argument_capacity;
};

static struct records kernels; /* LOCK_RECORDER */
static bool is_watching;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER))
        kernels = (struct records){0};
}

static struct known_kernel *find(const void *kernel)
{
    return (struct known_kernel *)(void *)records_find(&kernels, kernel);
}

static void empty(struct given_kernel *of)
{
    for (size_t index = 0; index < of->argument_count; ++index)
        free(of->arguments[index].bytes);
    free(of->arguments);
    free((void *)of->reachable);
}

void given_free(struct given_kernel *given_kernel)
{
    if (given_kernel != NULL)
        empty(given_kernel);
    free(given_kernel);
}

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = size > 0 && bytes != NULL ? malloc(size) : NULL;
    return copy != NULL ? memcpy(copy, bytes, size) : NULL;
}

/* Copies the lists of `from`, which `to` has shared so far; false if there is no memory: `to` is empty then. */
static bool own_lists(struct given_kernel *to, const struct given_kernel *from)
{
    to->arguments = copy_of(from->arguments, from->argument_count * sizeof *from->arguments);
    to->reachable = copy_of((const void *)from->reachable, from->reachable_count * sizeof *from->reachable);
    bool is_whole = (to->arguments != NULL || from->argument_count == 0) && (to->reachable != NULL || from->reachable_count == 0);
    to->argument_count = to->arguments != NULL ? from->argument_count : 0;
    for (size_t index = 0; index < to->argument_count; ++index) {
        const struct argument *argument = &from->arguments[index];
        to->arguments[index].bytes = copy_of(argument->bytes, argument->size);
        is_whole = is_whole && (to->arguments[index].bytes != NULL || argument->bytes == NULL);
    }
    if (!is_whole) {
        empty(to);
        *to = (struct given_kernel){0};
    }
    return is_whole;
}

/* Makes the handle that of a kernel of this kind; of none whose launches are kept, if `own` is NULL. */
static void kernel_is(const void *kernel, const struct given_kernel *own)
{
    struct known_kernel *fresh = own != NULL && own->name != NULL ? calloc(1, sizeof *fresh) : NULL;
    if (fresh != NULL)
        *fresh = (struct known_kernel){.record.handle = kernel, .own = *own, .argument_capacity = own->argument_count};
    if (fresh != NULL && !own_lists(&fresh->own, own)) {
        free(fresh);
        fresh = NULL;
    }
    struct known_kernel *former = (struct known_kernel *)(void *)records_remove(&kernels, kernel);
    if (fresh != NULL)
        records_add(&kernels, &fresh->record);
    if (former != NULL)
        empty(&former->own);
    free(former);
}

/* Returns the place of an argument; NULL if there is none. With the lock held. */
static struct argument *place_of(struct known_kernel *known, size_t number)
{
    if (known == NULL || number >= MOST_ARGUMENTS)
        return NULL;
    struct given_kernel *own = &known->own;
    struct argument *grown = array_reserve(own->arguments, &known->argument_capacity, number + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    own->arguments = grown;
    while (own->argument_count <= number)
        grown[own->argument_count++] = (struct argument){0};
    return &grown[number];
}

/* Sets an argument, whose bytes become the kernel's. */
static void argument_is(const void *kernel, size_t number, const struct argument *argument)
{
    lock_take(LOCK_RECORDER);
    struct argument *place = place_of(find(kernel), number);
    void *former = place != NULL ? place->bytes : argument->bytes;
    if (place != NULL)
        *place = *argument;
    lock_give(LOCK_RECORDER);
    free(former);
}

void given_kernel_created(const void *kernel, struct program_identity program, const char *name)
{
    if (!is_watching)
        return;
    struct given_kernel fresh = {.program = program};
    lock_take(LOCK_RECORDER);
    fresh.name = chosen_name_of(name);
    kernel_is(kernel, &fresh);
    lock_give(LOCK_RECORDER);
}

void given_kernel_cloned(const void *clone, const void *of)
{
    if (!is_watching)
        return;
    lock_take(LOCK_RECORDER);
    const struct known_kernel *known = find(of);
    kernel_is(clone, known != NULL ? &known->own : NULL);
    lock_give(LOCK_RECORDER);
}

bool given_is_watched(const void *kernel)
{
    lock_take(LOCK_RECORDER);
    bool is_watched = is_watching && find(kernel) != NULL;
    lock_give(LOCK_RECORDER);
    return is_watched;
}

void given_kernel_gone(const void *kernel)
{
    if (records_none(&kernels))
        return;
    lock_take(LOCK_RECORDER);
    kernel_is(kernel, NULL);
    lock_give(LOCK_RECORDER);
}

/* Most applications have kernels of which no launch is kept: they pay for a look at a number. */
static bool is_known(const void *kernel)
{
    if (records_none(&kernels))
        return false;
    lock_take(LOCK_RECORDER);
    bool is_here = find(kernel) != NULL;
    lock_give(LOCK_RECORDER);
    return is_here;
}

void given_value(const void *kernel, size_t number, size_t size, const void *value)
{
    if (!is_known(kernel))
        return;
    struct argument argument = {.kind = value != NULL ? ARGUMENT_VALUE : ARGUMENT_LOCAL, .size = size};
    argument.bytes = copy_of(value, size);
    if (value != NULL && size > 0 && argument.bytes == NULL)
        argument.kind = ARGUMENT_UNSET;
    argument_is(kernel, number, &argument);
}

void given_pointer(const void *kernel, size_t number, const void *pointer)
{
    if (is_known(kernel))
        argument_is(kernel, number, &(struct argument){.kind = ARGUMENT_POINTER, .size = sizeof pointer, .pointer = pointer});
}

void given_change(const void *kernel, void (*change)(struct given_kernel *own, const void *context), const void *context)
{
    if (records_none(&kernels))
        return;
    lock_take(LOCK_RECORDER);
    struct known_kernel *known = find(kernel);
    if (known != NULL)
        change(&known->own, context);
    lock_give(LOCK_RECORDER);
}

void given_reaches(struct given_kernel *own, const void *pointers, size_t size)
{
    void *copy = copy_of(pointers, size);
    if (copy == NULL && size > 0)
        return;
    free((void *)own->reachable);
    own->reachable = copy;
    own->reachable_count = size / sizeof *own->reachable;
}

/* Returns a copy, as of a launch of this number; NULL if there is no memory. */
static struct given_kernel *copy_for(const struct given_kernel *own, uint64_t number, bool if_slowest)
{
    struct given_kernel *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *own;
    copy->number = number;
    copy->if_slowest = if_slowest;
    if (own_lists(copy, own))
        return copy;
    free(copy);
    return NULL;
}

struct given_kernel *given_for_launch(const void *kernel)
{
    if (records_none(&kernels))
        return NULL;
    lock_take(LOCK_RECORDER);
    const struct known_kernel *known = find(kernel);
    bool if_slowest = false;
    uint64_t number = known != NULL ? chosen_launch(known->own.name, &if_slowest) : 0;
    struct given_kernel *copy = number != 0 ? copy_for(&known->own, number, if_slowest) : NULL;
    lock_give(LOCK_RECORDER);
    return copy;
}

struct given_kernel *given_until_now(const void *kernel)
{
    if (records_none(&kernels))
        return NULL;
    lock_take(LOCK_RECORDER);
    const struct known_kernel *known = find(kernel);
    struct given_kernel *copy = known != NULL ? copy_for(&known->own, 0, false) : NULL;
    lock_give(LOCK_RECORDER);
    return copy;
}

bool given_launched(struct given_kernel *given_kernel)
{
    lock_take(LOCK_RECORDER);
    given_kernel->number = chosen_launch(given_kernel->name, &given_kernel->if_slowest);
    lock_give(LOCK_RECORDER);
    return given_kernel->number != 0;
}

void given_kernels_watch(void)
{
    is_watching = true;
    forks_watch(after_fork);
}
