/* What memory holds at a moment of a queue: commands read it, which follow one another and, as the launch does, what was enqueued
 * before. Nothing waits for them here. */
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/kept/parts.h"

#include <stdlib.h>

/* The command that comes next has been enqueued, with this event. */
static void follow(struct reading *reading, cl_event event)
{
    if (reading->last != NULL)
        below->clReleaseEvent(reading->last);
    reading->last = event;
}

/* What a command waits for: what it follows; the first one, what the launch waits for. */
struct waits {
    cl_uint count;
    const cl_event *events;
};

static struct waits waits_of(const struct reading *reading, const struct waits *of_launch)
{
    return reading->last != NULL ? (struct waits){1, &reading->last} : *of_launch;
}

/* The pixels of an image, as commands take them. */
static void region_of(const struct image_form *image, size_t region[3])
{
    bool is_row_array = image->object_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    region[0] = image->width;
    region[1] = is_row_array ? image->array_size : image->height > 0 ? image->height : 1;
    region[2] = image->object_type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? image->array_size : image->depth > 0 ? image->depth : 1;
}

static cl_int read_object(struct reading *reading, const struct reached *memory, cl_mem object, bool is_image, void *to,
                          const struct waits *of_launch)
{
    static const size_t ORIGIN[3] = {0, 0, 0};
    struct waits waits = waits_of(reading, of_launch);
    cl_event event = NULL;
    size_t region[3];
    region_of(&memory->row.image, region);
    cl_int status = is_image ? below->clEnqueueReadImage(reading->queue, object, CL_FALSE, ORIGIN, region, 0, 0, to, waits.count,
                                                         waits.events, &event)
                             : below->clEnqueueReadBuffer(reading->queue, object, CL_FALSE, 0, memory->row.size, to, waits.count,
                                                          waits.events, &event);
    if (status == CL_SUCCESS)
        follow(reading, event);
    return status;
}

/* Reads what the host may not: a copy of it that the device makes. */
static cl_int read_copy(struct reading *reading, const struct reached *memory, bool is_image, void *to, const struct waits *of_launch)
{
    static const size_t ORIGIN[3] = {0, 0, 0};
    struct waits waits = waits_of(reading, of_launch);
    cl_event event = NULL;
    cl_int status = CL_SUCCESS;
    size_t region[3];
    region_of(&memory->row.image, region);
    cl_mem copy = below->clCreateBuffer(reading->context, CL_MEM_READ_WRITE, memory->row.size, NULL, &status);
    if (copy == NULL)
        return status != CL_SUCCESS ? status : CL_OUT_OF_RESOURCES;
    status = is_image ? below->clEnqueueCopyImageToBuffer(reading->queue, memory->object, copy, ORIGIN, region, 0, waits.count,
                                                          waits.events, &event)
                      : below->clEnqueueCopyBuffer(reading->queue, memory->object, copy, 0, 0, memory->row.size, waits.count,
                                                   waits.events, &event);
    if (status == CL_SUCCESS) {
        follow(reading, event);
        status = read_object(reading, memory, copy, false, to, of_launch);
    }
    below->clReleaseMemObject(copy); /* the commands keep it */
    return status;
}

static cl_int read_address(struct reading *reading, const struct reached *memory, void *to, const struct waits *of_launch)
{
    struct waits waits = waits_of(reading, of_launch);
    cl_event event = NULL;
    cl_int status = memory->row.kind == MEMORY_SVM
                        ? below->clEnqueueSVMMemcpy(reading->queue, CL_FALSE, to, memory->address, memory->row.size, waits.count,
                                                    waits.events, &event)
                        : unified_copy(reading->queue, to, memory->address, memory->row.size, waits.count, waits.events, &event);
    if (status == CL_SUCCESS)
        follow(reading, event);
    return status;
}

bool contents_read(struct reading *reading, struct reached *memory, unsigned char **contents, cl_int *refused, cl_uint count,
                   const cl_event *events)
{
    const struct waits of_launch = {count, events};
    bool is_image = memory->row.kind == MEMORY_IMAGE;
    bool is_hidden = (memory->row.flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY)) != 0 && memory->object != NULL;
    cl_event before = reading->last;
    unsigned char *room = memory->row.size > 0 ? malloc(memory->row.size) : NULL;
    if (room == NULL || memory->row.image.mip_levels > 1 || memory->row.image.samples > 1)
        *refused = room == NULL ? CL_OUT_OF_HOST_MEMORY : CL_IMAGE_FORMAT_NOT_SUPPORTED;
    else if (memory->object == NULL)
        *refused = read_address(reading, memory, room, &of_launch);
    else if (is_hidden)
        *refused = read_copy(reading, memory, is_image, room, &of_launch);
    else
        *refused = read_object(reading, memory, memory->object, is_image, room, &of_launch);
    if (*refused == CL_SUCCESS)
        *contents = room;
    else
        free(room);
    return reading->last != before;
}

bool is_in_order(cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;
    below->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    return (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
}
