/* What programs answer where a capture changed what the driver was given: what the application gave, as without the capture. */
#include "base/locks.h"
#include "base/owned.h"
#include "base/records.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"

#include <stdlib.h>
#include <string.h>

/* A program that something else stands in for: what the application made it from, with a zero byte behind its end. */
struct own_program {
    struct record record;
    enum made_from form;
    char *bytes;
    size_t size;
};

static struct records programs; /* LOCK_RECORDER */
static const cl_icd_dispatch *next;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER))
        programs = (struct records){0};
}

static struct own_program *find(cl_program program)
{
    return (struct own_program *)(void *)records_find(&programs, program);
}

void own_answers_made_from(cl_program program, enum made_from form, const struct view *bytes)
{
    FREED char *copy = calloc(1, bytes->size + 1);
    if (copy == NULL)
        return;
    memcpy(copy, bytes->bytes, bytes->size);
    lock_take(LOCK_RECORDER);
    struct own_program *own = find(program);
    if (own == NULL && (own = calloc(1, sizeof *own)) != NULL) {
        own->record.handle = program;
        records_add(&programs, &own->record);
    }
    if (own != NULL) {
        free(own->bytes);
        own->bytes = GIVE(copy);
        own->size = bytes->size;
        own->form = form;
    }
    lock_give(LOCK_RECORDER);
}

void own_answers_forget(cl_program program)
{
    if (records_none(&programs))
        return;
    lock_take(LOCK_RECORDER);
    struct own_program *own = (struct own_program *)(void *)records_remove(&programs, program);
    lock_give(LOCK_RECORDER);
    if (own != NULL)
        free(own->bytes);
    free(own);
}

static cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id device, cl_program_build_info name, size_t room,
                                         void *value, size_t *size_ret)
{
    size_t size = 0;
    if (name != CL_PROGRAM_BUILD_OPTIONS || next->clGetProgramBuildInfo(program, device, name, 0, NULL, &size) != CL_SUCCESS)
        return next->clGetProgramBuildInfo(program, device, name, room, value, size_ret);
    FREED char *options = calloc(1, size + 1);
    if (options == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    cl_int status = next->clGetProgramBuildInfo(program, device, name, size, options, NULL);
    if (status != CL_SUCCESS)
        return status;
    added_take_out(options);
    return info_answer(options, strlen(options) + 1, room, value, size_ret);
}

/* Copies what the application made the program from; false if the driver has that. */
static bool own_bytes(cl_program program, cl_program_info name, char **bytes, size_t *size)
{
    bool is_source = name == CL_PROGRAM_SOURCE;
    lock_take(LOCK_RECORDER);
    const struct own_program *own = find(program);
    bool replaced = own != NULL;
    *size = replaced && own->form == (is_source ? FROM_SOURCE : FROM_IL) ? own->size + is_source : 0;
    *bytes = *size > 0 ? malloc(*size) : NULL;
    if (*bytes != NULL)
        memcpy(*bytes, own->bytes, *size);
    lock_give(LOCK_RECORDER);
    return replaced;
}

char *own_answers_il(cl_program program, size_t *size)
{
    char *bytes = NULL;
    own_bytes(program, CL_PROGRAM_IL, &bytes, size);
    return bytes;
}

static cl_int CL_API_CALL get_info(cl_program program, cl_program_info name, size_t room, void *value, size_t *size_ret)
{
    FREED char *bytes = NULL;
    size_t size = 0;
    if ((name != CL_PROGRAM_SOURCE && name != CL_PROGRAM_IL) || records_none(&programs) ||
        !own_bytes(program, name, &bytes, &size))
        return next->clGetProgramInfo(program, name, room, value, size_ret);
    if (size > 0 && bytes == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    return info_answer(bytes, size, room, value, size_ret);
}

void own_answers_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind, bool options_change)
{
    next = behind;
    forks_watch(after_fork);
    dispatch->clGetProgramInfo = get_info;
    if (options_change)
        dispatch->clGetProgramBuildInfo = get_build_info;
}
