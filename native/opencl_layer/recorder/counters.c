#define _GNU_SOURCE
#include "opencl_layer/recorder/counters.h"

#include "base/locks.h"
#include "base/owned.h"
#include "base/records.h"
#include "opencl_layer/recorder/spool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Writing takes 1/200 of the time at most. */
enum { SHAPES = 8, DIMENSIONS = 3, PAUSE_FACTOR = 200 };
static const uint64_t SHORTEST_PAUSE = UINT64_C(100000000), SECOND = UINT64_C(1000000000);

/* Sizes that a kernel was launched with; 0 where the driver chooses, and beyond the launch's dimensions. */
struct shape {
    uint64_t dimensions, global[DIMENSIONS], local[DIMENSIONS];
};

struct counted_shape {
    struct shape shape;
    uint64_t launches;
};

/* A kernel of a program on one device; `device` is NULL until it is launched. */
struct counter {
    struct program_identity program;
    cl_device_id device;
    uint64_t created, launches;
    size_t shape_count;
    struct counted_shape shapes[SHAPES];
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
        counter->created = counter->launches = 0;
        counter->shape_count = 0;
    }
    changed = false;
    next_write = 0;
    written = NULL;
}

/* These with the lock held; NULL if there is no memory. */
static struct known_program *find_program(cl_program handle)
{
    struct known_program *program = (struct known_program *)(void *)records_find(&programs, handle);
    if (program != NULL || (program = calloc(1, sizeof *program)) == NULL)
        return program;
    program->record.handle = handle;
    program->identity = (struct program_identity){spool_process(), ++program_count};
    records_add(&programs, &program->record);
    return program;
}

static struct counter *counter_add(struct program_identity program, const char *name)
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
    if (counter == NULL && (counter = counter_add(program->identity, name)) != NULL) {
        counter->of_program = program->kernels;
        program->kernels = counter;
    }
    return counter;
}

/* The kernel's counter for a device. */
static struct counter *find_counter_of(struct counter *kernel, cl_device_id device)
{
    struct counter *counter = kernel;
    while (counter != NULL && counter->device != device && counter->device != NULL)
        counter = counter->of_kernel;
    if (counter == NULL && (counter = counter_add(kernel->program, kernel->name)) != NULL) {
        counter->of_kernel = kernel->of_kernel;
        kernel->of_kernel = counter;
    }
    if (counter != NULL)
        counter->device = device;
    return counter;
}

static void kernel_is(cl_kernel handle, struct counter *counter)
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

static struct counter *counter_of(cl_kernel handle)
{
    const struct known_kernel *kernel = (const struct known_kernel *)(const void *)records_find(&kernels, handle);
    return kernel != NULL ? kernel->counter : NULL;
}

void counters_new_program(cl_program handle)
{
    lock_take(LOCK_RECORDER);
    struct known_program *program = find_program(handle);
    if (program != NULL) {
        program->identity = (struct program_identity){spool_process(), ++program_count};
        program->kernels = NULL;
    }
    lock_give(LOCK_RECORDER);
}

struct program_identity counters_identity(cl_program handle)
{
    lock_take(LOCK_RECORDER);
    const struct known_program *program = find_program(handle);
    struct program_identity identity = program != NULL ? program->identity : (struct program_identity){0, 0};
    lock_give(LOCK_RECORDER);
    return identity;
}

void counters_created(cl_kernel kernel, cl_program handle, const char *name)
{
    lock_take(LOCK_RECORDER);
    struct known_program *program = find_program(handle);
    kernel_is(kernel, program != NULL ? find_counter(program, name) : NULL);
    lock_give(LOCK_RECORDER);
}

void counters_cloned(cl_kernel kernel, cl_kernel of)
{
    lock_take(LOCK_RECORDER);
    kernel_is(kernel, counter_of(of));
    lock_give(LOCK_RECORDER);
}

static void count_shape(struct counter *counter, const struct launch *launch)
{
    struct shape shape = {.dimensions = launch->dimensions};
    for (cl_uint dimension = 0; dimension < launch->dimensions && dimension < DIMENSIONS; ++dimension) {
        shape.global[dimension] = launch->global != NULL ? launch->global[dimension] : 0;
        shape.local[dimension] = launch->local != NULL ? launch->local[dimension] : 0;
    }
    size_t place = 0;
    while (place < counter->shape_count && memcmp(&counter->shapes[place].shape, &shape, sizeof shape) != 0)
        ++place;
    if (place == SHAPES)
        return; /* the first ones have to do */
    if (place == counter->shape_count)
        counter->shapes[counter->shape_count++] = (struct counted_shape){.shape = shape};
    ++counter->shapes[place].launches;
}

void counters_launched(cl_kernel kernel, const struct launch *launch)
{
    lock_take(LOCK_RECORDER);
    struct counter *counter = counter_of(kernel);
    if (counter != NULL && (counter = find_counter_of(counter, launch->device)) != NULL) {
        ++counter->launches;
        count_shape(counter, launch);
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
    field_number(fields, "launches", counter->launches);
    for (size_t index = 0; index < counter->shape_count; ++index)
        field_bytes(fields, "shape", &counter->shapes[index], sizeof counter->shapes[index]);
}

/* Writes all counters to a new file, then removes the one before: whoever is killed between leaves two, and the newer counts. */
static void write_all(bool last)
{
    RELEASED_BY(writer_free) struct writer fields = {0};
    lock_take(LOCK_RECORDER);
    FREED char *name = changed ? spool_name("counters") : NULL;
    for (const struct counter *counter = counters; name != NULL && counter != NULL; counter = counter->all)
        if (counter->created > 0 || counter->launches > 0)
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
