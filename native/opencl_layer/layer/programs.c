#define _GNU_SOURCE
#include "opencl_layer/layer/programs.h"

#include "base/arrays.h"
#include "base/locks.h"
#include "base/owned.h"
#include "base/records.h"
#include "opencl_layer/second_build/job.h"
#include "opencl_layer/second_build/second_build.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct constant {
    cl_uint identifier;
    size_t size;
    unsigned char *value;
};

struct program {
    struct record record;
    bool unbuilt, requested, served;
    struct request request;
    struct second_build *waiting;
    struct constant *constants;
    size_t constant_count, constant_capacity;
};

static struct records programs;
static bool are_tracked;

static void lock(void)
{
    lock_take(LOCK_PROGRAMS);
}

static void unlock(void)
{
    lock_give(LOCK_PROGRAMS);
}

static void leave_waiting(const struct record *record, void *context)
{
    (void)context;
    struct program *program = (struct program *)(uintptr_t)record;
    second_build_leave(program->waiting);
    program->waiting = NULL;
}

/* A child process forked in the middle of a change knows of no program. The second builds that wait are its parent's. */
static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_PROGRAMS))
        programs = (struct records){0};
    records_visit(&programs, leave_waiting, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
    forks_watch(after_fork);
}

/* Both with the lock held; NULL if there is no record, or no memory for one. */
static struct program *find(cl_program handle)
{
    return (struct program *)(void *)records_find(&programs, handle);
}

static struct program *find_or_add(cl_program handle)
{
    struct program *program = find(handle);
    if (program != NULL || (program = calloc(1, sizeof *program)) == NULL)
        return program;
    program->record.handle = handle;
    records_add(&programs, &program->record);
    return program;
}

/* Not with the lock held: it waits for the end of a process. */
static void program_free(struct program *program)
{
    if (program == NULL)
        return;
    second_build_free(program->waiting);
    for (size_t index = 0; index < program->constant_count; ++index)
        free(program->constants[index].value);
    free(program->constants);
    free(program);
}

void program_forget(cl_program handle)
{
    if (records_none(&programs))
        return;
    lock();
    struct program *program = (struct program *)(void *)records_remove(&programs, handle);
    unlock();
    program_free(program);
}

void programs_track(void)
{
    are_tracked = true;
}

void program_begins(cl_program handle)
{
    program_forget(handle);
    if (!are_tracked)
        return;
    lock();
    find_or_add(handle);
    unlock();
}

bool program_is_known(cl_program handle)
{
    if (records_none(&programs))
        return false;
    lock();
    bool known = find(handle) != NULL;
    unlock();
    return known;
}

void program_set_unbuilt(cl_program handle)
{
    lock();
    struct program *program = find_or_add(handle);
    if (program != NULL)
        program->unbuilt = true;
    unlock();
}

void program_set_built(cl_program handle)
{
    if (records_none(&programs))
        return;
    lock();
    struct program *program = find(handle);
    if (program != NULL)
        program->unbuilt = false;
    unlock();
}

bool program_is_unbuilt(cl_program handle)
{
    lock();
    const struct program *program = find(handle);
    bool unbuilt = program != NULL && program->unbuilt;
    unlock();
    return unbuilt;
}

/* Finds or adds the constant; NULL if there is no memory. */
static struct constant *constant_of(struct program *program, cl_uint identifier)
{
    for (size_t index = 0; index < program->constant_count; ++index)
        if (program->constants[index].identifier == identifier)
            return &program->constants[index];
    struct constant *grown = array_reserve(program->constants, &program->constant_capacity,
                                           program->constant_count + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    program->constants = grown;
    struct constant *added = &grown[program->constant_count++];
    *added = (struct constant){.identifier = identifier};
    return added;
}

void program_keep_constant(cl_program handle, cl_uint identifier, size_t size, const void *value)
{
    FREED unsigned char *copy = malloc(size);
    if (copy == NULL)
        return;
    memcpy(copy, value, size);
    lock();
    struct program *program = find_or_add(handle);
    struct constant *constant = program != NULL ? constant_of(program, identifier) : NULL;
    if (constant != NULL) {
        free(constant->value);
        constant->value = GIVE(copy);
        constant->size = size;
    }
    unlock();
}

void program_write(cl_program handle, int form, const struct view *bytes, struct writer *job)
{
    lock();
    const struct program *program = find(handle);
    struct job_program written = {.form = (enum program_form)form,
                                  .bytes = *bytes,
                                  .constant_count = program != NULL ? program->constant_count : 0};
    job_write_program(job, &written);
    for (size_t index = 0; index < written.constant_count; ++index) {
        const struct constant *constant = &program->constants[index];
        job_write_constant(job, &(struct job_constant){.identifier = constant->identifier,
                                                       .value = {.bytes = constant->value, .size = constant->size}});
    }
    unlock();
}

bool program_put_request(const struct request *request, struct second_build *waiting)
{
    lock();
    struct program *program = find_or_add(request->program);
    struct second_build *earlier = NULL;
    if (program != NULL) {
        earlier = program->waiting;
        program->request = *request;
        program->requested = true;
        program->served = false;
        program->waiting = waiting;
    }
    unlock();
    second_build_free(earlier);
    return program != NULL;
}

bool program_take_request(cl_program handle, struct request *request, struct second_build **waiting)
{
    if (records_none(&programs))
        return false;
    lock();
    struct program *program = find(handle);
    bool requested = program != NULL && program->requested;
    if (requested) {
        *request = program->request;
        if (waiting != NULL) {
            *waiting = program->waiting;
            program->waiting = NULL;
        }
    }
    unlock();
    return requested;
}

bool program_find_request(cl_program handle, struct request *request)
{
    return program_take_request(handle, request, NULL);
}

void program_set_served(cl_program handle)
{
    struct second_build *waiting = NULL;
    lock();
    struct program *program = find(handle);
    if (program != NULL) {
        program->served = true;
        waiting = program->waiting;
        program->waiting = NULL;
    }
    unlock();
    second_build_free(waiting);
}

bool program_is_served(cl_program handle)
{
    lock();
    const struct program *program = find(handle);
    bool served = program != NULL && program->served;
    unlock();
    return served;
}

static void count_waiting(const struct record *record, void *count)
{
    if (((const struct program *)(const void *)record)->waiting != NULL)
        ++*(unsigned *)count;
}

unsigned programs_waiting(void)
{
    unsigned count = 0;
    lock();
    records_visit(&programs, count_waiting, &count);
    unlock();
    return count;
}
