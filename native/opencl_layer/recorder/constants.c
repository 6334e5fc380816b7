/* The specialization constants of programs from IL, which a driver takes but does not give back. */
#define _GNU_SOURCE
#include "base/arrays.h"
#include "base/locks.h"
#include "base/records.h"
#include "opencl_layer/recorder/parts.h"
#include "opencl_layer/second_build/job.h"

#include <stdlib.h>
#include <string.h>

/* As a field of an event: nothing is longer than 8 bytes. */
struct constant {
    uint64_t number, bits;
};

struct known_constant {
    struct constant constant;
    size_t size;
};

struct known_program {
    struct record record;
    struct known_constant *items;
    size_t count, capacity;
};

static struct records programs;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER))
        programs = (struct records){0};
}

static struct known_program *find(cl_program program)
{
    return (struct known_program *)(void *)records_find(&programs, program);
}

/* Returns the place of the constant's value; NULL if there is no memory. */
static struct known_constant *place_of(struct known_program *known, cl_uint number)
{
    for (size_t index = 0; index < known->count; ++index)
        if (known->items[index].constant.number == number)
            return &known->items[index];
    struct known_constant *grown = array_reserve(known->items, &known->capacity, known->count + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    known->items = grown;
    return &grown[known->count++];
}

void constant_set(cl_program program, cl_uint number, size_t size, const void *value)
{
    struct known_constant constant = {.constant.number = number, .size = size < sizeof constant.constant.bits ? size : sizeof constant.constant.bits};
    memcpy(&constant.constant.bits, value, constant.size);
    lock_take(LOCK_RECORDER);
    struct known_program *known = find(program);
    if (known == NULL && (known = calloc(1, sizeof *known)) != NULL) {
        known->record.handle = program;
        records_add(&programs, &known->record);
    }
    struct known_constant *place = known != NULL ? place_of(known, number) : NULL;
    if (place != NULL)
        *place = constant;
    lock_give(LOCK_RECORDER);
}

void constants_add(struct event *event, cl_program program)
{
    lock_take(LOCK_RECORDER);
    const struct known_program *known = find(program);
    for (size_t index = 0; known != NULL && index < known->count; ++index)
        field_bytes(&event->fields, "constant", &known->items[index].constant, sizeof known->items[index].constant);
    lock_give(LOCK_RECORDER);
}

void constants_write_program(struct writer *job, struct job_program *of, cl_program program)
{
    lock_take(LOCK_RECORDER);
    const struct known_program *known = find(program);
    of->constant_count = known != NULL ? known->count : 0;
    job_write_program(job, of);
    for (size_t index = 0; index < of->constant_count; ++index) {
        const struct known_constant *item = &known->items[index];
        job_write_constant(job, &(struct job_constant){.identifier = (uint32_t)item->constant.number,
                                                       .value = {(const unsigned char *)&item->constant.bits, item->size}});
    }
    lock_give(LOCK_RECORDER);
}

void constants_forget(cl_program program)
{
    lock_take(LOCK_RECORDER);
    struct known_program *known = (struct known_program *)(void *)records_remove(&programs, program);
    lock_give(LOCK_RECORDER);
    if (known != NULL)
        free(known->items);
    free(known);
}

void constants_watch(void)
{
    forks_watch(after_fork);
}
