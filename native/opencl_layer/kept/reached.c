/* The memory that a launch can reach: what its arguments name or point into, and what the application says it reaches beside. */
#include "opencl_layer/below.h"
#include "opencl_layer/kept/parts.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_INFO(object, what, value) (below->clGetMemObjectInfo(object, what, sizeof(value), &(value), NULL) == CL_SUCCESS)
#define IMAGE_INFO(object, what, value) (below->clGetImageInfo(object, what, sizeof(value), &(value), NULL) == CL_SUCCESS)

static uint64_t add_object(struct reached_list *list, cl_mem object);

/* Describes an image; false if the driver does not. */
static bool describe_image(struct reached_list *list, cl_mem object, cl_mem_object_type type, struct image_form *image)
{
    cl_image_format format = {0};
    size_t element = 0, width = 0, height = 0, depth = 0, array = 0, pitch = 0;
    cl_uint levels = 0, samples = 0;
    cl_mem buffer = NULL;
    if (!IMAGE_INFO(object, CL_IMAGE_FORMAT, format) || !IMAGE_INFO(object, CL_IMAGE_ELEMENT_SIZE, element) ||
        !IMAGE_INFO(object, CL_IMAGE_WIDTH, width) || !IMAGE_INFO(object, CL_IMAGE_HEIGHT, height) ||
        !IMAGE_INFO(object, CL_IMAGE_DEPTH, depth))
        return false;
    (void)IMAGE_INFO(object, CL_IMAGE_ARRAY_SIZE, array); /* of OpenCL 1.2, as those below: zero in older drivers */
    (void)IMAGE_INFO(object, CL_IMAGE_NUM_MIP_LEVELS, levels);
    (void)IMAGE_INFO(object, CL_IMAGE_NUM_SAMPLES, samples);
    (void)MEMORY_INFO(object, CL_MEM_ASSOCIATED_MEMOBJECT, buffer);
    *image = (struct image_form){
        format.image_channel_order, format.image_channel_data_type, type, width, height, depth, array, levels, samples, element, 0, 0,
    };
    image->buffer = buffer != NULL ? add_object(list, buffer) : 0;
    if (buffer != NULL && IMAGE_INFO(object, CL_IMAGE_ROW_PITCH, pitch))
        image->row_pitch = pitch;
    return true;
}

/* Adds a memory object that is no part of another, unless it is there; returns its number plus 1. */
static uint64_t add_object(struct reached_list *list, cl_mem object)
{
    uint64_t number = reached_number(list, object, NULL);
    cl_mem_object_type type = 0;
    cl_mem_flags flags = 0;
    size_t size = 0;
    if (number != 0)
        return number;
    if (!MEMORY_INFO(object, CL_MEM_TYPE, type) || !MEMORY_INFO(object, CL_MEM_FLAGS, flags) || !MEMORY_INFO(object, CL_MEM_SIZE, size))
        return 0;
    struct reached memory = {.object = object, .is_written = true}; /* applications have kernels write to read-only buffers */
    memory.row = (struct memory_row){.kind = MEMORY_BUFFER, .size = size, .flags = flags};
    if (type != CL_MEM_OBJECT_BUFFER) {
        memory.row.kind = MEMORY_IMAGE;
        if (type == CL_MEM_OBJECT_PIPE || !describe_image(list, object, type, &memory.row.image)) {
            list->why = "it has an argument that is neither a buffer nor an image";
            return 0;
        }
        memory.row.size = image_form_size(&memory.row.image);
        memory.is_written = (flags & CL_MEM_READ_ONLY) == 0;
    }
    return reached_add(list, &memory);
}

/* Describes an argument that is a memory object: a part of a buffer is one of the whole. */
static void describe_object(struct reached_list *list, struct argument_row *row, cl_mem object)
{
    cl_mem whole = NULL;
    cl_mem_object_type type = 0;
    size_t offset = 0, size = 0;
    cl_mem_flags flags = 0;
    row->kind = ROW_MEMORY;
    if (MEMORY_INFO(object, CL_MEM_TYPE, type) && type == CL_MEM_OBJECT_BUFFER &&
        MEMORY_INFO(object, CL_MEM_ASSOCIATED_MEMOBJECT, whole) && whole != NULL && MEMORY_INFO(object, CL_MEM_OFFSET, offset) &&
        MEMORY_INFO(object, CL_MEM_SIZE, size) && MEMORY_INFO(object, CL_MEM_FLAGS, flags)) {
        *row = (struct argument_row){.kind = ROW_MEMORY, .offset = offset, .size = size, .flags = flags};
        object = whole;
    }
    row->memory = add_object(list, object);
}

static void describe_sampler(struct argument_row *row, cl_sampler sampler)
{
    cl_bool normalized = CL_FALSE;
    cl_addressing_mode addressing = 0;
    cl_filter_mode filter = 0;
    below->clGetSamplerInfo(sampler, CL_SAMPLER_NORMALIZED_COORDS, sizeof normalized, &normalized, NULL);
    below->clGetSamplerInfo(sampler, CL_SAMPLER_ADDRESSING_MODE, sizeof addressing, &addressing, NULL);
    below->clGetSamplerInfo(sampler, CL_SAMPLER_FILTER_MODE, sizeof filter, &filter, NULL);
    *row = (struct argument_row){.kind = ROW_SAMPLER, .sampler = {normalized, addressing, filter}};
}

/* Tells whether an argument without a value is a null pointer, and no local memory. */
static bool is_null_pointer(cl_kernel kernel, size_t number, size_t size)
{
    cl_kernel_arg_address_qualifier where = CL_KERNEL_ARG_ADDRESS_LOCAL;
    if (size != sizeof(cl_mem))
        return false;
    below->clGetKernelArgInfo(kernel, (cl_uint)number, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof where, &where, NULL);
    return where != CL_KERNEL_ARG_ADDRESS_LOCAL;
}

static void describe(struct reached_list *list, cl_kernel kernel, size_t number, const struct argument *argument)
{
    struct argument_row *row = &list->arguments[number];
    void *handle = NULL;
    *row = (struct argument_row){.kind = ROW_VALUE, .size = argument->size};
    if (argument->kind == ARGUMENT_UNSET) {
        list->why = "an argument of it was not seen to be set";
    } else if (argument->kind == ARGUMENT_POINTER) {
        *row = (struct argument_row){0};
        reached_pointer(list, row, argument->pointer);
    } else if (argument->kind == ARGUMENT_LOCAL) {
        row->kind = is_null_pointer(kernel, number, argument->size) ? ROW_NULL : ROW_LOCAL;
    } else if (argument->size == sizeof handle) {
        memcpy(&handle, argument->bytes, sizeof handle);
        if (is_memory_object(handle)) {
            *row = (struct argument_row){0};
            describe_object(list, row, handle);
        } else if (is_sampler(handle)) {
            describe_sampler(row, handle);
        }
    }
}

bool reached_find(struct reached_list *list, cl_context context, cl_kernel kernel, const struct given_kernel *given_kernel)
{
    if (!reached_begin(list, given_kernel->argument_count))
        return false;
    for (size_t index = 0; index < list->argument_count; ++index)
        describe(list, kernel, index, &given_kernel->arguments[index]);
    reached_beside(list, given_kernel, context);
    return true;
}
