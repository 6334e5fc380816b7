#define _GNU_SOURCE
#include "recording/counters.h"

#include "base/locks.h"
#include "base/owned.h"
#include "base/records.h"
#include "recording/spool.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Memory for entries, which is a file's as soon as one of them counts: what is counted is in the file then, however the process ends.
 * A child process has a copy, which becomes another file's if it counts, too. */
struct chunk {
    struct chunk *next;
    unsigned char *memory;
    size_t size, used;
    bool is_file, is_private; /* private: it can be no file's, and is written at the end */
};
enum { CHUNK = 1 << 16 };

/* A counter as files have it: one behind the other, up to one whose size is 0 or the end (kernlens/verbs/capture/counters.py). */
struct entry {
    uint64_t size; /* of all of it, in bytes */
    struct program_identity program;
    uint64_t device, created;
    struct tally launched;
    uint64_t number; /* among those of its process, from 1 */
    struct times times;
    char name[];
};
static_assert(offsetof(struct entry, launched) == 40 && offsetof(struct entry, name) == 624, "the file's layout");

/* A kernel of a program on one device; `device` is NULL until it is launched. Not in the chunk, which a parent process that goes on
 * changes while its child makes the copy. */
struct counter {
    struct entry *entry;
    struct chunk *chunk;
    const void *device;
    bool is_timed; /* the first launch to be timed was met */
    struct counter *all, *of_program, *of_kernel; /* the next ones: of all, of the same program, of the same kernel */
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
static struct chunk *chunks;
static struct counter *counters;
static uint64_t program_count, counter_count;

/* Has other memory take the chunk's place, with what it holds. */
static bool replace_memory(struct chunk *chunk, void *other)
{
    if (other == MAP_FAILED)
        return false;
    memcpy(other, chunk->memory, chunk->used);
    return mremap(other, chunk->size, chunk->size, MREMAP_MAYMOVE | MREMAP_FIXED, chunk->memory) != MAP_FAILED;
}

static void *anonymous(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* A child process counts from nothing what it does itself; its parent's programs and kernels are known to it. */
static void after_fork(bool (*damaged)(enum lock lock))
{
    bool is_whole = !damaged(LOCK_RECORDER);
    for (struct chunk *chunk = chunks; is_whole && chunk != NULL; chunk = chunk->next) {
        is_whole = !chunk->is_file || replace_memory(chunk, anonymous(chunk->size));
        chunk->is_file = chunk->is_private = false;
    }
    if (!is_whole) {
        programs = kernels = (struct records){0};
        chunks = NULL;
        counters = NULL;
    }
    for (struct counter *counter = counters; counter != NULL; counter = counter->all) {
        counter->entry->device = (uintptr_t)counter->device;
        counter->entry->created = 0;
        counter->entry->launched = (struct tally){0};
        counter->entry->times = (struct times){0};
        counter->is_timed = false;
    }
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

static struct chunk *chunk_with_room(size_t size)
{
    if (chunks != NULL && size <= chunks->size - chunks->used)
        return chunks;
    FREED struct chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL)
        return NULL;
    chunk->size = (size + CHUNK - 1) / CHUNK * CHUNK;
    if ((chunk->memory = anonymous(chunk->size)) == MAP_FAILED)
        return NULL;
    chunk->next = chunks;
    chunks = chunk;
    return GIVE(chunk);
}

static struct counter *new_counter(struct program_identity program, const char *name)
{
    size_t length = strlen(name) + 1, size = (sizeof(struct entry) + length + 7) / 8 * 8;
    FREED struct counter *counter = calloc(1, sizeof *counter);
    struct chunk *chunk = counter != NULL ? chunk_with_room(size) : NULL;
    if (chunk == NULL)
        return NULL;
    struct entry *entry = (struct entry *)(void *)(chunk->memory + chunk->used);
    chunk->used += size;
    *entry = (struct entry){.size = size, .program = program, .number = ++counter_count};
    memcpy(entry->name, name, length);
    *counter = (struct counter){.entry = entry, .chunk = chunk, .all = counters};
    return counters = GIVE(counter);
}

/* A counter of the chunk is about to count. */
static void keep(struct chunk *chunk)
{
    if (!chunk->is_file && !chunk->is_private) {
        chunk->is_file = replace_memory(chunk, spool_memory("counters", chunk->size));
        chunk->is_private = !chunk->is_file;
    }
}

static struct counter *find_counter(struct known_program *program, const char *name)
{
    struct counter *counter = program->kernels;
    while (counter != NULL && strcmp(counter->entry->name, name) != 0)
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
    if (counter == NULL && (counter = new_counter(kernel->entry->program, kernel->entry->name)) != NULL) {
        counter->of_kernel = kernel->of_kernel;
        kernel->of_kernel = counter;
    }
    if (counter != NULL) {
        counter->device = device;
        counter->entry->device = (uintptr_t)device;
    }
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
    if (counter != NULL) {
        keep(counter->chunk);
        ++counter->entry->created;
    }
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

struct counter *counters_find(const void *kernel, const void *device)
{
    struct counter *counter = counter_of(kernel);
    return counter != NULL ? find_counter_of(counter, device) : NULL;
}

void counter_add(struct counter *counter, const struct tally *launched)
{
    keep(counter->chunk);
    tally_add(&counter->entry->launched, launched);
}

bool counter_begins_times(struct counter *counter)
{
    bool is_first = !counter->is_timed;
    counter->is_timed = true;
    return is_first;
}

uint64_t counter_add_time(struct counter *counter, uint64_t nanoseconds, bool is_first)
{
    keep(counter->chunk);
    times_add(&counter->entry->times, nanoseconds, is_first);
    return counter->entry->number;
}

void counters_launched(const void *kernel, const void *device, const struct shape *shape)
{
    lock_take(LOCK_RECORDER);
    struct counter *counter = counters_find(kernel, device);
    if (counter != NULL) {
        keep(counter->chunk);
        tally_launches(&counter->entry->launched, shape, 1);
    }
    lock_give(LOCK_RECORDER);
}

void counters_watch(void)
{
    forks_watch(after_fork);
}

/* Does nothing if nothing is captured: then there is no counter. */
__attribute__((destructor)) static void write_at_the_end(void)
{
    for (const struct chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
        if (chunk->is_private)
            spool_file("counters", &(struct writer){.bytes = chunk->memory, .size = chunk->used},
                       "how often kernels were launched");
}
