/* Reads back, in every way that OpenCL has, what nothing was computed into, over memory filled with chance; and builds a program with
 * a hash of it all. Tells of each how many bytes are not zero, and how many around them were changed. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SIZE = 16384 };

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static unsigned char chance[SIZE], memory[SIZE], written[SIZE];
static uint32_t hash = 2166136261u;

static void check(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) {
        printf("%s %d\n", what, status);
        exit(1);
    }
}

static void begin(void)
{
    memcpy(memory, chance, SIZE);
}

/* Tells of a box in the memory, as clEnqueueReadBufferRect has it. */
static void tell(const char *name, size_t start, size_t width, size_t height, size_t depth, size_t pitch, size_t slice)
{
    static bool inside[SIZE];
    memset(inside, 0, sizeof inside);
    for (size_t z = 0; z < depth; ++z)
        for (size_t y = 0; y < height; ++y)
            memset(inside + start + z * slice + y * pitch, 1, width);
    size_t set = 0, changed = 0;
    for (size_t index = 0; index < SIZE; ++index) {
        if (inside[index]) {
            set += memory[index] != 0;
            hash = (hash ^ memory[index]) * 16777619u;
        } else {
            changed += memory[index] != chance[index];
        }
    }
    printf("%s %zu around %zu\n", name, set, changed);
}

static void tell_own(const char *name, const unsigned char *own, size_t size)
{
    size_t set = 0;
    for (size_t index = 0; index < size; ++index) {
        set += own[index] != 0;
        hash = (hash ^ own[index]) * 16777619u;
    }
    printf("%s %zu\n", name, set);
}

static void read_buffers(void)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    check(status, "clCreateBuffer");
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, written, 0, NULL, NULL), "write");
    begin();
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 64, 4096, memory + 100, 0, NULL, NULL), "read");
    tell("read", 100, 4096, 1, 1, 0, 0);
    const size_t zero[3] = {0}, origin[3] = {8, 2, 1}, region[3] = {32, 4, 2};
    begin();
    check(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, zero, origin, region, 64, 1024, 64, 1024, memory, 0, NULL, NULL), "box");
    tell("box", 1024 + 128 + 8, 32, 4, 2, 64, 1024);
    begin();
    check(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, zero, zero, region, 0, 0, 0, 0, memory, 0, NULL, NULL), "dense box");
    tell("dense box", 0, 32 * 4 * 2, 1, 1, 0, 0);
    unsigned char *map = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 128, 4096, 0, NULL, NULL, &status);
    check(status, "map");
    tell_own("map", map, 4096);
    memset(map, 5, 4096);
    unsigned char *again = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 128, 4096, 0, NULL, NULL, &status);
    check(status, "map again");
    tell_own("map again", again, 4096);
    check(clEnqueueUnmapMemObject(queue, buffer, again, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    check(clEnqueueUnmapMemObject(queue, buffer, map, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    map = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 128, 4096, 0, NULL, NULL, &status);
    check(status, "map later");
    tell_own("map later", map, 4096);
    cl_mem of_host = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, SIZE, written, &status);
    check(status, "clCreateBuffer");
    map = clEnqueueMapBuffer(queue, of_host, CL_TRUE, CL_MAP_READ, 0, SIZE, 0, NULL, NULL, &status);
    check(status, "map of the application's");
    tell_own("map of the application's", map, SIZE);
}

static void read_images(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const size_t zero[3] = {0}, region[3] = {16, 8, 1}, rows[3] = {16, 3, 1};
    cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 32};
    size_t pitch = 0, slice = 0;
    cl_int status;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, NULL, &status);
    check(status, "clCreateImage");
    begin();
    check(clEnqueueReadImage(queue, image, CL_TRUE, zero, region, 128, 0, memory, 0, NULL, NULL), "image");
    tell("image", 0, 64, 8, 1, 128, 0);
    begin();
    check(clEnqueueReadImage(queue, image, CL_TRUE, zero, region, 0, 0, memory, 0, NULL, NULL), "dense image");
    tell("dense image", 0, 64 * 8, 1, 1, 0, 0);
    unsigned char *map = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ, zero, region, &pitch, NULL, 0, NULL, NULL, &status);
    check(status, "map of an image");
    for (size_t y = 0; y < 8; ++y)
        tell_own("row of an image", map + y * pitch, 64);
    description = (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = 64, .image_array_size = 4};
    image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, NULL, &status);
    check(status, "clCreateImage");
    begin();
    check(clEnqueueReadImage(queue, image, CL_TRUE, zero, rows, 0, 256, memory, 0, NULL, NULL), "rows");
    tell("rows", 0, 64, 3, 1, 256, 0);
    map = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ, zero, rows, &pitch, &slice, 0, NULL, NULL, &status);
    check(status, "map of rows");
    for (size_t y = 0; y < 3; ++y)
        tell_own("row", map + y * slice, 64);
}

/* Memory that somebody has used before, for whoever allocates next. */
static void use(void (*release)(void *), void *(*allocate)(void))
{
    void *before = allocate();
    memset(before, 7, SIZE);
    release(before);
}

static clHostMemAllocINTEL_fn host;
static clSharedMemAllocINTEL_fn shared;
static clDeviceMemAllocINTEL_fn own;
static clMemFreeINTEL_fn release;
static clEnqueueMemcpyINTEL_fn copy;

static void *new_shared_virtual(void)
{
    return clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 0);
}

static void free_shared_virtual(void *pointer)
{
    clSVMFree(context, pointer);
}

static void *new_host(void)
{
    cl_int status;
    return host(context, NULL, SIZE, 0, &status);
}

static void *new_shared(void)
{
    cl_int status;
    return shared(context, device, NULL, SIZE, 0, &status);
}

static void free_unified(void *pointer)
{
    release(context, pointer);
}

static void read_shared(cl_platform_id platform)
{
    cl_int status;
    use(free_shared_virtual, new_shared_virtual);
    unsigned char *virtual = new_shared_virtual();
    tell_own("shared virtual", virtual, SIZE);
    begin();
    check(clEnqueueSVMMemcpy(queue, CL_TRUE, memory + 10, virtual, 1000, 0, NULL, NULL), "copy of shared virtual");
    tell("copy of shared virtual", 10, 1000, 1, 1, 0, 0);
    memset(virtual, 5, SIZE);
    check(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, virtual, SIZE, 0, NULL, NULL), "map of shared virtual");
    tell_own("map of shared virtual", virtual, SIZE);
    host = (clHostMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clHostMemAllocINTEL");
    shared = (clSharedMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clSharedMemAllocINTEL");
    own = (clDeviceMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clDeviceMemAllocINTEL");
    release = (clMemFreeINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clMemFreeINTEL");
    copy = (clEnqueueMemcpyINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueMemcpyINTEL");
    use(free_unified, new_host);
    tell_own("host", new_host(), SIZE);
    use(free_unified, new_shared);
    tell_own("shared", new_shared(), SIZE);
    void *device_memory = own(context, device, NULL, SIZE, 0, &status);
    check(status, "clDeviceMemAllocINTEL");
    check(copy(queue, CL_TRUE, device_memory, written, SIZE, 0, NULL, NULL), "copy to a device");
    begin();
    check(copy(queue, CL_TRUE, memory + 10, device_memory, 1000, 0, NULL, NULL), "copy");
    tell("copy", 10, 1000, 1, 1, 0, 0);
}

int main(int count, char **words)
{
    static const char *const SOURCE = "kernel void add(global int *a) { a[get_global_id(0)] += SEED; }";
    char options[64];
    cl_platform_id platform;
    cl_int status;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (getrandom(chance, SIZE, 0) != SIZE)
        return 1;
    for (size_t index = 0; index < SIZE; ++index)
        chance[index] |= 1;
    memset(written, 5, SIZE);
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
    read_buffers();
    if (count < 2 || strcmp(words[1], "buffers") != 0) {
        read_images();
        read_shared(platform);
    }
    snprintf(options, sizeof options, "-DSEED=%u", hash);
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&SOURCE, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, options, NULL, NULL), "clBuildProgram");
    return 0;
}
