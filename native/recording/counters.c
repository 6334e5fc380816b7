#define _GNU_SOURCE
#include "recording/counters.h"

#include "base/locks.h"
#include "base/owned.h"
#include "base/records.h"
#include "recording/spool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Writing takes 1/200 of the time at most. */
enum { PAUSE_FACTOR = 200 };
static const uint64_t SHORTEST_PAUSE = UINT64_C(100000000), SECOND = UINT64_C(1000000000);

/* A kernel of a program on one device; `device` is NULL until it is launched. */
struct counter {
    struct program_identity program;
    const void *device;
    uint64_t created;
    struct tally launched;
    struct counter *all, *of_program, *of_kernel; /* the next ones: of all, of the same program, of the same kernel */
    char name[];
};

struct known_program {
    struct record record;
    struct program_identity identity;
    struct counter *kernels;
};

struct known_kernel {
    struct record record;
    struct counter *counter;
};

static struct records programs, kernels;
static struct counter *counters;
static uint64_t program_count;
static bool changed;
static atomic_uint_fast64_t next_write;
static char *written; /* the newest file's name */

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* A child process counts from nothing what it does itself; its parent's programs and kernels are known to it. */
static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER)) {
        programs = kernels = (struct records){0};
        counters = NULL;
    }
    for (struct counter *counter = counters; counter != NULL; counter = counter->all) {
        counter->created = 0;
        counter->launched = (struct tally){0};
    }
    changed = false;
    next_write = 0;
    written = NULL;
}

/* These with the lock held; NULL if there is no memory. */
static struct known_program *find_program(const void *handle)
{
    struct known_program *program = (struct known_program *)(void *)records_find(&programs, handle);
    if (program != NULL || (program = calloc(1, sizeof *program)) == NULL)
        return program;
    program->record.handle = handle;
    program->identity = (struct program_identity){spool_process(), ++program_count};
    records_add(&programs, &program->record);
    return program;
}

static struct counter *new_counter(struct program_identity program, const char *name)
{
    size_t size = strlen(name) + 1;
    struct counter *counter = calloc(1, sizeof *counter + size);
    if (counter == NULL)
        return NULL;
    memcpy(counter->name, name, size);
    counter->program = program;
    counter->all = counters;
    counters = counter;
    return counter;
}

static struct counter *find_counter(struct known_program *program, const char *name)
{
    struct counter *counter = program->kernels;
    while (counter != NULL && strcmp(counter->name, name) != 0)
        counter = counter->of_program;
    if (counter == NULL && (counter = new_counter(program->identity, name)) != NULL) {
        counter->of_program = program->kernels;
        program->kernels = counter;
    }
    return counter;
}

/* The kernel's counter for a device. */
static struct counter *find_counter_of(struct counter *kernel, const void *device)
{
    struct counter *counter = kernel;
    while (counter != NULL && counter->device != device && counter->device != NULL)
        counter = counter->of_kernel;
    if (counter == NULL && (counter = new_counter(kernel->program, kernel->name)) != NULL) {
        counter->of_kernel = kernel->of_kernel;
        kernel->of_kernel = counter;
    }
    if (counter != NULL)
        counter->device = device;
    return counter;
}

static void kernel_is(const void *handle, struct counter *counter)
{
    struct known_kernel *kernel = (struct known_kernel *)(void *)records_find(&kernels, handle);
    if (kernel == NULL && (kernel = calloc(1, sizeof *kernel)) != NULL) {
        kernel->record.handle = handle;
        records_add(&kernels, &kernel->record);
    }
    if (kernel != NULL)
        kernel->counter = counter;
    if (counter != NULL)
        ++counter->created;
    changed = true;
}

static struct counter *counter_of(const void *handle)
{
    const struct known_kernel *kernel = (const struct known_kernel *)(const void *)records_find(&kernels, handle);
    return kernel != NULL ? kernel->counter : NULL;
}

void counters_new_program(const void *handle)
{
    lock_take(LOCK_RECORDER);
    struct known_program *program = find_program(handle);
    if (program != NULL) {
        program->identity = (struct program_identity){spool_process(), ++program_count};
        program->kernels = NULL;
    }
    lock_give(LOCK_RECORDER);
}

struct program_identity counters_identity(const void *handle)
{
    lock_take(LOCK_RECORDER);
    const struct known_program *program = find_program(handle);
    struct program_identity identity = program != NULL ? program->identity : (struct program_identity){0, 0};
    lock_give(LOCK_RECORDER);
    return identity;
}

void counters_created(const void *kernel, const void *handle, const char *name)
{
    lock_take(LOCK_RECORDER);
    struct known_program *program = find_program(handle);
    kernel_is(kernel, program != NULL ? find_counter(program, name) : NULL);
    lock_give(LOCK_RECORDER);
}

void counters_cloned(const void *kernel, const void *of)
{
    lock_take(LOCK_RECORDER);
    kernel_is(kernel, counter_of(of));
    lock_give(LOCK_RECORDER);
}

void counters_forget_program(const void *program)
{
    lock_take(LOCK_RECORDER);
    free(records_remove(&programs, program));
    lock_give(LOCK_RECORDER);
}

void counters_forget_kernel(const void *kernel)
{
    lock_take(LOCK_RECORDER);
    free(records_remove(&kernels, kernel));
    lock_give(LOCK_RECORDER);
}

void tally_launches(struct tally *tally, const struct shape *shape, uint64_t launches)
{
    tally->launches += launches;
    size_t place = 0;
    while (place < tally->shape_count && memcmp(&tally->shapes[place].shape, shape, sizeof *shape) != 0)
        ++place;
    if (place == SHAPES || shape->dimensions == 0)
        return; /* the first ones have to do */
    if (place == tally->shape_count)
        tally->shapes[tally->shape_count++] = (struct counted_shape){.shape = *shape};
    tally->shapes[place].launches += launches;
}

void tally_add(struct tally *sum, const struct tally *more)
{
    uint64_t before = sum->launches;
    for (size_t place = 0; place < more->shape_count; ++place)
        tally_launches(sum, &more->shapes[place].shape, more->shapes[place].launches);
    sum->launches = before + more->launches;
}

struct counter *counters_find(const void *kernel, const void *device)
{
    struct counter *counter = counter_of(kernel);
    return counter != NULL ? find_counter_of(counter, device) : NULL;
}

void counter_add(struct counter *counter, const struct tally *launched)
{
    tally_add(&counter->launched, launched);
    changed = true;
}

void counters_launched(const void *kernel, const void *device, const struct shape *shape)
{
    lock_take(LOCK_RECORDER);
    struct counter *counter = counters_find(kernel, device);
    if (counter != NULL) {
        tally_launches(&counter->launched, shape, 1);
        changed = true;
    }
    lock_give(LOCK_RECORDER);
}

static void write_counter(struct writer *fields, const struct counter *counter)
{
    field_text(fields, "kernel", counter->name);
    field_bytes(fields, "program", &counter->program, sizeof counter->program);
    field_number(fields, "device", (uint64_t)(uintptr_t)counter->device);
    field_number(fields, "created", counter->created);
    field_number(fields, "launches", counter->launched.launches);
    for (size_t index = 0; index < counter->launched.shape_count; ++index)
        field_bytes(fields, "shape", &counter->launched.shapes[index], sizeof counter->launched.shapes[index]);
}

/* Writes all counters to a new file, then removes the one before: whoever is killed between leaves two, and the newer counts. */
static void write_all(bool last)
{
    RELEASED_BY(writer_free) struct writer fields = {0};
    lock_take(LOCK_RECORDER);
    FREED char *name = changed ? spool_name("counters") : NULL;
    for (const struct counter *counter = counters; name != NULL && counter != NULL; counter = counter->all)
        if (counter->created > 0 || counter->launched.launches > 0)
            write_counter(&fields, counter);
    changed = changed && name == NULL;
    lock_give(LOCK_RECORDER);
    if (name == NULL)
        return;
    int error = spool_write(name, &fields);
    if (error != 0 && last)
        spool_missing("how often kernels were launched", error);
    lock_take(LOCK_RECORDER);
    changed = changed || error != 0;
    /* Another thread may have written later counters sooner; names tell by their numbers. */
    FREED char *older = written != NULL && (error != 0 || strcmp(written, name) > 0) ? NULL : written;
    if (error == 0 && (written == NULL || older != NULL))
        written = GIVE(name);
    lock_give(LOCK_RECORDER);
    if (older != NULL)
        spool_remove(older);
    else if (error == 0 && name != NULL)
        spool_remove(name);
}

void counters_write_now_and_then(void)
{
    uint64_t began = now(), due = next_write;
    if (began < due || !atomic_compare_exchange_strong(&next_write, &due, UINT64_MAX))
        return; /* another thread writes */
    write_all(false);
    uint64_t ended = now(), pause = (ended - began) * PAUSE_FACTOR;
    next_write = ended + (pause > SHORTEST_PAUSE ? pause : SHORTEST_PAUSE);
}

void counters_watch(void)
{
    forks_watch(after_fork);
}

/* Does nothing if nothing is captured: then nothing changed. */
__attribute__((destructor)) static void write_at_the_end(void)
{
    write_all(true);
}
