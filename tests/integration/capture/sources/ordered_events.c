/* An application that depends on the order of its events, on two queues without order and one with: a command that comes later than a
 * launch lets it begin, and memory that a launch left is written again at once, behind its event and behind a wait of the host. Writes
 * what each launch left, what its callbacks heard, in their order, and whether the times of its events are in theirs. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include "opencl_check.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 1 << 16, SIZE = COUNT * sizeof(cl_uint), ROUNDS = 4, CHAIN = 8 };

static const char SOURCE[] = "kernel void add(global uint *to, uint mark) { size_t i = get_global_id(0); to[i] = i * 3 + mark; }\n"
                             "kernel void late(global uint *to, uint mark) { size_t i = get_global_id(0); to[i] += i ^ mark; }\n";
static cl_context context;
static cl_device_id device;
static cl_program program;
static cl_uint contents[COUNT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned heard[CHAIN], heard_count;

static void told(const char *kernel, cl_uint mark, int is_late)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (cl_uint i = 0; i < COUNT; ++i) {
        cl_uint word = is_late ? i ^ mark : i * 3 + mark;
        for (unsigned byte = 0; byte < 4; ++byte)
            value = (value ^ (word >> byte * 8 & 255)) * UINT64_C(0x100000001b3);
    }
    printf("%s %u after 0 %016" PRIx64 "\n", kernel, mark, value);
}

static cl_kernel kernel_of(const char *name, cl_mem memory)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    return kernel;
}

static void launch(cl_command_queue queue, cl_kernel kernel, cl_uint mark, cl_uint count, const cl_event *waits, cl_event *event)
{
    const size_t global = COUNT;
    CHECK(clSetKernelArg(kernel, 1, sizeof mark, &mark));
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, count, waits, event));
}

/* The launch waits for the application, which first waits for a command that came later. */
static void begun_by_a_later_one(cl_command_queue queue, cl_mem memory, cl_mem other)
{
    const cl_uint zero = 0, mark = 70;
    cl_int status;
    cl_kernel kernel = kernel_of("late", memory);
    cl_event gate = clCreateUserEvent(context, &status), filled, ended;
    CHECK(status);
    CHECK(clEnqueueFillBuffer(queue, memory, &zero, sizeof zero, 0, SIZE, 0, NULL, &filled));
    const cl_event both[] = {gate, filled};
    launch(queue, kernel, mark, 2, both, &ended);
    told("late", mark, 1);
    cl_event later;
    CHECK(clEnqueueFillBuffer(queue, other, &mark, sizeof mark, 0, SIZE, 0, NULL, &later));
    CHECK(clWaitForEvents(1, &later));
    cl_int state = CL_COMPLETE;
    CHECK(clGetEventInfo(ended, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    printf("the later one ended, the launch %s\n", state == CL_COMPLETE ? "did as well" : "waits");
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clFinish(queue));
    clReleaseEvent(gate), clReleaseEvent(filled), clReleaseEvent(ended), clReleaseEvent(later);
    clReleaseKernel(kernel);
}

/* Another queue writes to the memory behind the launch, which it knows by the launch's event or, each second time, by a wait. */
static void written_by_another_queue(cl_command_queue queue, cl_command_queue other, cl_mem memory)
{
    cl_kernel kernel = kernel_of("add", memory);
    for (cl_uint round = 0; round < ROUNDS; ++round) {
        cl_event ended;
        launch(queue, kernel, round, 0, NULL, &ended);
        told("add", round, 0);
        if (round % 2 == 0)
            CHECK(clFlush(queue));
        else
            CHECK(clWaitForEvents(1, &ended));
        CHECK(clEnqueueWriteBuffer(other, memory, CL_TRUE, 0, SIZE, contents, round % 2 == 0, round % 2 == 0 ? &ended : NULL, NULL));
        clReleaseEvent(ended);
    }
    clReleaseKernel(kernel);
}

/* A marker without a list waits for all before it in its queue, whatever else it has to wait for. */
static void marked_without_a_list(cl_command_queue queue, cl_command_queue other, cl_mem memory, cl_mem second)
{
    cl_kernel kernel = kernel_of("add", memory);
    unsigned early = 0;
    for (cl_uint round = 0; round < ROUNDS; ++round) {
        cl_int status, state = CL_QUEUED;
        cl_event gate = clCreateUserEvent(context, &status), ended, marked;
        CHECK(status);
        CHECK(clEnqueueFillBuffer(other, second, &round, sizeof round, 0, SIZE, 1, &gate, NULL));
        launch(queue, kernel, round + 40, 0, NULL, &ended);
        told("add", round + 40, 0);
        CHECK(clWaitForEvents(1, &ended));
        CHECK(clEnqueueMarkerWithWaitList(other, 0, NULL, &marked));
        CHECK(clFlush(other));
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        CHECK(clGetEventInfo(marked, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
        early += state == CL_COMPLETE;
        CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
        CHECK(clFinish(other));
        CHECK(clFinish(queue));
        clReleaseEvent(gate), clReleaseEvent(ended), clReleaseEvent(marked);
    }
    printf("%u markers early\n", early);
    clReleaseKernel(kernel);
}

static void CL_CALLBACK hear(cl_event event, cl_int status, void *number)
{
    (void)event, (void)status;
    pthread_mutex_lock(&lock);
    heard[heard_count++] = (unsigned)(uintptr_t)number;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void heard_in_order(cl_command_queue queue, cl_mem memory)
{
    cl_kernel kernel = kernel_of("add", memory);
    cl_event ended[CHAIN];
    cl_ulong former = 0;
    unsigned late = 0;
    for (uintptr_t number = 0; number < CHAIN; ++number) {
        launch(queue, kernel, (cl_uint)number + 100, 0, NULL, &ended[number]);
        told("add", (cl_uint)number + 100, 0);
        CHECK(clSetEventCallback(ended[number], CL_COMPLETE, hear, (void *)number));
    }
    CHECK(clFinish(queue));
    pthread_mutex_lock(&lock);
    while (heard_count < CHAIN)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    printf("heard");
    for (unsigned number = 0; number < CHAIN; ++number) {
        cl_ulong start = 0, end = 0;
        CHECK(clGetEventProfilingInfo(ended[number], CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
        CHECK(clGetEventProfilingInfo(ended[number], CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
        late += start < former || end < start;
        former = end;
        printf(" %u", heard[number]);
        clReleaseEvent(ended[number]);
    }
    printf("\n%u times out of order\n", late);
    clReleaseKernel(kernel);
}

static cl_command_queue queue_of(cl_command_queue_properties properties)
{
    cl_int status;
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, list, &status);
    CHECK(status);
    return queue;
}

int main(void)
{
    cl_platform_id platform;
    cl_int status;
    const char *source = SOURCE;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_command_queue free_queue = queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), other = queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_command_queue ordered = queue_of(CL_QUEUE_PROFILING_ENABLE);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    CHECK(status);
    cl_mem second = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    CHECK(status);
    begun_by_a_later_one(free_queue, memory, second);
    written_by_another_queue(free_queue, other, memory);
    written_by_another_queue(ordered, other, memory);
    marked_without_a_list(free_queue, other, memory, second);
    heard_in_order(ordered, memory);
    clReleaseMemObject(memory), clReleaseMemObject(second);
    clReleaseCommandQueue(free_queue), clReleaseCommandQueue(other), clReleaseCommandQueue(ordered);
    clReleaseProgram(program);
    clReleaseContext(context);
    return 0;
}
