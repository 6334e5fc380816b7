/* Writes the order of an application's events, as the application could see it, to the file that EVENTS names: the application's side
 * of whatever else is loaded. Lines are
 *
 *     E QUEUE NUMBER THREAD ORDERED FUNCTION KERNEL WAITS    a command was enqueued; WAITS are QUEUE.NUMBER, or u.NUMBER, or "-"
 *     C QUEUE NUMBER STATUS START END                        its callback came; the times are 0 without profiling
 *     U NUMBER, S NUMBER STATUS                              a user event was created, and set
 *
 * Events are held to the end, so that no handle is used twice. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUEUES = 4096, EVENTS = 1 << 20 };

struct seen_event {
    cl_event event;
    unsigned queue, number; /* queue 0: a user event */
};

static struct _cl_icd_dispatch below, table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_command_queue queues[QUEUES];
static unsigned queue_count, commands[QUEUES], user_events, threads;
static struct seen_event events_seen[EVENTS];
static _Thread_local unsigned thread;

static void write_line(const char *format, ...)
{
    char line[4096];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    int file = open(getenv("EVENTS"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (length <= 0 || length >= (int)sizeof line || write(file, line, (size_t)length) != length)
        abort();
    close(file);
}

static struct seen_event *place_of(cl_event event)
{
    size_t place = ((uintptr_t)event >> 4) * 2654435761u % EVENTS;
    while (events_seen[place].event != NULL && events_seen[place].event != event)
        place = (place + 1) % EVENTS;
    return &events_seen[place];
}

/* Queues count from 1, by their first command: one that is destroyed may give its handle to another, which then goes on in its place. */
static unsigned number_of(cl_command_queue queue)
{
    unsigned number = 0;
    while (number < queue_count && queues[number] != queue)
        ++number;
    if (number == queue_count && queue_count + 1 < QUEUES)
        queues[queue_count++] = queue;
    return number + 1;
}

static void CL_CALLBACK ended(cl_event event, cl_int status, void *data)
{
    const struct seen_event *seen = data;
    cl_ulong start = 0, end = 0;
    if (below.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) != CL_SUCCESS ||
        below.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) != CL_SUCCESS)
        start = end = 0;
    pthread_mutex_lock(&lock);
    write_line("C %u %u %d %llu %llu\n", seen->queue, seen->number, status, (unsigned long long)start, (unsigned long long)end);
    pthread_mutex_unlock(&lock);
}

static void enqueued(cl_int status, cl_command_queue queue, const char *function, cl_kernel kernel, cl_uint count,
                     const cl_event *waits, cl_event *event, cl_event own)
{
    char name[256] = "-", list[2048] = "-";
    cl_command_queue_properties properties = 0;
    if (status != CL_SUCCESS || *event == NULL)
        return;
    if (kernel != NULL)
        below.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    below.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (own == NULL)
        below.clRetainEvent(*event);
    pthread_mutex_lock(&lock);
    thread = thread != 0 ? thread : ++threads;
    size_t length = 0;
    for (cl_uint index = 0; index < count && length + 32 < sizeof list; ++index) {
        const struct seen_event *seen = place_of(waits[index]);
        char of[16] = "u";
        if (seen->queue != 0)
            snprintf(of, sizeof of, "%u", seen->queue);
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s.%u", index > 0 ? "," : "", of, seen->number);
    }
    unsigned number = number_of(queue);
    struct seen_event *seen = place_of(*event);
    *seen = (struct seen_event){*event, number, ++commands[number - 1]};
    write_line("E %u %u %u %d %s %s %s\n", number, seen->number, thread, (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0,
               function, name, list);
    pthread_mutex_unlock(&lock);
    below.clSetEventCallback(*event, CL_COMPLETE, ended, seen);
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *error)
{
    cl_event event = below.clCreateUserEvent(context, error);
    if (event != NULL) {
        below.clRetainEvent(event);
        pthread_mutex_lock(&lock);
        *place_of(event) = (struct seen_event){event, 0, ++user_events};
        write_line("U %u\n", user_events);
        pthread_mutex_unlock(&lock);
    }
    return event;
}

static cl_int CL_API_CALL set_user_event(cl_event event, cl_int status)
{
    pthread_mutex_lock(&lock);
    write_line("S %u %d\n", place_of(event)->number, status);
    pthread_mutex_unlock(&lock);
    return below.clSetUserEventStatus(event, status);
}

#define ENQUEUES(name, kernel_of, arguments, ...)                                                                           \
    static cl_int CL_API_CALL own_##name(cl_command_queue queue, __VA_ARGS__ cl_uint count, const cl_event *list,           \
                                         cl_event *event)                                                                   \
    {                                                                                                                       \
        cl_event own = NULL, *place = event != NULL ? event : &own;                                                         \
        cl_int status = below.clEnqueue##name(queue, UNPACKED arguments count, list, place);                                \
        enqueued(status, queue, #name, kernel_of, count, list, place, own);                                                 \
        return status;                                                                                                      \
    }
#define MAPS(name, arguments, ...)                                                                                          \
    static void *CL_API_CALL own_##name(cl_command_queue queue, __VA_ARGS__ cl_uint count, const cl_event *list,            \
                                        cl_event *event, cl_int *error)                                                     \
    {                                                                                                                       \
        cl_event own = NULL, *place = event != NULL ? event : &own;                                                         \
        cl_int status = CL_SUCCESS;                                                                                         \
        void *address = below.clEnqueue##name(queue, UNPACKED arguments count, list, place, &status);                       \
        enqueued(status, queue, #name, NULL, count, list, place, own);                                                      \
        if (error != NULL)                                                                                                  \
            *error = status;                                                                                                \
        return address;                                                                                                     \
    }
#define UNPACKED(...) __VA_ARGS__
#define AT const size_t *
ENQUEUES(NDRangeKernel, kernel, (kernel, a, b, c, d, ), cl_kernel kernel, cl_uint a, AT b, AT c, AT d, )
ENQUEUES(Task, kernel, (kernel, ), cl_kernel kernel, )
ENQUEUES(ReadBuffer, NULL, (a, b, c, d, e, ), cl_mem a, cl_bool b, size_t c, size_t d, void *e, )
ENQUEUES(WriteBuffer, NULL, (a, b, c, d, e, ), cl_mem a, cl_bool b, size_t c, size_t d, const void *e, )
ENQUEUES(ReadBufferRect, NULL, (a, b, c, d, e, f, g, h, i, j, ), cl_mem a, cl_bool b, AT c, AT d, AT e, size_t f, size_t g, size_t h,
         size_t i, void *j, )
ENQUEUES(WriteBufferRect, NULL, (a, b, c, d, e, f, g, h, i, j, ), cl_mem a, cl_bool b, AT c, AT d, AT e, size_t f, size_t g, size_t h,
         size_t i, const void *j, )
ENQUEUES(FillBuffer, NULL, (a, b, c, d, e, ), cl_mem a, const void *b, size_t c, size_t d, size_t e, )
ENQUEUES(CopyBuffer, NULL, (a, b, c, d, e, ), cl_mem a, cl_mem b, size_t c, size_t d, size_t e, )
ENQUEUES(ReadImage, NULL, (a, b, c, d, e, f, g, ), cl_mem a, cl_bool b, AT c, AT d, size_t e, size_t f, void *g, )
ENQUEUES(WriteImage, NULL, (a, b, c, d, e, f, g, ), cl_mem a, cl_bool b, AT c, AT d, size_t e, size_t f, const void *g, )
ENQUEUES(CopyImage, NULL, (a, b, c, d, e, ), cl_mem a, cl_mem b, AT c, AT d, AT e, )
ENQUEUES(CopyImageToBuffer, NULL, (a, b, c, d, e, ), cl_mem a, cl_mem b, AT c, AT d, size_t e, )
ENQUEUES(CopyBufferToImage, NULL, (a, b, c, d, e, ), cl_mem a, cl_mem b, size_t c, AT d, AT e, )
ENQUEUES(UnmapMemObject, NULL, (a, b, ), cl_mem a, void *b, )
ENQUEUES(MarkerWithWaitList, NULL, (), )
ENQUEUES(BarrierWithWaitList, NULL, (), )
ENQUEUES(SVMMemcpy, NULL, (a, b, c, d, ), cl_bool a, void *b, const void *c, size_t d, )
ENQUEUES(SVMMap, NULL, (a, b, c, d, ), cl_bool a, cl_map_flags b, void *c, size_t d, )
ENQUEUES(SVMUnmap, NULL, (a, ), void *a, )
MAPS(MapBuffer, (a, b, c, d, e, ), cl_mem a, cl_bool b, cl_map_flags c, size_t d, size_t e, )
MAPS(MapImage, (a, b, c, d, e, f, g, ), cl_mem a, cl_bool b, cl_map_flags c, AT d, AT e, size_t *f, size_t *g, )

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *value, size_t *size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION || (value != NULL && room < sizeof version))
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, &version, sizeof version);
    if (size_ret != NULL)
        *size_ret = sizeof version;
    return CL_SUCCESS;
}

#define OWN(name) table.clEnqueue##name = own_##name

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const struct _cl_icd_dispatch *target, cl_uint *entries_ret,
                                            const struct _cl_icd_dispatch **layer)
{
    memcpy(&below, target, entries * sizeof(void *) < sizeof below ? entries * sizeof(void *) : sizeof below);
    table = below;
    table.clCreateUserEvent = create_user_event;
    table.clSetUserEventStatus = set_user_event;
    OWN(NDRangeKernel), OWN(Task), OWN(ReadBuffer), OWN(WriteBuffer), OWN(ReadBufferRect), OWN(WriteBufferRect), OWN(FillBuffer);
    OWN(CopyBuffer), OWN(ReadImage), OWN(WriteImage), OWN(CopyImage), OWN(CopyImageToBuffer), OWN(CopyBufferToImage);
    OWN(UnmapMemObject), OWN(MarkerWithWaitList), OWN(BarrierWithWaitList), OWN(SVMMemcpy), OWN(SVMMap), OWN(SVMUnmap);
    OWN(MapBuffer), OWN(MapImage);
    *entries_ret = sizeof table / sizeof(void *);
    *layer = &table;
    return CL_SUCCESS;
}
