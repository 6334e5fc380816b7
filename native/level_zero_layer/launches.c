/* What a capture counts of command lists: the kernels that they launch. */
#define _GNU_SOURCE
#include "level_zero_layer/driver.h"
#include "level_zero_layer/kept.h"
#include "level_zero_layer/layer.h"
#include "recording/current_calls.h"
#include "recording/lists.h"
#include "recording/spool.h"

static ze_pfnCommandListCreate_t next_create;
static ze_pfnCommandListCreateImmediate_t next_create_immediate;
static ze_pfnCommandListDestroy_t next_destroy;
static ze_pfnCommandListReset_t next_reset;
static ze_pfnCommandListAppendLaunchKernel_t next_launch;
static ze_pfnCommandListAppendLaunchCooperativeKernel_t next_launch_cooperative;
static ze_pfnCommandListAppendLaunchKernelIndirect_t next_launch_indirect;
static ze_pfnCommandListAppendLaunchMultipleKernelsIndirect_t next_launch_several;
static list_launch_with_parameters next_launch_with_parameters;
static list_launch_with_arguments next_launch_with_arguments;
static list_create_clone next_create_clone;
static list_append_lists next_append_lists;
static list_append_lists_with_parameters next_append_lists_with_parameters;
static list_update next_update;
static list_update_kernels next_update_kernels;
static ze_pfnCommandQueueExecuteCommandLists_t next_execute;

static ze_result_t ZE_APICALL create(ze_context_handle_t context, ze_device_handle_t device,
                                     const ze_command_list_desc_t *description, ze_command_list_handle_t *list)
{
    ze_result_t result = next_create(context, device, description, list);
    if (result == ZE_RESULT_SUCCESS)
        list_created(*list, &(struct list_home){.device = device, .context = context});
    return result;
}

static ze_result_t ZE_APICALL create_immediate(ze_context_handle_t context, ze_device_handle_t device,
                                               const ze_command_queue_desc_t *description, ze_command_list_handle_t *list)
{
    ze_result_t result = next_create_immediate(context, device, description, list);
    if (result == ZE_RESULT_SUCCESS)
        list_created(*list, &(struct list_home){.device = device, .context = context, .is_immediate = true});
    return result;
}

static ze_result_t ZE_APICALL create_clone(ze_command_list_handle_t list, ze_command_list_handle_t *clone)
{
    ze_result_t result = next_create_clone(list, clone);
    if (result == ZE_RESULT_SUCCESS)
        list_cloned(*clone, list);
    return result;
}

static ze_result_t ZE_APICALL destroy(ze_command_list_handle_t list)
{
    list_destroyed(list); /* before another thread's new list may have the handle */
    return next_destroy(list);
}

static ze_result_t ZE_APICALL reset(ze_command_list_handle_t list)
{
    ze_result_t result = next_reset(list);
    if (result == ZE_RESULT_SUCCESS)
        list_reset(list);
    return result;
}

/* Counts a launch that was appended; `groups` is NULL where memory of the device says how many. */
static void appended(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups)
{
    struct shape shape = kernel_shape(kernel, groups);
    list_appended(list, graph_of(list), kernel, &shape);
}

/* Defines a function that appends one launch; `known` is what is known of the number of groups: NULL, if memory holds it. */
#define LAUNCH(name, called, next, known)                                                                            \
    static ze_result_t ZE_APICALL name(ze_command_list_handle_t list, ze_kernel_handle_t kernel,                     \
                                       const ze_group_count_t *groups, ze_event_handle_t event, uint32_t count,      \
                                       ze_event_handle_t *events)                                                    \
    {                                                                                                                \
        struct kept_launches launches = {0};                                                                         \
        kept_append(&launches, list, &(struct launching){kernel, groups, (known) == NULL, NULL, 0});                 \
        ze_result_t result = NOTED(called, next(list, kernel, groups, event, count, events));                        \
        kept_appended(&launches, list, result);                                                                      \
        if (result == ZE_RESULT_SUCCESS)                                                                             \
            appended(list, kernel, known);                                                                           \
        return result;                                                                                               \
    }

LAUNCH(launch, "zeCommandListAppendLaunchKernel", next_launch, groups)
LAUNCH(launch_cooperative, "zeCommandListAppendLaunchCooperativeKernel", next_launch_cooperative, groups)
LAUNCH(launch_indirect, "zeCommandListAppendLaunchKernelIndirect", next_launch_indirect, NULL)

static ze_result_t ZE_APICALL launch_several(ze_command_list_handle_t list, uint32_t kernel_count, ze_kernel_handle_t *kernels,
                                             const uint32_t *count_buffer, const ze_group_count_t *groups,
                                             ze_event_handle_t event, uint32_t count, ze_event_handle_t *events)
{
    struct kept_launches launches = {0};
    for (uint32_t index = 0; kernels != NULL && groups != NULL && index < kernel_count; ++index)
        kept_append(&launches, list, &(struct launching){kernels[index], &groups[index], true, count_buffer, index});
    ze_result_t result = next_launch_several(list, kernel_count, kernels, count_buffer, groups, event, count, events);
    kept_appended(&launches, list, result);
    for (uint32_t index = 0; result == ZE_RESULT_SUCCESS && index < kernel_count; ++index)
        appended(list, kernels[index], NULL);
    return result;
}

static ze_result_t ZE_APICALL launch_with_parameters(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                     const ze_group_count_t *groups, const void *extensions,
                                                     ze_event_handle_t event, uint32_t count, ze_event_handle_t *events)
{
    struct kept_launches launches = {0};
    kept_append(&launches, list, &(struct launching){kernel, groups, false, NULL, 0});
    ze_result_t result = next_launch_with_parameters(list, kernel, groups, extensions, event, count, events);
    kept_appended(&launches, list, result);
    if (result == ZE_RESULT_SUCCESS)
        appended(list, kernel, groups);
    return result;
}

static ze_result_t ZE_APICALL launch_with_arguments(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                    ze_group_count_t groups, struct newer_group_size size, void **arguments,
                                                    const void *extensions, ze_event_handle_t event, uint32_t count,
                                                    ze_event_handle_t *events)
{
    struct kept_launches launches = {0};
    kept_given(kernel, arguments);
    kernel_group_size(kernel, size.x, size.y, size.z); /* the launch's own, which is kept with it */
    kept_append(&launches, list, &(struct launching){kernel, &groups, false, NULL, 0});
    ze_result_t result =
        next_launch_with_arguments(list, kernel, groups, size, arguments, extensions, event, count, events);
    kept_appended(&launches, list, result);
    if (result == ZE_RESULT_SUCCESS) {
        appended(list, kernel, &groups);
    } else { /* the driver may have taken some of them */
        kept_given(kernel, NULL);
        kernel_group_size(kernel, 0, 0, 0);
    }
    return result;
}

/* Counts lists that were appended to an immediate one. */
static void lists_appended(ze_command_list_handle_t list, uint32_t count, ze_command_list_handle_t *lists)
{
    const void *graph = graph_of(list);
    for (uint32_t index = 0; index < count; ++index)
        list_appended_list(list, graph, lists[index]);
}

/* Keeps what an immediate list launches through others, if it is not recorded. */
static void lists_come(struct kept_launches *launches, ze_command_list_handle_t list, uint32_t count, ze_command_list_handle_t *lists)
{
    bool is_recorded = graph_of(list) != NULL;
    for (uint32_t index = 0; lists != NULL && !is_recorded && index < count; ++index)
        kept_execute(launches, lists[index]);
}

static ze_result_t ZE_APICALL append_lists(ze_command_list_handle_t list, uint32_t list_count, ze_command_list_handle_t *lists,
                                           ze_event_handle_t event, uint32_t count, ze_event_handle_t *events)
{
    struct kept_launches launches = {0};
    lists_come(&launches, list, list_count, lists);
    ze_result_t result = next_append_lists(list, list_count, lists, event, count, events);
    kept_executed(&launches, result);
    if (result == ZE_RESULT_SUCCESS)
        lists_appended(list, list_count, lists);
    return result;
}

static ze_result_t ZE_APICALL append_lists_with_parameters(ze_command_list_handle_t list, uint32_t list_count,
                                                           ze_command_list_handle_t *lists, const void *extensions,
                                                           ze_event_handle_t event, uint32_t count,
                                                           ze_event_handle_t *events)
{
    struct kept_launches launches = {0};
    lists_come(&launches, list, list_count, lists);
    ze_result_t result = next_append_lists_with_parameters(list, list_count, lists, extensions, event, count, events);
    kept_executed(&launches, result);
    if (result == ZE_RESULT_SUCCESS)
        lists_appended(list, list_count, lists);
    return result;
}

static ze_result_t ZE_APICALL execute(ze_command_queue_handle_t queue, uint32_t count, ze_command_list_handle_t *lists,
                                      ze_fence_handle_t fence)
{
    struct kept_launches launches = {0};
    for (uint32_t index = 0; lists != NULL && index < count; ++index)
        kept_execute(&launches, lists[index]);
    ze_result_t result = NOTED("zeCommandQueueExecuteCommandLists", next_execute(queue, count, lists, fence));
    kept_executed(&launches, result);
    for (uint32_t index = 0; result == ZE_RESULT_SUCCESS && index < count; ++index)
        list_executed(lists[index]);
    return result;
}

/* What a launch of the list was given may be another now. */
static void changed(ze_command_list_handle_t list, ze_result_t result)
{
    if (result == ZE_RESULT_SUCCESS && list_changed(list))
        spool_missing("launches of a command list that was changed after it was closed", 0);
}

static ze_result_t ZE_APICALL update(ze_command_list_handle_t list, const void *changes)
{
    ze_result_t result = next_update(list, changes);
    changed(list, result);
    return result;
}

static ze_result_t ZE_APICALL update_kernels(ze_command_list_handle_t list, uint32_t count, uint64_t *commands,
                                             ze_kernel_handle_t *kernels)
{
    ze_result_t result = next_update_kernels(list, count, commands, kernels);
    changed(list, result);
    return result;
}

void launches_hook_lists(ze_command_list_dditable_t *table, ze_api_version_t version)
{
    PUT_IN_FRONT(table->pfnCreate, create, next_create);
    PUT_IN_FRONT(table->pfnCreateImmediate, create_immediate, next_create_immediate);
    PUT_IN_FRONT(table->pfnDestroy, destroy, next_destroy);
    PUT_IN_FRONT(table->pfnReset, reset, next_reset);
    PUT_IN_FRONT(table->pfnAppendLaunchKernel, launch, next_launch);
    PUT_IN_FRONT(table->pfnAppendLaunchCooperativeKernel, launch_cooperative, next_launch_cooperative);
    PUT_IN_FRONT(table->pfnAppendLaunchKernelIndirect, launch_indirect, next_launch_indirect);
    PUT_IN_FRONT(table->pfnAppendLaunchMultipleKernelsIndirect, launch_several, next_launch_several);
    PUT_IN_FRONT_AT(newer_entry(table, LIST_LAUNCH_WITH_PARAMETERS, version, LIST_LAUNCH_WITH_VERSION),
                    launch_with_parameters, next_launch_with_parameters, list_launch_with_parameters);
    PUT_IN_FRONT_AT(newer_entry(table, LIST_LAUNCH_WITH_ARGUMENTS, version, LIST_LAUNCH_WITH_VERSION),
                    launch_with_arguments, next_launch_with_arguments, list_launch_with_arguments);
    PUT_IN_FRONT_AT(newer_entry(table, LIST_APPEND_LISTS_WITH_PARAMETERS, version, LIST_APPEND_LISTS_WITH_VERSION),
                    append_lists_with_parameters, next_append_lists_with_parameters, list_append_lists_with_parameters);
    graphs_hook_lists(table, version);
}

void launches_hook_newer_lists(struct newer_list_table *table, ze_api_version_t version)
{
    if ((int)version < LIST_TABLE_VERSION)
        return;
    PUT_IN_FRONT(table->create_clone, create_clone, next_create_clone);
    PUT_IN_FRONT(table->append_lists, append_lists, next_append_lists);
    PUT_IN_FRONT(table->update, update, next_update);
    if ((int)version >= LIST_TABLE_WITH_KERNELS)
        PUT_IN_FRONT(table->update_kernels, update_kernels, next_update_kernels);
}

void launches_hook_queues(ze_command_queue_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* it is in every one */
    PUT_IN_FRONT(table->pfnExecuteCommandLists, execute, next_execute);
}
