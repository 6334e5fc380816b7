/* Programs of the application that something else stands in for: the driver makes them from that. */
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"
#include "recording/counters.h"
#include "recording/replacements.h"

#include <stdlib.h>
#include <string.h>

static const cl_icd_dispatch *next; /* NULL: nothing is replaced */

static cl_program from_binary(cl_context context, const struct view *binary, cl_int *error)
{
    cl_device_id devices[64];
    size_t lengths[64], size = 0;
    const unsigned char *binaries[64];
    *error = below->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size);
    if (*error != CL_SUCCESS)
        return NULL;
    cl_uint count = (cl_uint)(size / sizeof *devices);
    for (cl_uint index = 0; index < count; ++index) {
        lengths[index] = binary->size;
        binaries[index] = binary->bytes;
    }
    return next->clCreateProgramWithBinary(context, count, devices, lengths, binaries, NULL, error);
}

/* Makes the program from what stands in for it; NULL if nothing does, or the driver does not take that: then the application gets
 * its own. */
static cl_program replaced(cl_context context, enum made_from form, const struct view *bytes, cl_int *error_ret)
{
    const struct replacement *replacement = bytes->bytes != NULL ? replacement_for(form, bytes) : NULL;
    if (replacement == NULL)
        return NULL;
    cl_int error = CL_INVALID_OPERATION;
    cl_program program = NULL;
    const char *text = (const char *)replacement->bytes.bytes;
    if (replacement->form == FROM_SOURCE)
        program = next->clCreateProgramWithSource(context, 1, &text, &replacement->bytes.size, &error);
    else if (replacement->form == FROM_IL && next->clCreateProgramWithIL != NULL)
        program = next->clCreateProgramWithIL(context, replacement->bytes.bytes, replacement->bytes.size, &error);
    else if (replacement->form == FROM_BINARY)
        program = from_binary(context, &replacement->bytes, &error);
    struct program_identity identity = {0, 0};
    if (program != NULL) {
        identity = counters_identity(program);
        own_answers_made_from(program, form, bytes);
        if (error_ret != NULL)
            *error_ret = CL_SUCCESS;
    }
    replacement_note(replacement, bytes, identity, program != NULL ? 0 : error, NULL);
    return program;
}

/* The application's strings as one. */
static char *joined(cl_uint count, const char **strings, const size_t *lengths, size_t *size)
{
    *size = 0;
    for (cl_uint index = 0; strings != NULL && index < count; ++index) {
        if (strings[index] == NULL)
            return NULL;
        *size += lengths != NULL && lengths[index] > 0 ? lengths[index] : strlen(strings[index]);
    }
    char *text = strings != NULL ? malloc(*size + 1) : NULL, *end = text;
    for (cl_uint index = 0; text != NULL && index < count; ++index) {
        size_t length = lengths != NULL && lengths[index] > 0 ? lengths[index] : strlen(strings[index]);
        memcpy(end, strings[index], length);
        end += length;
    }
    return text;
}

static cl_program CL_API_CALL create_with_source(cl_context context, cl_uint count, const char **strings,
                                                 const size_t *lengths, cl_int *error_ret)
{
    struct view source;
    FREED char *text = joined(count, strings, lengths, &source.size);
    source.bytes = (const unsigned char *)text;
    cl_program program = replaced(context, FROM_SOURCE, &source, error_ret);
    return program != NULL ? program : next->clCreateProgramWithSource(context, count, strings, lengths, error_ret);
}

static cl_program CL_API_CALL create_with_binary(cl_context context, cl_uint count, const cl_device_id *devices,
                                                 const size_t *lengths, const unsigned char **binaries,
                                                 cl_int *binary_status, cl_int *error_ret)
{
    cl_program program = NULL;
    for (cl_uint index = 0; program == NULL && lengths != NULL && binaries != NULL && index < count; ++index)
        program = replaced(context, FROM_BINARY, &(struct view){binaries[index], lengths[index]}, error_ret);
    for (cl_uint index = 0; program != NULL && binary_status != NULL && index < count; ++index)
        binary_status[index] = CL_SUCCESS;
    return program != NULL ? program
                           : next->clCreateProgramWithBinary(context, count, devices, lengths, binaries, binary_status,
                                                             error_ret);
}

/* Makes a program for the interpreter; NULL if that is not the context's. */
static cl_program translated(cl_context context, const struct view *module, cl_int *error_ret)
{
    if (!modules_are_translated() || !context_is_interpreted(context))
        return NULL;
    struct view bitcode;
    FREED char *bytes = observed_module(module->bytes, module->size, &bitcode.size);
    bitcode.bytes = (const unsigned char *)bytes;
    cl_int error = CL_INVALID_VALUE;
    cl_program program = bytes != NULL ? from_binary(context, &bitcode, &error) : NULL;
    if (program != NULL)
        own_answers_made_from(program, FROM_IL, module);
    if (error_ret != NULL)
        *error_ret = program != NULL ? CL_SUCCESS : error;
    return program;
}

static cl_program CL_API_CALL create_with_il(cl_context context, const void *il, size_t length, cl_int *error_ret)
{
    cl_int error = CL_SUCCESS;
    cl_program program = replaced_program_from_il(context, il, length, &error);
    if (error_ret != NULL)
        *error_ret = error;
    return program != NULL || error != CL_SUCCESS ? program : next->clCreateProgramWithIL(context, il, length, error_ret);
}

cl_program replaced_program_from_il(cl_context context, const void *il, size_t length, cl_int *error_ret)
{
    const struct view module = {il, length};
    cl_program program = next != NULL ? replaced(context, FROM_IL, &module, error_ret) : NULL;
    return program != NULL || next == NULL ? program : translated(context, &module, error_ret);
}

void replaced_programs_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    replacements_open();
    if (!replacements_are_there() && !modules_are_translated())
        return;
    next = behind;
    if (replacements_are_there()) {
        dispatch->clCreateProgramWithSource = create_with_source;
        dispatch->clCreateProgramWithBinary = create_with_binary;
    }
    if (behind->clCreateProgramWithIL != NULL)
        dispatch->clCreateProgramWithIL = create_with_il;
}
