/* A Level Zero application for the tests of capture --launch: launches kernels in every way from four threads, and prints of each launch
 * what it passed: sizes, arguments, and the memory that the kernel can reach. The first word of the command line is a SPIR-V module. */
#define _GNU_SOURCE
#include <level_zero/ze_api.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, SIZE = 4096, WORDS = SIZE / 8 };

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static uint8_t *module_bytes;
static size_t module_size;
static int rounds = 1;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

struct pair {
    uint64_t address, number;
};

struct size {
    uint32_t x, y, z;
};

/* Launches with all arguments; NULL if the loader has no such function, as Debian 12's. */
static ze_result_t (*launch_with)(ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t, struct size, void **, const void *,
                                  ze_event_handle_t, uint32_t, ze_event_handle_t *);

/* What one thread has. */
struct own {
    uint64_t mark; /* of the launch that comes next: every launch has another one, as its last argument */
    ze_context_handle_t context;
    ze_module_handle_t module;
    ze_kernel_handle_t values, reaching, picture;
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t immediate, list;
    uint64_t *host, *shared, *other;
    void *memory; /* the device's */
    ze_image_handle_t image;
    ze_sampler_handle_t sampler;
    struct pair pair;
    uint32_t offset;
};

static void check(ze_result_t result, const char *what)
{
    if (result != ZE_RESULT_SUCCESS) {
        printf("%s: %#x\n", what, (unsigned)result);
        exit(9);
    }
}

static uint64_t hash(const void *bytes, size_t size)
{
    uint64_t value = 0xCBF29CE484222325;
    for (size_t index = 0; index < size; ++index)
        value = (value ^ ((const uint8_t *)bytes)[index]) * 0x100000001B3;
    return value;
}

static void fill(uint64_t *words, uint64_t seed)
{
    for (unsigned index = 0; index < WORDS; ++index)
        words[index] = (seed * 1000003 + index) * 0x9E3779B97F4A7C15 >> 20; /* no address */
}

static void print_memory(uint64_t mark, const char *kind, const void *address)
{
    printf("%llu memory %s %d %016llx\n", (unsigned long long)mark, kind, SIZE, (unsigned long long)hash(address, SIZE));
}

static void print_sizes(uint64_t mark, const char *kernel, ze_group_count_t groups, uint32_t x, uint32_t y, uint32_t offset)
{
    printf("%llu %s global %u %u %u local %u %u 1 offset %u 0 0\n", (unsigned long long)mark, kernel, groups.groupCountX * x,
           groups.groupCountY * y, groups.groupCountZ, x, y, offset);
}

/* Prints the memory that "values" reaches, as it is when a launch is made. */
static void print_reached(struct own *own, uint64_t mark, int has_host)
{
    print_memory(mark, "shared", own->shared);
    if (has_host)
        print_memory(mark, "host", own->host);
    printf("%llu memory device %d unread\n", (unsigned long long)mark, SIZE);
}

/* Launches "values" with its arguments, or, without a number of groups, sets them; and prints what a launch of them has. */
static void give_values(struct own *own, int number, uint32_t local, const ze_group_count_t *groups, struct size size)
{
    uint64_t mark = ++own->mark;
    size_t local_size = local;
    void *data = own->shared + 8, *device_data = (char *)own->memory + 128;
    void *arguments[] = {&data, &number, &local_size, &own->pair, &device_data, &mark};
    const size_t sizes[] = {sizeof data, sizeof number, local, sizeof own->pair, sizeof device_data, sizeof mark};
    for (uint32_t index = 0; groups == NULL && index < 6; ++index)
        check(zeKernelSetArgumentValue(own->values, index, sizes[index], index == 2 ? NULL : arguments[index]), "argument");
    unsigned long long shown = mark;
    uint8_t pair[sizeof own->pair];
    memcpy(pair, &own->pair, sizeof pair);
    printf("%llu argument 0 pointer shared 64\n%llu argument 1 value %08x\n%llu argument 2 local %u\n", shown, shown,
           __builtin_bswap32((uint32_t)number), shown, local);
    flockfile(stdout); /* one line, though it comes in pieces: other threads print too */
    printf("%llu argument 3 value ", shown);
    for (unsigned index = 0; index < sizeof pair; ++index)
        printf("%02x", pair[index]);
    printf("\n%llu argument 4 pointer device 128\n", shown);
    funlockfile(stdout);
    if (groups != NULL) {
        print_sizes(mark, "values", *groups, size.x, size.y, own->offset);
        print_reached(own, mark, 1);
        check(launch_with(own->immediate, own->values, *groups, size, arguments, NULL, NULL, 0, NULL), "with arguments");
    }
}

static void set_values(struct own *own, int number, uint32_t local)
{
    give_values(own, number, local, NULL, (struct size){0});
}

static void immediate_launches(struct own *own)
{
    ze_group_count_t groups = {3, 2, 1};
    for (int index = 0; index < 3; ++index) {
        fill(own->shared, own->mark);
        if (launch_with != NULL && index == 1) {
            give_values(own, 100 + index, 256u << index, &groups, (struct size){8, 4, 1});
            check(zeKernelSetGroupSize(own->values, 16, 2, 1), "zeKernelSetGroupSize");
            continue;
        }
        set_values(own, 100 + index, 256u << index);
        print_sizes(own->mark, "values", groups, 16, 2, own->offset);
        print_reached(own, own->mark, 1);
        check(zeCommandListAppendLaunchKernel(own->immediate, own->values, &groups, NULL, 0, NULL), "immediate");
        fill(own->shared, own->mark + 77); /* later than the launch */
    }
}

/* A list of two launches is executed twice: with the arguments as they were when it was made, and the memory as it is then. */
static void listed_launches(struct own *own)
{
    ze_group_count_t groups = {2, 1, 1};
    set_values(own, 7, 64);
    uint64_t first = own->mark;
    check(zeCommandListAppendLaunchKernel(own->list, own->values, &groups, NULL, 0, NULL), "append");
    set_values(own, 8, 128);
    uint64_t second = own->mark;
    check(zeCommandListAppendLaunchKernel(own->list, own->values, &groups, NULL, 0, NULL), "append");
    int number = 55;
    check(zeKernelSetArgumentValue(own->values, 1, sizeof number, &number), "argument"); /* of no launch */
    check(zeCommandListClose(own->list), "close");
    for (int index = 0; index < 2; ++index) {
        fill(own->shared, first + (uint64_t)index * 1000);
        for (uint64_t mark = first; mark <= second; ++mark) {
            print_sizes(mark, "values", groups, 16, 2, own->offset);
            print_reached(own, mark, 1);
        }
        check(zeCommandQueueExecuteCommandLists(own->queue, 1, &own->list, NULL), "execute");
        check(zeCommandQueueSynchronize(own->queue, UINT64_MAX), "synchronize");
    }
    check(zeCommandListReset(own->list), "reset");
}

/* The number of groups is in memory, and changes between two executions. */
static void indirect_launches(struct own *own)
{
    ze_group_count_t *groups = (ze_group_count_t *)own->other;
    set_values(own, 9, 32);
    check(zeCommandListAppendLaunchKernelIndirect(own->list, own->values, groups, NULL, 0, NULL), "indirect");
    check(zeCommandListClose(own->list), "close");
    for (uint32_t index = 1; index < 3; ++index) {
        *groups = (ze_group_count_t){index, 5, 1};
        print_sizes(own->mark, "values", *groups, 16, 2, own->offset);
        print_reached(own, own->mark, 1);
        check(zeCommandQueueExecuteCommandLists(own->queue, 1, &own->list, NULL), "execute");
        check(zeCommandQueueSynchronize(own->queue, UINT64_MAX), "synchronize");
    }
    check(zeCommandListReset(own->list), "reset");
}

/* A kernel that may reach all host memory of its context, and has no pointer to any. */
static void reaching_launch(struct own *own)
{
    ze_group_count_t one = {1, 1, 1};
    uint64_t mark = ++own->mark;
    check(zeKernelSetIndirectAccess(own->reaching, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST), "indirect access");
    check(zeKernelSetArgumentValue(own->reaching, 0, sizeof mark, &mark), "argument");
    print_sizes(mark, "reaching", one, 8, 1, 0);
    print_memory(mark, "host", own->host);
    print_memory(mark, "host", own->other);
    check(zeCommandListAppendLaunchKernel(own->immediate, own->reaching, &one, NULL, 0, NULL), "reaching");
}

static void picture_launch(struct own *own)
{
    ze_group_count_t one = {1, 1, 1};
    uint64_t mark = ++own->mark;
    void *out = own->host, *arguments[] = {&own->image, &own->sampler, &out, &mark};
    for (uint32_t index = 0; launch_with == NULL && index < 4; ++index)
        check(zeKernelSetArgumentValue(own->picture, index, 8, arguments[index]), "argument");
    print_sizes(mark, "picture", one, 4, 4, 0);
    printf("%llu argument 0 image 4277 4318 4337 12 7\n%llu argument 1 sampler 1 4403 4417\n%llu argument 2 pointer host 0\n",
           (unsigned long long)mark, (unsigned long long)mark, (unsigned long long)mark);
    printf("%llu memory image 1344 unread\n", (unsigned long long)mark);
    print_memory(mark, "host", own->host);
    if (launch_with != NULL)
        check(launch_with(own->immediate, own->picture, one, (struct size){4, 4, 1}, arguments, NULL, NULL, 0, NULL), "picture");
    else
        check(zeCommandListAppendLaunchKernel(own->immediate, own->picture, &one, NULL, 0, NULL), "picture");
}

static ze_kernel_handle_t kernel_of(struct own *own, const char *name, uint32_t x, uint32_t y)
{
    ze_kernel_desc_t description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t kernel;
    check(zeKernelCreate(own->module, &description, &kernel), "zeKernelCreate");
    check(zeKernelSetGroupSize(kernel, x, y, 1), "zeKernelSetGroupSize");
    return kernel;
}

static void make_objects(struct own *own)
{
    ze_image_desc_t image = {
        .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC, .type = ZE_IMAGE_TYPE_2D, .width = 12, .height = 7, .depth = 1,
        .format = {ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ZE_IMAGE_FORMAT_TYPE_FLOAT, ZE_IMAGE_FORMAT_SWIZZLE_R,
                   ZE_IMAGE_FORMAT_SWIZZLE_G, ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A},
    };
    ze_sampler_desc_t sampler = {ZE_STRUCTURE_TYPE_SAMPLER_DESC, NULL, ZE_SAMPLER_ADDRESS_MODE_REPEAT, ZE_SAMPLER_FILTER_MODE_LINEAR, 1};
    check(zeImageCreate(own->context, device, &image, &own->image), "zeImageCreate");
    check(zeSamplerCreate(own->context, device, &sampler, &own->sampler), "zeSamplerCreate");
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_device_mem_alloc_desc_t of_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    check(zeMemAllocHost(own->context, &host, SIZE, 64, (void **)&own->host), "host");
    check(zeMemAllocHost(own->context, &host, SIZE, 64, (void **)&own->other), "host");
    check(zeMemAllocShared(own->context, &of_device, &host, SIZE, 64, device, (void **)&own->shared), "shared");
    check(zeMemAllocDevice(own->context, &of_device, SIZE, 64, device, &own->memory), "device");
    void *gone;
    check(zeMemAllocHost(own->context, &host, SIZE, 64, &gone), "host");
    check(zeMemFree(own->context, gone), "free"); /* no kernel reaches it */
}

static void make(struct own *own)
{
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_module_desc_t module = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV,
                               .inputSize = module_size, .pInputModule = module_bytes};
    ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    check(zeContextCreate(driver, &description, &own->context), "zeContextCreate");
    check(zeModuleCreate(own->context, device, &module, &own->module, NULL), "zeModuleCreate");
    check(zeCommandQueueCreate(own->context, device, &queue, &own->queue), "zeCommandQueueCreate");
    check(zeCommandListCreate(own->context, device, &list, &own->list), "zeCommandListCreate");
    queue.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    check(zeCommandListCreateImmediate(own->context, device, &queue, &own->immediate), "zeCommandListCreateImmediate");
    own->values = kernel_of(own, "values", 16, 2);
    own->reaching = kernel_of(own, "reaching", 8, 1);
    own->picture = kernel_of(own, "picture", 4, 4);
    make_objects(own);
    own->pair = (struct pair){(uint64_t)(uintptr_t)own->host, own->mark * 3};
}

static void *work(void *context)
{
    struct own *own = context;
    pthread_mutex_lock(&one_at_a_time); /* the newest driver's modules of several threads end the process, one time in a hundred */
    make(own);
    pthread_mutex_unlock(&one_at_a_time);
    fill(own->host, own->mark + 5);
    fill(own->other, own->mark + 6);
    for (int round = 0; round < rounds; ++round) {
        immediate_launches(own);
        ze_result_t (*set_offset)(ze_kernel_handle_t, uint32_t, uint32_t, uint32_t);
        *(void **)&set_offset = dlsym(RTLD_DEFAULT, "zeKernelSetGlobalOffsetExp");
        own->offset = 24;
        check(set_offset(own->values, own->offset, 0, 0), "offset");
        listed_launches(own);
        indirect_launches(own);
        own->offset = 0;
        check(set_offset(own->values, 0, 0, 0), "offset");
        reaching_launch(own);
        picture_launch(own);
    }
    check(zeKernelDestroy(own->values), "zeKernelDestroy");
    check(zeCommandListDestroy(own->list), "zeCommandListDestroy");
    check(zeMemFree(own->context, own->host), "free");
    return NULL;
}

int main(int count, char **words)
{
    FILE *file = count > 1 ? fopen(words[1], "rb") : NULL;
    if (file == NULL)
        return 8;
    setvbuf(stdout, NULL, _IOLBF, 0); /* a launch's lines are out before it */
    rounds = count > 2 ? atoi(words[2]) : 1;
    module_bytes = malloc(1 << 20);
    module_size = fread(module_bytes, 1, 1 << 20, file);
    fclose(file);
    uint32_t number = 1;
    check(zeInit(0), "zeInit");
    check(zeDriverGet(&number, &driver), "zeDriverGet");
    number = 1;
    check(zeDeviceGet(driver, &number, &device), "zeDeviceGet");
    *(void **)&launch_with = dlsym(RTLD_DEFAULT, "zeCommandListAppendLaunchKernelWithArguments");
    pthread_t threads[THREADS];
    struct own owns[THREADS] = {0};
    for (uint64_t index = 0; index < THREADS; ++index) {
        owns[index].mark = index * 1000000;
        pthread_create(&threads[index], NULL, work, &owns[index]);
    }
    pid_t child = fork();
    if (child == 0)
        _exit(3); /* while the others launch */
    int status = 0;
    waitpid(child, &status, 0);
    for (unsigned index = 0; index < THREADS; ++index)
        pthread_join(threads[index], NULL);
    printf("done %d\n", WEXITSTATUS(status));
    return 5;
}
