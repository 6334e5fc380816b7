/* What kernels were given: values and handles as they were set, for kernels of whose launches some are to be kept. */
#include "base/arrays.h"
#include "base/locks.h"
#include "base/owned.h"
#include "base/records.h"
#include "opencl_layer/below.h"
#include "opencl_layer/kept/launches.h"
#include "opencl_layer/kept/parts.h"

#include <CL/cl_ext.h>

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
static const cl_icd_dispatch *next;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER))
        kernels = (struct records){0};
}

static struct known_kernel *find(cl_kernel kernel)
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
static void kernel_is(cl_kernel kernel, const struct given_kernel *own)
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

void kept_kernel_created(cl_kernel kernel, cl_program program, const char *name)
{
    if (next == NULL)
        return;
    struct given_kernel fresh = {.program = counters_identity(program)};
    lock_take(LOCK_RECORDER);
    fresh.name = chosen_name_of(name);
    kernel_is(kernel, &fresh);
    lock_give(LOCK_RECORDER);
}

void kept_kernel_cloned(cl_kernel clone, cl_kernel of)
{
    if (next == NULL)
        return;
    lock_take(LOCK_RECORDER);
    const struct known_kernel *known = find(of);
    kernel_is(clone, known != NULL ? &known->own : NULL);
    lock_give(LOCK_RECORDER);
}

/* Returns the place of an argument; NULL if there is none. With the lock held. */
static struct argument *place_of(struct known_kernel *known, cl_uint number)
{
    if (known == NULL || number >= MOST_ARGUMENTS)
        return NULL;
    struct given_kernel *own = &known->own;
    struct argument *grown = array_reserve(own->arguments, &known->argument_capacity, (size_t)number + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    own->arguments = grown;
    while (own->argument_count <= number)
        grown[own->argument_count++] = (struct argument){0};
    return &grown[number];
}

/* Sets an argument, whose bytes become the kernel's. */
static void argument_is(cl_kernel kernel, cl_uint number, const struct argument *argument)
{
    lock_take(LOCK_RECORDER);
    struct argument *place = place_of(find(kernel), number);
    void *former = place != NULL ? place->bytes : argument->bytes;
    if (place != NULL)
        *place = *argument;
    lock_give(LOCK_RECORDER);
    free(former);
}

/* Most applications have kernels of which no launch is kept: they pay for a look at a number. */
static bool is_known(cl_kernel kernel)
{
    if (records_none(&kernels))
        return false;
    lock_take(LOCK_RECORDER);
    bool is_here = find(kernel) != NULL;
    lock_give(LOCK_RECORDER);
    return is_here;
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint number, size_t size, const void *value)
{
    cl_int status = next->clSetKernelArg(kernel, number, size, value);
    if (status == CL_SUCCESS && is_known(kernel)) {
        struct argument argument = {.kind = value != NULL ? ARGUMENT_VALUE : ARGUMENT_LOCAL, .size = size};
        argument.bytes = copy_of(value, size);
        if (value != NULL && size > 0 && argument.bytes == NULL)
            argument.kind = ARGUMENT_UNSET;
        argument_is(kernel, number, &argument);
    }
    return status;
}

void kernel_pointer_is(cl_kernel kernel, cl_uint number, const void *pointer)
{
    if (is_known(kernel))
        argument_is(kernel, number, &(struct argument){.kind = ARGUMENT_POINTER, .size = sizeof pointer, .pointer = pointer});
}

static cl_int CL_API_CALL set_shared_virtual(cl_kernel kernel, cl_uint number, const void *pointer)
{
    cl_int status = next->clSetKernelArgSVMPointer(kernel, number, pointer);
    if (status == CL_SUCCESS)
        kernel_pointer_is(kernel, number, pointer);
    return status;
}

static bool flag_of(const void *value, size_t size)
{
    cl_bool flag = CL_FALSE;
    if (value != NULL && size == sizeof flag)
        memcpy(&flag, value, size);
    return flag != CL_FALSE;
}

/* Notes what a kernel reaches beside its arguments. With the lock held. */
static void reaches(struct given_kernel *own, cl_kernel_exec_info what, size_t size, const void *value)
{
    if (what == CL_KERNEL_EXEC_INFO_SVM_PTRS || what == CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL) {
        void *pointers = copy_of(value, size);
        if (pointers == NULL && size > 0)
            return;
        free((void *)own->reachable);
        own->reachable = pointers;
        own->reachable_count = size / sizeof *own->reachable;
    } else if (what == CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL)
        own->reaches_host = flag_of(value, size);
    else if (what == CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL)
        own->reaches_device = flag_of(value, size);
    else if (what == CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL)
        own->reaches_shared = flag_of(value, size);
}

static cl_int CL_API_CALL set_execution(cl_kernel kernel, cl_kernel_exec_info what, size_t size, const void *value)
{
    cl_int status = next->clSetKernelExecInfo(kernel, what, size, value);
    if (status != CL_SUCCESS || records_none(&kernels))
        return status;
    lock_take(LOCK_RECORDER);
    struct known_kernel *known = find(kernel);
    if (known != NULL)
        reaches(&known->own, what, size, value);
    lock_give(LOCK_RECORDER);
    return status;
}

struct given_kernel *given_for_launch(cl_kernel kernel)
{
    if (next == NULL || records_none(&kernels))
        return NULL;
    struct given_kernel *copy = NULL;
    lock_take(LOCK_RECORDER);
    const struct known_kernel *known = find(kernel);
    bool if_slowest = false;
    uint64_t number = known != NULL ? chosen_launch(known->own.name, &if_slowest) : 0;
    if (number != 0 && (copy = malloc(sizeof *copy)) != NULL) {
        *copy = known->own;
        copy->number = number;
        copy->if_slowest = if_slowest;
        if (!own_lists(copy, &known->own)) {
            free(copy);
            copy = NULL;
        }
    }
    lock_give(LOCK_RECORDER);
    return copy;
}

void kernels_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    next = behind;
    forks_watch(after_fork);
    dispatch->clSetKernelArg = set_argument;
    dispatch->clSetKernelArgSVMPointer = set_shared_virtual;
    dispatch->clSetKernelExecInfo = set_execution;
}
