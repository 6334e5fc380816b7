/* A driver that computes nothing, whose tables of functions are of every kind that drivers have:
 *
 *   RELEASE=10, 12 or 30     the release of OpenCL that it has; its table ends there, and what stands behind is its own
 *   LOCKED                   the table is in memory that is only to be read
 *   PLATFORMS=N              so many platforms share it
 *   BY_TYPE, BY_OBJECT       each type of object, or each object, has a table of its own; one of an object that was released is made
 *                            anew in the same memory
 *   MANAGED=1, 2             it is one of cl_khr_icd 2.0, and its table has the marks of that and nothing else, or all functions, too
 *
 * It writes a word for each build and launch into the file COUNTED. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl_icd.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PLATFORMS
#define PLATFORMS 1
#endif
#ifndef SUFFIX
#define SUFFIX "TEST"
#endif
enum type { PLATFORM, DEVICE, CONTEXT, QUEUE, PROGRAM, KERNEL, TYPES };

struct object {
    const void *table;
    void *managed; /* cl_khr_icd 2.0: what the loader set */
    enum type type;
    int number;
    struct object *of;
    char *text;
};

static struct object platforms[PLATFORMS], devices[PLATFORMS];

static void count(const char *word)
{
    const char *path = getenv("COUNTED");
    int file = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (file >= 0 && write(file, word, strlen(word)) < 0)
        abort();
    if (file >= 0)
        close(file);
}

static const void *table_for(enum type type);
static void table_free(enum type type, const void *table);

static struct object *make(enum type type, void *of, const char *text)
{
    struct object *object = calloc(1, sizeof *object);
    *object = (struct object){table_for(type), of != NULL ? ((struct object *)of)->managed : NULL, type, 0, of, NULL};
    object->text = text != NULL ? strdup(text) : NULL;
    return object;
}

#include "table_answers.h"

static cl_int CL_API_CALL device_ids(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *list, cl_uint *number)
{
    (void)type;
    int place = ((struct object *)(void *)platform)->number;
    devices[place].managed = platforms[place].managed;
    if (list != NULL && room > 0)
        list[0] = (cl_device_id)(void *)&devices[place];
    if (number != NULL)
        *number = 1;
    return CL_SUCCESS;
}

typedef void(CL_CALLBACK *context_notification)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *notification)(cl_program, void *);

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint number, const cl_device_id *list,
                                             context_notification notify, void *data, cl_int *error)
{
    (void)properties, (void)number, (void)notify, (void)data;
    *error = CL_SUCCESS;
    return (cl_context)(void *)make(CONTEXT, list[0], NULL);
}

/* Without properties it is of the first platform. */
static cl_context CL_API_CALL create_context_from_type(const cl_context_properties *properties, cl_device_type type,
                                                       context_notification notify, void *data, cl_int *error)
{
    (void)type, (void)notify, (void)data;
    int number = properties != NULL ? ((struct object *)properties[1])->number : 0;
    devices[number].managed = platforms[number].managed;
    *error = CL_SUCCESS;
    return (cl_context)(void *)make(CONTEXT, &devices[number], NULL);
}

static cl_int CL_API_CALL create_sub_devices(cl_device_id device, const cl_device_partition_property *properties, cl_uint room,
                                             cl_device_id *list, cl_uint *number)
{
    (void)properties;
    if (list != NULL && room > 0)
        list[0] = (cl_device_id)(void *)make(DEVICE, device, NULL);
    if (number != NULL)
        *number = 1;
    return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                                 cl_int *error)
{
    (void)device, (void)properties;
    *error = CL_SUCCESS;
    return (cl_command_queue)(void *)make(QUEUE, context, NULL);
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint number, const char **strings, const size_t *lengths,
                                             cl_int *error)
{
    (void)number, (void)lengths;
    *error = CL_SUCCESS;
    return (cl_program)(void *)make(PROGRAM, context, strings[0]);
}

static cl_int CL_API_CALL build(cl_program program, cl_uint number, const cl_device_id *list, const char *options, notification notify,
                                void *data)
{
    (void)program, (void)number, (void)list, (void)options, (void)notify, (void)data;
    count("build\n");
    return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *error)
{
    *error = CL_SUCCESS;
    return (cl_kernel)(void *)make(KERNEL, program, name);
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint room, cl_kernel *list, cl_uint *number)
{
    if (list != NULL && room > 0)
        list[0] = (cl_kernel)(void *)make(KERNEL, program, "one");
    if (number != NULL)
        *number = 1;
    return CL_SUCCESS;
}

/* A kernel that is cloned from it is one that the driver counts. */
static cl_kernel CL_API_CALL clone_kernel(cl_kernel kernel, cl_int *error)
{
    *error = CL_SUCCESS;
    return (cl_kernel)(void *)make(KERNEL, ((struct object *)(void *)kernel)->of, "one");
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    struct object *object = (struct object *)(void *)program;
    table_free(object->type, object->table);
    free(object->text);
    free(object);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint events, const cl_event *list, cl_event *event)
{
    (void)queue, (void)kernel, (void)dimensions, (void)offset, (void)global, (void)local, (void)events, (void)list, (void)event;
    count("launch\n");
    return CL_SUCCESS;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name);

static void *CL_API_CALL function_for_platform(cl_platform_id platform, const char *name)
{
    (void)platform;
    return clGetExtensionFunctionAddress(name);
}

#define FUNCTIONS                                                                                                     \
    .clGetPlatformInfo = platform_info, .clGetDeviceIDs = device_ids, .clGetDeviceInfo = device_info,                 \
    .clCreateContext = create_context, .clGetContextInfo = context_info, .clCreateCommandQueue = create_queue,        \
    .clGetCommandQueueInfo = queue_info, .clCreateProgramWithSource = create_program, .clBuildProgram = build,        \
    .clGetProgramInfo = program_info, .clGetProgramBuildInfo = build_info, .clCreateKernel = create_kernel,           \
    .clGetKernelInfo = kernel_info, .clEnqueueNDRangeKernel = launch,                                                 \
    .clCreateContextFromType = create_context_from_type, .clCreateKernelsInProgram = create_kernels,                  \
    .clReleaseProgram = release_program

static const cl_icd_dispatch ALL = {FUNCTIONS, .clCreateSubDevices = create_sub_devices, .clCloneKernel = clone_kernel,
                                    .clGetExtensionFunctionAddressForPlatform = function_for_platform};

#if RELEASE >= 30
enum { SIZE = sizeof(cl_icd_dispatch) };
#elif RELEASE >= 12
enum { SIZE = offsetof(cl_icd_dispatch, clGetExtensionFunctionAddressForPlatform) + sizeof(void *) };
#else
enum { SIZE = offsetof(cl_icd_dispatch, clGetExtensionFunctionAddress) + sizeof(void *) };
#endif
enum { GUARD = 256 };
static const char MARK[] = "OPENCL31"; /* as a number, its bytes the other way round */

/* A table, and behind it functions that are none of its, which stay as they are. */
struct room {
    char table[SIZE];
    void *behind[GUARD];
};

static struct room *rooms[TYPES], *released;

static void table_free(enum type type, const void *table)
{
#ifdef BY_OBJECT
    released = (struct room *)(uintptr_t)table;
    if (rooms[type] == released)
        rooms[type] = NULL;
#endif
    (void)type, (void)table;
}

static struct room *new_room(void)
{
    struct room *room = released != NULL ? released : aligned_alloc(65536, (sizeof *room + 65535) / 65536 * 65536);
    released = NULL;
    memcpy(room->table, &ALL, SIZE);
    for (int index = 0; index < GUARD; ++index)
        room->behind[index] = (void *)launch;
#ifdef MANAGED
    if (MANAGED == 1)
        memset(room->table, 0, SIZE);
    uint64_t mark = 0;
    for (int index = 0; index < 8; ++index)
        mark = mark << 8 | (uint8_t)MARK[index];
    memcpy(room->table + offsetof(cl_icd_dispatch, clGetPlatformIDs), &mark, sizeof mark);
    memcpy(room->table + offsetof(cl_icd_dispatch, clUnloadCompiler), &mark, sizeof mark);
#else
    (void)MARK;
#endif
    return room;
}

#ifdef LOCKED
#include <sys/mman.h>
#endif

static const void *table_for(enum type type)
{
#ifdef BY_OBJECT
    return rooms[type] = new_room();
#endif
#ifndef BY_TYPE
    type = PLATFORM;
#endif
    if (rooms[type] == NULL) {
        rooms[type] = new_room();
#ifdef LOCKED
        mprotect(rooms[type], (sizeof(struct room) + 4095) / 4096 * 4096, PROT_READ);
#endif
    }
    return rooms[type];
}

/* What stands behind the tables, and whether they can be written: to compare. */
static void tell(void)
{
    int changed = 0;
    for (int type = 0; type < TYPES; ++type)
        for (int index = 0; rooms[type] != NULL && index < GUARD; ++index)
            changed += rooms[type]->behind[index] != (void *)launch;
    int pipes[2];
    if (pipe(pipes) != 0 || write(pipes[1], rooms[PLATFORM]->table, 1) != 1)
        abort();
    printf("%d changed, %s\n", changed, read(pipes[0], rooms[PLATFORM]->table, 1) == 1 ? "writable" : "locked");
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *list, cl_uint *number)
{
    for (int index = 0; index < PLATFORMS; ++index) {
        if (platforms[index].table == NULL) {
            platforms[index] = (struct object){table_for(PLATFORM), NULL, PLATFORM, index, NULL, NULL};
            devices[index] = (struct object){table_for(DEVICE), NULL, DEVICE, index, NULL, NULL};
        }
        if (list != NULL && (cl_uint)index < room)
            list[index] = (cl_platform_id)(void *)&platforms[index];
    }
    if (number != NULL)
        *number = PLATFORMS;
    return CL_SUCCESS;
}

#ifdef MANAGED
static void *CL_API_CALL named(cl_platform_id platform, const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } NAMED[] = {
        {"clGetPlatformInfo", platform_info}, {"clGetDeviceIDs", device_ids}, {"clGetDeviceInfo", device_info},
        {"clCreateContext", create_context}, {"clGetContextInfo", context_info}, {"clCreateCommandQueue", create_queue},
        {"clGetCommandQueueInfo", queue_info}, {"clCreateProgramWithSource", create_program}, {"clBuildProgram", build},
        {"clGetProgramInfo", program_info}, {"clGetProgramBuildInfo", build_info}, {"clCreateKernel", create_kernel},
        {"clGetKernelInfo", kernel_info}, {"clEnqueueNDRangeKernel", launch},
        {"clCreateContextFromType", create_context_from_type}, {"clCreateSubDevices", create_sub_devices},
        {"clCreateKernelsInProgram", create_kernels}, {"clCloneKernel", clone_kernel}, {"clReleaseProgram", release_program},
    };
    (void)platform;
    for (size_t index = 0; index < sizeof NAMED / sizeof NAMED[0]; ++index)
        if (strcmp(name, NAMED[index].name) == 0)
            return NAMED[index].function;
    return NULL;
}

static cl_int CL_API_CALL set_managed(cl_platform_id platform, void *data)
{
    ((struct object *)(void *)platform)->managed = data;
    return CL_SUCCESS;
}
#endif

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
#ifdef MANAGED
    if (strcmp(name, "clIcdGetFunctionAddressForPlatformKHR") == 0)
        return (void *)named;
    if (strcmp(name, "clIcdSetPlatformDispatchDataKHR") == 0)
        return (void *)set_managed;
#endif
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        return (void *)get_platforms;
    return strcmp(name, "tell" SUFFIX) == 0 ? (void *)tell : NULL;
}
