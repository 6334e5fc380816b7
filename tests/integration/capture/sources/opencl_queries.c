/* Asks everything that OpenCL's queries answer, in an order that a number makes, and prints each answer: SEED COUNT.
 *
 * "source" prints what its first program is made from. Handles and addresses are printed as what they are of (the third program, the second buffer): two processes can be compared. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { PLATFORM, DEVICE, CONTEXT, QUEUE, MEMORY, SAMPLER, PROGRAM, KERNEL, EVENT, ADDRESS, KINDS };
static const char *const KIND_NAMES[] = {"platform", "device", "context", "queue", "memory", "sampler", "program", "kernel", "event", "address"};

enum { MOST = 64, ROOM = 1 << 20 };
static void *objects[KINDS][MOST];
static unsigned counts[KINDS];
static bool is_built[MOST]; /* of programs: for a device */
static uint64_t state;
static unsigned char values[ROOM];

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void *keep(enum kind kind, void *object)
{
    if (object != NULL && counts[kind] < MOST)
        objects[kind][counts[kind]++] = object;
    return object;
}

static void *any(enum kind kind)
{
    return counts[kind] > 0 && chance(50) > 0 ? objects[kind][chance(counts[kind])] : NULL;
}

static const char SOURCE[] =
    "kernel void add(global int *a, int n, local float *l) { a[get_global_id(0)] += n; l[get_local_id(0)] = n; }\n"
    "__attribute__((reqd_work_group_size(8, 1, 1))) kernel void fixed(global float4 *a, constant float *b)\n"
    "{ a[get_global_id(0)] *= b[1]; }\n";
static const char PART[] = "int seven(void) { return NUMBER; }\n";
static const char MAIN[] = "int seven(void);\nkernel void linked(global int *a) { a[get_global_id(0)] = seven(); }\n";
static const char WRONG[] = "kernel void wrong(global int *a) { a[0] = no_such_name; }\n";
static const char *const OPTIONS[] = {NULL, "", " ", "-DA=1", " -DA=2  -cl-mad-enable ", "-cl-kernel-arg-info", "-g", "-DB",
                                      "-gline-tables-only -DC", "-DX=-g -cl-fast-relaxed-math"};

static const char *some_options(void)
{
    return OPTIONS[chance(sizeof OPTIONS / sizeof *OPTIONS)];
}

static cl_context context;
static cl_device_id device;

static cl_program with(const char *source)
{
    return keep(PROGRAM, clCreateProgramWithSource(context, 1, &source, NULL, NULL));
}

static void note_kernels(cl_program program)
{
    cl_kernel kernels[8];
    cl_uint count = 0;
    if (clCreateKernelsInProgram(program, 8, kernels, &count) == CL_SUCCESS)
        for (cl_uint index = 0; index < count && index < 8; ++index)
            keep(KERNEL, kernels[index]);
}

static void build(cl_program program, const char *options)
{
    cl_int status = program != NULL ? clBuildProgram(program, 1, &device, options, NULL, NULL) : -1;
    is_built[counts[PROGRAM] - 1] = status == CL_SUCCESS;
    printf("build %d\n", status);
}

static void CL_CALLBACK notified(cl_program program, void *user_data)
{
    char options[256] = "";
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, NULL);
    printf("notified '%s'\n", options);
    *(volatile int *)user_data = 1;
}

static void link_parts(void)
{
    cl_program parts[] = {with(PART), with(MAIN)};
    printf("compile %d", clCompileProgram(parts[0], 1, &device, "-DNUMBER=7 -DFIRST", 0, NULL, NULL, NULL, NULL));
    printf(" %d\n", clCompileProgram(parts[1], 1, &device, some_options(), 0, NULL, NULL, NULL, NULL));
    cl_int status;
    cl_program linked = clLinkProgram(context, 1, &device, "-cl-fast-relaxed-math", 2, parts, NULL, NULL, &status);
    printf("link %d\n", status);
    if (keep(PROGRAM, linked) != NULL && (is_built[counts[PROGRAM] - 1] = status == CL_SUCCESS))
        note_kernels(linked);
    keep(PROGRAM, clLinkProgram(context, 1, &device, "-create-library", 1, parts, NULL, NULL, &status));
    printf("library %d\n", status);
    keep(PROGRAM, clLinkProgram(context, 1, &device, "", 1, &parts[1], NULL, NULL, &status));
    printf("unresolved %d\n", status);
}

static void from_il(void)
{
    FILE *file = getenv("MODULE") != NULL ? fopen(getenv("MODULE"), "rb") : NULL;
    if (file == NULL)
        return;
    size_t size = fread(values, 1, ROOM, file);
    fclose(file);
    cl_int status;
    cl_program program = keep(PROGRAM, clCreateProgramWithIL(context, values, size, &status));
    if (program != NULL)
        build(program, some_options());
}

static void make_programs(void)
{
    cl_program good = with(SOURCE);
    build(good, some_options());
    note_kernels(good);
    printf("again %d\n", clBuildProgram(good, 1, &device, "-DAGAIN", NULL, NULL)); /* kernels are attached */
    cl_program twice = with(SOURCE);
    build(twice, "-DFIRST");
    build(twice, some_options());
    printf("nothing %d\n", clBuildProgram(twice, 1, NULL, "-DNOT", NULL, NULL));
    with(SOURCE);
    build(with(WRONG), some_options());
    volatile int done = 0;
    printf("notify %d\n", clBuildProgram(with(SOURCE), 1, &device, some_options(), notified, (void *)&done));
    while (!done)
        ;
    link_parts();
    from_il();
    size_t size = 0;
    if (clGetProgramInfo(good, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS || size == 0)
        return;
    unsigned char *binary = malloc(size);
    clGetProgramInfo(good, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    const unsigned char *bytes = binary;
    build(keep(PROGRAM, clCreateProgramWithBinary(context, 1, &device, &size, &bytes, NULL, NULL)), "-DBINARY");
    free(binary);
}

static void make_objects(void)
{
    static int host[1024];
    cl_uint count = 0;
    cl_platform_id platform = NULL;
    clGetPlatformIDs(1, &platform, NULL);
    keep(PLATFORM, platform);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count) != CL_SUCCESS)
        exit(9);
    keep(DEVICE, device);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    context = keep(CONTEXT, clCreateContext(properties, 1, &device, NULL, NULL, NULL));
    const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_command_queue queue = keep(QUEUE, clCreateCommandQueueWithProperties(context, device, NULL, NULL));
    keep(QUEUE, clCreateCommandQueueWithProperties(context, device, profiling, NULL));
    cl_mem buffer = keep(MEMORY, clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL));
    const cl_buffer_region region = {1024, 1024};
    keep(MEMORY, clCreateSubBuffer(buffer, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL));
    keep(MEMORY, clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof host, host, NULL));
    keep(ADDRESS, host);
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc image = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8};
    keep(MEMORY, clCreateImage(context, CL_MEM_READ_ONLY, &format, &image, NULL, NULL));
    keep(SAMPLER, clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, NULL));
    keep(EVENT, clCreateUserEvent(context, NULL));
    cl_event event = NULL;
    clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    keep(EVENT, event);
    clFinish(queue);
    const cl_queue_properties out_of_order[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0}, none[] = {0};
    keep(QUEUE, clCreateCommandQueueWithProperties(context, device, out_of_order, NULL));
    keep(QUEUE, clCreateCommandQueueWithProperties(context, device, none, NULL));
    keep(QUEUE, clCreateCommandQueue(context, device, 0, NULL));
    keep(QUEUE, clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, NULL));
}

/* Where kernels run: events of launches on each queue: one that has ended, and one that waits for what never comes. */
static void launch(void)
{
    size_t size = 1;
    int number = 3;
    cl_kernel kernel = objects[KERNEL][0];
    for (unsigned index = 0; kernel != NULL && index < counts[QUEUE]; ++index) {
        cl_command_queue queue = objects[QUEUE][index];
        cl_event ended = NULL, waits = NULL;
        cl_event never = objects[EVENT][0];
        clSetKernelArg(kernel, 0, sizeof(cl_mem), &objects[MEMORY][0]);
        clSetKernelArg(kernel, 1, sizeof number, &number);
        clSetKernelArg(kernel, 2, 64, NULL);
        printf("launch %d", clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &size, 0, NULL, &ended));
        printf(" %d", clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &size, 0, NULL, NULL));
        printf(" %d\n", clFinish(queue));
        if (index % 2 == 0)
            clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &size, 1, &never, &waits);
        keep(EVENT, ended);
        if (waits != NULL)
            keep(EVENT, waits);
    }
}

/* Prints eight bytes that are a handle as what that is of; false if they are none. */
static bool print_handle(uint64_t word)
{
    for (int kind = 0; kind < KINDS; ++kind)
        for (unsigned index = 0; index < counts[kind]; ++index)
            if ((uint64_t)(uintptr_t)objects[kind][index] == word)
                return printf(" %s-%u", KIND_NAMES[kind], index) > 0;
    return false;
}

static uint64_t hash(const unsigned char *bytes, size_t size)
{
    uint64_t sum = 14695981039346656037u;
    for (size_t index = 0; index < size; ++index)
        sum = (sum ^ bytes[index]) * 1099511628211u;
    return sum;
}

static void print_answer(cl_int status, const size_t *size_ret, size_t room)
{
    printf(" = %d", status);
    if (size_ret != NULL)
        printf(" %zu", *size_ret);
    size_t left = room < ROOM ? room : ROOM;
    if (left % 8 == 0 && left <= 256) {
        for (size_t at = 0; at < left; at += 8) {
            uint64_t word;
            memcpy(&word, values + at, 8);
            if (!print_handle(word))
                printf(" %" PRIx64, word);
        }
    } else {
        printf(" %016" PRIx64, hash(values, left));
    }
    putchar('\n');
}

enum function { F_PLATFORM, F_DEVICE, F_CONTEXT, F_QUEUE, F_MEMORY, F_IMAGE, F_SAMPLER, F_PROGRAM, F_BUILD, F_KERNEL, F_ARGUMENT,
                F_GROUP, F_SUB_GROUP, F_EVENT, F_PROFILE, F_ADDRESS, FUNCTIONS };
static const struct {
    const char *name;
    enum kind of;
    cl_uint base, range, more[8]; /* the names that it may be asked for: those from a number on, and others */
} ASKED[FUNCTIONS] = {
    [F_PLATFORM] = {"platform", PLATFORM, 0x0900, 12, {0x0920}},
    [F_DEVICE] = {"device", DEVICE, 0x1000, 0x75, {0x4250, 0x4108, 0x410B, 0x10006, 0x106F}},
    [F_CONTEXT] = {"context", CONTEXT, 0x1080, 6, {0}},
    [F_QUEUE] = {"queue", QUEUE, 0x1090, 10, {0}},
    [F_MEMORY] = {"memory", MEMORY, 0x1100, 14, {0}},
    [F_IMAGE] = {"image", MEMORY, 0x1110, 12, {0}},
    [F_SAMPLER] = {"sampler", SAMPLER, 0x1150, 10, {0}},
    [F_PROGRAM] = {"program", PROGRAM, 0x1160, 16, {0x4100, 0x4101}},
    [F_BUILD] = {"build", PROGRAM, 0x1181, 6, {CL_PROGRAM_BUILD_OPTIONS, CL_PROGRAM_BUILD_OPTIONS, CL_PROGRAM_BUILD_LOG}},
    [F_KERNEL] = {"kernel", KERNEL, 0x1190, 8, {0x407D}},
    [F_ARGUMENT] = {"argument", KERNEL, 0x1196, 6, {0}},
    [F_GROUP] = {"group", KERNEL, 0x11B0, 7, {0x4109}},
    [F_SUB_GROUP] = {"sub-group", KERNEL, 0x2033, 3, {0x11B8, 0x11B9, 0x11BA, 0x4108}},
    [F_EVENT] = {"event", EVENT, 0x11D0, 6, {0}},
    [F_PROFILE] = {"profile", EVENT, 0x1280, 6, {0}},
    [F_ADDRESS] = {"address", PLATFORM, 0, 8, {0}},
};
static const char *const ADDRESSES[] = {"clCreateProgramWithILKHR", "clRequestProgramSnapshotListCODEPLAY", "clIcdGetPlatformIDsKHR",
    "clCreateCommandBufferKHR", "clEnqueueCommandBufferKHR", "clGetDeviceGlobalVariablePointerINTEL", "clHostMemAllocINTEL", "none"};

static cl_int ask(enum function function, void *object, cl_uint name, size_t size, void *value, size_t *size_ret)
{
    static const size_t LOCAL[] = {8, 1, 1};
    cl_device_id of = chance(20) > 0 ? device : NULL;
    switch (function) {
    case F_PLATFORM: return clGetPlatformInfo(object, name, size, value, size_ret);
    case F_DEVICE: return clGetDeviceInfo(object, name, size, value, size_ret);
    case F_CONTEXT: return clGetContextInfo(object, name, size, value, size_ret);
    case F_QUEUE: return clGetCommandQueueInfo(object, name, size, value, size_ret);
    case F_MEMORY: return clGetMemObjectInfo(object, name, size, value, size_ret);
    case F_IMAGE: return clGetImageInfo(object, name, size, value, size_ret);
    case F_SAMPLER: return clGetSamplerInfo(object, name, size, value, size_ret);
    case F_PROGRAM: return clGetProgramInfo(object, name, size, value, size_ret);
    case F_BUILD: return clGetProgramBuildInfo(object, of, name, size, value, size_ret);
    case F_KERNEL: return clGetKernelInfo(object, name, size, value, size_ret);
    case F_ARGUMENT: return clGetKernelArgInfo(object, chance(4), name, size, value, size_ret);
    case F_GROUP: return clGetKernelWorkGroupInfo(object, of, name, size, value, size_ret);
    case F_SUB_GROUP: return clGetKernelSubGroupInfo(object, device, name, sizeof LOCAL, LOCAL, size, value, size_ret);
    case F_EVENT: return clGetEventInfo(object, name, size, value, size_ret);
    case F_PROFILE: return clGetEventProfilingInfo(object, name, size, value, size_ret);
    default: return clGetExtensionFunctionAddressForPlatform(object, ADDRESSES[name % 8]) != NULL;
    }
}

/* Tells whether drivers end the process when they are asked for this of such a program. */
static bool is_fatal(enum function function, const void *object, cl_uint name)
{
    if (function != F_PROGRAM || name == CL_PROGRAM_SOURCE || name == CL_PROGRAM_IL || name < CL_PROGRAM_BINARY_SIZES)
        return false;
    for (unsigned index = 0; index < counts[PROGRAM]; ++index)
        if (objects[PROGRAM][index] == object)
            return !is_built[index];
    return false;
}

/* The binaries are written to places that the caller gives. */
static void ask_binaries(cl_program program, cl_uint name)
{
    size_t size = 0;
    unsigned char *places[] = {values};
    memset(values, 0xA5, ROOM);
    clGetProgramInfo(program, name == 0x4100 ? 0x4101 : CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    if (size > ROOM)
        return;
    size_t size_ret = 0;
    cl_int status = clGetProgramInfo(program, name, sizeof places, places, &size_ret);
    printf("%s %x", "program", name);
    print_answer(status, &size_ret, size);
}

/* Versions with names: Intel's newest driver leaves what its memory held behind the names, other bytes in each run. */
static void blank_behind_names(enum function function, void *object, cl_uint name, size_t room)
{
    static const cl_uint NAMED[] = {0x1060, 0x1061, 0x1062, 0x1066, 0x106F};
    bool is_named = function == F_PLATFORM && name == 0x0907;
    for (size_t index = 0; index < sizeof NAMED / sizeof *NAMED; ++index)
        is_named = is_named || (function == F_DEVICE && name == NAMED[index]);
    size_t size = 0;
    if (!is_named || ask(function, object, name, 0, NULL, &size) != CL_SUCCESS)
        return;
    for (size_t at = 0; at + sizeof(cl_name_version) <= size && size <= room; at += sizeof(cl_name_version)) {
        cl_name_version *version = (void *)(values + at);
        size_t length = strnlen(version->name, sizeof version->name);
        memset(version->name + length, 0, sizeof version->name - length);
    }
}

static void ask_something(void)
{
    enum function function = (enum function)chance(FUNCTIONS);
    void *object = any(ASKED[function].of);
    cl_uint name = ASKED[function].base + chance(ASKED[function].range), more = ASKED[function].more[chance(8)];
    if (more != 0)
        name = more;
    if (is_fatal(function, object, name))
        return;
    if (function == F_PROGRAM && (name == CL_PROGRAM_BINARIES || name == 0x4100)) {
        if (object != NULL)
            ask_binaries(object, name);
        return;
    }
    static const size_t SIZES[] = {0, 1, 4, 8, 24, 64, 256, 4096, 65536};
    size_t room = SIZES[chance(9)], size_ret = 0x5A5A, exact = 0;
    if (chance(3) == 0 && function != F_ADDRESS && ask(function, object, name, 0, NULL, &exact) == CL_SUCCESS && exact < ROOM)
        room = exact - (chance(4) == 0 && exact > 0);
    memset(values, 0xA5, room + 16);
    void *value = chance(8) > 0 ? values : NULL;
    size_t *asked = chance(4) > 0 ? &size_ret : NULL;
    printf("%s %x", ASKED[function].name, name);
    if (!print_handle((uint64_t)(uintptr_t)object))
        printf(" none");
    printf(" %zu%s", room, value != NULL ? "" : " null");
    cl_int status = ask(function, object, name, room, value, asked);
    if (status == CL_SUCCESS && value != NULL)
        blank_behind_names(function, object, name, room);
    print_answer(status, asked, (room + 15) / 8 * 8); /* and what is behind it */
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "source") == 0)
        return fputs(SOURCE, stdout) < 0;
    state = count > 1 ? strtoull(words[1], NULL, 10) : 1;
    make_objects();
    make_programs();
    if (getenv("LAUNCHES") != NULL)
        launch();
    for (long left = count > 2 ? atol(words[2]) : 1000; left > 0; --left)
        ask_something();
    return 0;
}
