/* Launches with memory of every kind, from several threads, on queues with and without order, some behind user events. Each thread
 * writes to standard output what its launches were given and what their memory held, as it knows it itself: a line for each memory of
 * a launch, "KERNEL MARK before|after NAME HASH". MARK is the launch's last argument, so that a launch can be told. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "opencl_check.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 256, SIZE = COUNT * sizeof(cl_uint), WIDTH = 12, HEIGHT = 7, ROUNDS = 4, THREADS = 8 };

static const char SOURCE[] =
    "kernel void plain(global const uint *from, global uint *to, uint mark)\n"
    "{ size_t i = get_global_id(0); to[i] = to[i] * 31 + from[i] + mark; }\n"
    "kernel void part(global uint *left, global uint *right, local uint *scratch, uint mark)\n"
    "{ size_t i = get_global_id(0); scratch[get_local_id(0)] = left[i]; barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  right[i] += scratch[get_local_id(0)] ^ mark; left[i] += 1; }\n"
    "kernel void picture(read_only image2d_t from, write_only image2d_t to, sampler_t how, uint mark)\n"
    "{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "  uint4 texel = read_imageui(from, how, at + (int2)(1, 0)); write_imageui(to, at, texel + mark); }\n"
    "kernel void shared(global uint *memory, uint mark)\n"
    "{ size_t i = get_global_id(0); memory[i] = memory[i] * 7 + mark; }\n"
    "kernel void optional(global uint *memory, global uint *absent, uint mark)\n"
    "{ size_t i = get_global_id(0); memory[i] += mark + (absent == 0); }\n";

static cl_context context;
static cl_device_id device;
static cl_program program;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash(const void *bytes, size_t size)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t index = 0; index < size; ++index)
        value = (value ^ ((const unsigned char *)bytes)[index]) * UINT64_C(0x100000001b3);
    return value;
}

static void tell(const char *kernel, cl_uint mark, const char *when, const char *name, const void *bytes, size_t size)
{
    pthread_mutex_lock(&printing);
    printf("%s %u %s %s %016" PRIx64 "\n", kernel, mark, when, name, hash(bytes, size));
    pthread_mutex_unlock(&printing);
}

static cl_kernel kernel_of(const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK(status);
    return kernel;
}

static cl_mem buffer_of(cl_mem_flags flags, const cl_uint *contents)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, flags | (contents != NULL ? CL_MEM_COPY_HOST_PTR : 0), SIZE, (void *)contents, &status);
    CHECK(status);
    return buffer;
}

/* The application's own arithmetic stands beside the driver's: what each launch does is known before it runs. */
static void plain_rounds(cl_command_queue queue, cl_uint base, int is_ordered)
{
    cl_uint from[COUNT], to[COUNT];
    for (unsigned i = 0; i < COUNT; ++i) {
        from[i] = base + i;
        to[i] = base * 3 + i;
    }
    cl_kernel kernel = kernel_of("plain");
    cl_mem source = buffer_of(CL_MEM_READ_ONLY, from), target = buffer_of(CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, to);
    cl_int status;
    cl_event gate = clCreateUserEvent(context, &status), last = gate;
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof source, &source));
    CHECK(clSetKernelArg(kernel, 1, sizeof target, &target));
    for (cl_uint round = 0; round < ROUNDS; ++round) {
        const size_t global = COUNT;
        cl_uint mark = base + round;
        cl_event event;
        CHECK(clSetKernelArg(kernel, 2, sizeof mark, &mark));
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, !is_ordered || round == 0 ? 1 : 0,
                                     !is_ordered || round == 0 ? &last : NULL, &event));
        tell("plain", mark, "before", "0", from, SIZE);
        tell("plain", mark, "before", "1", to, SIZE);
        for (unsigned i = 0; i < COUNT; ++i)
            to[i] = to[i] * 31 + from[i] + mark;
        tell("plain", mark, "after", "0", from, SIZE);
        tell("plain", mark, "after", "1", to, SIZE);
        if (last != gate)
            clReleaseEvent(last);
        last = event;
    }
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE)); /* all of them have waited for that */
    clReleaseEvent(gate);
    CHECK(clFinish(queue));
    clReleaseEvent(last);
    clReleaseMemObject(source);
    clReleaseMemObject(target);
    clReleaseKernel(kernel);
}

static void part_rounds(cl_command_queue queue, cl_uint base)
{
    cl_uint whole[COUNT];
    for (unsigned i = 0; i < COUNT; ++i)
        whole[i] = base ^ i * 2654435761u;
    cl_int status;
    cl_kernel kernel = kernel_of("part");
    cl_mem buffer = buffer_of(CL_MEM_READ_WRITE, whole);
    const cl_buffer_region regions[2] = {{0, SIZE / 2}, {SIZE / 2, SIZE / 2}};
    cl_mem left = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &regions[0], &status);
    CHECK(status);
    cl_mem right = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &regions[1], &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof left, &left));
    CHECK(clSetKernelArg(kernel, 1, sizeof right, &right));
    CHECK(clSetKernelArg(kernel, 2, 32 * sizeof(cl_uint), NULL));
    for (cl_uint round = 0; round < ROUNDS; ++round) {
        const size_t global = COUNT / 2, local = 32;
        cl_uint mark = base + round;
        CHECK(clSetKernelArg(kernel, 3, sizeof mark, &mark));
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
        tell("part", mark, "before", "0", whole, SIZE);
        for (unsigned i = 0; i < COUNT / 2; ++i) {
            whole[COUNT / 2 + i] += whole[i] ^ mark;
            whole[i] += 1;
        }
        tell("part", mark, "after", "0", whole, SIZE);
    }
    CHECK(clFinish(queue));
    clReleaseMemObject(left);
    clReleaseMemObject(right);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
}

static cl_mem image_of(cl_mem_flags flags, const cl_uint *texels)
{
    cl_int status;
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT32};
    const cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
    cl_mem image = clCreateImage(context, flags | CL_MEM_COPY_HOST_PTR, &format, &description, (void *)texels, &status);
    CHECK(status);
    return image;
}

static void picture_rounds(cl_command_queue queue, cl_uint base)
{
    enum { TEXELS = WIDTH * HEIGHT * 4 };
    cl_uint from[TEXELS], to[TEXELS];
    for (unsigned i = 0; i < TEXELS; ++i) {
        from[i] = base + i;
        to[i] = i;
    }
    cl_int status;
    cl_kernel kernel = kernel_of("picture");
    cl_mem source = image_of(CL_MEM_READ_ONLY, from), target = image_of(CL_MEM_WRITE_ONLY, to);
    cl_sampler sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof source, &source));
    CHECK(clSetKernelArg(kernel, 1, sizeof target, &target));
    CHECK(clSetKernelArg(kernel, 2, sizeof sampler, &sampler));
    for (cl_uint round = 0; round < ROUNDS; ++round) {
        const size_t global[2] = {WIDTH, HEIGHT};
        cl_uint mark = base + round;
        CHECK(clSetKernelArg(kernel, 3, sizeof mark, &mark));
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL));
        tell("picture", mark, "before", "0", from, sizeof from);
        tell("picture", mark, "before", "1", to, sizeof to);
        for (unsigned y = 0; y < HEIGHT; ++y)
            for (unsigned x = 0; x < WIDTH; ++x)
                for (unsigned channel = 0; channel < 4; ++channel) {
                    unsigned next = x + 1 < WIDTH ? x + 1 : WIDTH - 1;
                    to[(y * WIDTH + x) * 4 + channel] = from[(y * WIDTH + next) * 4 + channel] + mark;
                }
        tell("picture", mark, "after", "1", to, sizeof to);
    }
    CHECK(clFinish(queue));
    clReleaseSampler(sampler);
    clReleaseMemObject(source);
    clReleaseMemObject(target);
    clReleaseKernel(kernel);
}

static void shared_rounds(cl_command_queue queue, cl_uint base)
{
    cl_uint *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 0), own[COUNT];
    if (memory == NULL)
        exit(4);
    for (unsigned i = 0; i < COUNT; ++i)
        own[i] = base + i * 5;
    CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, memory, own, SIZE, 0, NULL, NULL));
    cl_kernel kernel = kernel_of("shared");
    for (cl_uint round = 0; round < ROUNDS; ++round) {
        enum { SKIPPED = 16 };
        const size_t offset = 8, global = COUNT - SKIPPED - 8;
        cl_uint mark = base + round;
        CHECK(clSetKernelArgSVMPointer(kernel, 0, memory + SKIPPED));
        CHECK(clSetKernelArg(kernel, 1, sizeof mark, &mark));
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, &offset, &global, NULL, 0, NULL, NULL));
        tell("shared", mark, "before", "0", own, SIZE);
        for (unsigned i = SKIPPED + 8; i < COUNT; ++i)
            own[i] = own[i] * 7 + mark;
        tell("shared", mark, "after", "0", own, SIZE);
    }
    CHECK(clFinish(queue));
    clSVMFree(context, memory);
    clReleaseKernel(kernel);
}

static void optional_rounds(cl_command_queue queue, cl_uint base)
{
    cl_uint own[COUNT] = {0};
    cl_mem buffer = buffer_of(CL_MEM_READ_WRITE, own), absent = NULL;
    cl_kernel kernel = kernel_of("optional");
    CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (cl_uint round = 0; round < ROUNDS; ++round) {
        const size_t global = COUNT;
        cl_uint mark = base + round;
        CHECK(clSetKernelArg(kernel, 1, sizeof absent, round % 2 ? &absent : NULL));
        CHECK(clSetKernelArg(kernel, 2, sizeof mark, &mark));
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
        tell("optional", mark, "before", "0", own, SIZE);
        for (unsigned i = 0; i < COUNT; ++i)
            own[i] += mark + 1;
        tell("optional", mark, "after", "0", own, SIZE);
    }
    CHECK(clFinish(queue));
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
}

static void *work(void *number)
{
    cl_uint base = 1000 * (1 + (cl_uint)(uintptr_t)number);
    cl_int status;
    int is_ordered = (uintptr_t)number % 2 == 0;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    cl_command_queue other = queue;
    if (!is_ordered)
        other = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    CHECK(status);
    plain_rounds(other, base, is_ordered);
    part_rounds(queue, base);
    picture_rounds(queue, base);
    shared_rounds(queue, base);
    optional_rounds(queue, base);
    clReleaseCommandQueue(queue);
    if (!is_ordered)
        clReleaseCommandQueue(other);
    return NULL;
}

int main(int count, char **words)
{
    const unsigned thread_count = count > 1 ? (unsigned)atoi(words[1]) : THREADS;
    cl_platform_id platform;
    cl_int status;
    pthread_t threads[THREADS];
    const char *source = SOURCE;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    for (uintptr_t number = 0; number < thread_count && number < THREADS; ++number)
        if (pthread_create(&threads[number], NULL, work, (void *)number) != 0)
            return 5;
    for (unsigned number = 0; number < thread_count && number < THREADS; ++number)
        pthread_join(threads[number], NULL);
    clReleaseProgram(program);
    clReleaseContext(context);
    return 0;
}
