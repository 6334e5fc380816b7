/* Graphs of the Level Zero application (level_zero_application.c), which only newer drivers have. */
#define _GNU_SOURCE
#include "level_zero_application.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A function of the loader; or, with `of_driver`, the driver's under the name that it had before the specification had it. */
static void *function(const char *name, int of_driver)
{
    void *found = NULL;
    if (!of_driver)
        return dlsym(RTLD_DEFAULT, name);
    char older[100];
    snprintf(older, sizeof older, "%.*sExp", (int)strlen(name) - 3, name);
    return zeDriverGetExtensionFunctionAddress(driver, older, &found) == ZE_RESULT_SUCCESS ? found : NULL;
}

static ze_command_list_handle_t immediate_list(void)
{
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .flags = 1 << 1, /* in order */
                                           .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t list;
    check(zeCommandListCreateImmediate(context, device, &description, &list), "zeCommandListCreateImmediate");
    return list;
}

/* Records two launches of "scale", and one of "clear" in a second list that waits for the first one's event and is waited for;
 * executes that three times, and launches "clear" once by itself. */
void launch_graphs(int of_driver)
{
    ze_result_t (*begin)(ze_command_list_handle_t, const void *);
    ze_result_t (*end)(ze_command_list_handle_t, const void *, void **);
    ze_result_t (*end_older)(ze_command_list_handle_t, void **, const void *);
    ze_result_t (*instantiate)(void *, const void *, void **);
    ze_result_t (*instantiate_older)(void *, void **, const void *);
    ze_result_t (*append)(ze_command_list_handle_t, void *, const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
    ze_result_t (*destroy)(void *), (*destroy_executable)(void *);
    *(void **)&begin = function("zeCommandListBeginGraphCaptureExt", of_driver);
    *(void **)&end = *(void **)&end_older = function("zeCommandListEndGraphCaptureExt", of_driver);
    *(void **)&instantiate = function("zeGraphInstantiateExt", 0);
    *(void **)&instantiate_older = function("zeCommandListInstantiateGraphExt", 1);
    *(void **)&append = function("zeCommandListAppendGraphExt", of_driver);
    *(void **)&destroy = function("zeGraphDestroyExt", of_driver);
    *(void **)&destroy_executable = function("zeExecutableGraphDestroyExt", of_driver);
    printf("graphs %d\n", begin != NULL);
    if (begin == NULL)
        return;
    ze_module_handle_t module = from_spirv("plain", NULL, NULL);
    ze_kernel_handle_t scale = kernel_of(module, "scale"), clear = kernel_of(module, "clear");
    memory_for(scale, clear);
    check(zeKernelSetGroupSize(clear, 32, 1, 1), "zeKernelSetGroupSize");
    ze_command_list_handle_t first = immediate_list(), second = immediate_list();
    ze_event_handle_t forked = event_of(), joined = event_of();
    ze_group_count_t two = {2, 1, 1};
    void *graph = NULL, *executable = NULL;
    check(begin(first, NULL), "begin");
    check(zeCommandListAppendLaunchKernel(first, scale, &two, NULL, 0, NULL), "launch");
    check(zeCommandListAppendLaunchKernel(first, scale, &two, forked, 0, NULL), "launch");
    check(zeCommandListAppendLaunchKernel(second, clear, &two, joined, 1, &forked), "launch");
    check(zeCommandListAppendWaitOnEvents(first, 1, &joined), "wait");
    check(of_driver ? end_older(first, &graph, NULL) : end(first, NULL, &graph), "end");
    check(of_driver ? instantiate_older(graph, &executable, NULL) : instantiate(graph, NULL, &executable), "instantiate");
    for (int index = 0; index < 3; ++index)
        check(append(first, executable, NULL, NULL, 0, NULL), "append");
    check(zeCommandListAppendLaunchKernel(second, clear, &two, NULL, 0, NULL), "launch");
    check(destroy_executable(executable), "destroy");
    check(destroy(graph), "destroy");
    puts("launched");
}
