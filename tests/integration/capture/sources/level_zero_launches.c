/* The launches of the Level Zero application (level_zero_application.c). */
#define _GNU_SOURCE
#include "level_zero_application.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char *name)
{
    ze_kernel_desc_t description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t kernel;
    check(zeKernelCreate(module, &description, &kernel), "zeKernelCreate");
    return kernel;
}

void *memory_for(ze_kernel_handle_t scale, ze_kernel_handle_t clear)
{
    void *memory;
    ze_device_mem_alloc_desc_t allocation = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    check(zeMemAllocDevice(context, &allocation, 4096, 64, device, &memory), "zeMemAllocDevice");
    float factor = 2;
    check(zeKernelSetArgumentValue(scale, 0, sizeof memory, &memory), "argument");
    check(zeKernelSetArgumentValue(scale, 1, sizeof factor, &factor), "argument");
    check(zeKernelSetArgumentValue(clear, 0, sizeof memory, &memory), "argument");
    return memory;
}

/* Functions that only newer loaders and drivers have: a list is appended to an immediate one, twice, with two
 * launches of "scale"; and "clear" is launched with its arguments and sizes. */
void launch_in_newer_ways(void)
{
    struct sizes {
        uint32_t x, y, z;
    };
    ze_result_t (*append_lists)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t *, ze_event_handle_t, uint32_t,
                                ze_event_handle_t *);
    *(void **)&append_lists = dlsym(RTLD_DEFAULT, "zeCommandListImmediateAppendCommandListsExp");
    ze_result_t (*with_arguments)(ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t, struct sizes, void **,
                                  const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
    *(void **)&with_arguments = dlsym(RTLD_DEFAULT, "zeCommandListAppendLaunchKernelWithArguments");
    ze_module_handle_t module = from_spirv("plain", NULL, NULL);
    ze_kernel_handle_t scale = kernel_of(module, "scale"), clear = kernel_of(module, "clear");
    void *memory = memory_for(scale, clear);
    ze_command_list_desc_t list_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t list, immediate;
    check(zeCommandListCreate(context, device, &list_description, &list), "zeCommandListCreate");
    check(zeCommandListCreateImmediate(context, device, &description, &immediate), "zeCommandListCreateImmediate");
    ze_group_count_t two = {2, 1, 1};
    check(zeCommandListAppendLaunchKernel(list, scale, &two, NULL, 0, NULL), "launch"); /* of the size that it requires */
    check(zeCommandListAppendLaunchKernel(list, scale, &two, NULL, 0, NULL), "launch");
    check(zeCommandListClose(list), "close");
    for (int index = 0; append_lists != NULL && index < 2; ++index)
        check(append_lists(immediate, 1, &list, NULL, 0, NULL), "append lists");
    void *arguments[] = {&memory};
    struct sizes sizes = {64, 1, 1};
    if (with_arguments != NULL)
        check(with_arguments(immediate, clear, two, sizes, arguments, NULL, NULL, 0, NULL), "with arguments");
    printf("newer %d %d\n", append_lists != NULL, with_arguments != NULL);
    check(zeCommandListDestroy(list), "zeCommandListDestroy");
    check(zeCommandListDestroy(immediate), "zeCommandListDestroy");
}

ze_event_handle_t event_of(void)
{
    ze_event_pool_desc_t pool_description = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
    ze_event_desc_t description = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;
    check(zeEventPoolCreate(context, &pool_description, 1, &device, &pool), "zeEventPoolCreate");
    check(zeEventCreate(pool, &description, &event), "zeEventCreate");
    return event;
}

/* Not all drivers launch cooperatively, or several kernels at once: what they answered is printed. */
void launch(int times)
{
    ze_module_handle_t module = from_spirv("plain", NULL, NULL);
    ze_kernel_handle_t scale = kernel_of(module, "scale"), clear = kernel_of(module, "clear");
    void *memory = memory_for(scale, clear);
    check(zeKernelSetGroupSize(scale, 16, 2, 1), "zeKernelSetGroupSize");
    check(zeKernelSetGroupSize(clear, 32, 1, 1), "zeKernelSetGroupSize");
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list, immediate;
    check(zeCommandQueueCreate(context, device, &description, &queue), "zeCommandQueueCreate");
    check(zeCommandListCreate(context, device, &list_description, &list), "zeCommandListCreate");
    ze_group_count_t two = {2, 1, 1}, four = {4, 3, 1};
    ze_kernel_handle_t both[] = {scale, clear};
    check(zeCommandListAppendLaunchKernel(list, clear, &two, NULL, 0, NULL), "launch");
    check(zeCommandListClose(list), "close");
    check(zeCommandListReset(list), "reset"); /* the launch before it never comes */
    check(zeCommandListAppendLaunchKernel(list, scale, &two, NULL, 0, NULL), "launch");
    check(zeCommandListAppendLaunchKernel(list, scale, &four, NULL, 0, NULL), "launch");
    printf("cooperative %#x\n",
           (unsigned)zeCommandListAppendLaunchCooperativeKernel(list, scale, &two, NULL, 0, NULL));
    check(zeCommandListAppendLaunchKernelIndirect(list, clear, memory, NULL, 0, NULL), "indirect");
    printf("several %#x\n", (unsigned)zeCommandListAppendLaunchMultipleKernelsIndirect(list, 2, both, memory, memory, NULL, 0, NULL));
    check(zeCommandListClose(list), "close");
    for (int index = 0; index < times; ++index) {
        check(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL), "execute");
        check(zeCommandQueueSynchronize(queue, UINT64_MAX), "synchronize");
    }
    description.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    check(zeCommandListCreateImmediate(context, device, &description, &immediate), "zeCommandListCreateImmediate");
    check(zeCommandListAppendLaunchKernel(immediate, clear, &two, NULL, 0, NULL), "launch");
    check(zeCommandListAppendLaunchKernel(immediate, clear, &four, NULL, 0, NULL), "launch");
    check(zeCommandListDestroy(immediate), "zeCommandListDestroy");
    check(zeCommandListDestroy(list), "zeCommandListDestroy");
    check(zeCommandQueueDestroy(queue), "zeCommandQueueDestroy");
    check(zeKernelDestroy(scale), "zeKernelDestroy");
    check(zeKernelDestroy(clear), "zeKernelDestroy");
    check(zeMemFree(context, memory), "zeMemFree");
    check(zeModuleDestroy(module), "zeModuleDestroy");
    puts("launched");
}
