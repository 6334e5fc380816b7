/* Graphs on the fake driver (level_zero_fake_driver.c), through the tables that the layer gives a loader. Four threads record, launch,
 * clone and destroy at once; each launches "k" twelve times a round. */
#define _GNU_SOURCE
#include "level_zero_layer/newer_api.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 50, THREADS = 4, MEMORY = 256 };

ze_result_t fake_end(ze_command_list_handle_t list, void **graph);

static ze_kernel_dditable_t kernels;
static union {
    ze_command_list_dditable_t table;
    void *entries[64];
} lists;
static struct graph_table graphs;
static struct executable_graph_table executables;
static ze_driver_dditable_t drivers;
static ze_mem_dditable_t memories;
static ze_module_handle_t module = (ze_module_handle_t)(void *)&module;

static void check(ze_result_t result)
{
    if (result != ZE_RESULT_SUCCESS) {
        printf("%x\n", (unsigned)result);
        exit(1);
    }
}

static void *older(const char *name)
{
    void *function = NULL;
    check(drivers.pfnGetExtensionFunctionAddress(NULL, name, &function));
    return function;
}

static ze_command_list_handle_t immediate_list(void)
{
    ze_command_list_handle_t list;
    check(lists.table.pfnCreateImmediate(NULL, NULL, NULL, &list));
    return list;
}

/* Records two launches, executes them five times, and launches twice beside. */
static void round_of(int in_older_ways, int into_own_graph)
{
    const ze_group_count_t two = {2, 1, 1};
    list_begin_graph begin = (list_begin_graph)lists.entries[LIST_BEGIN_GRAPH];
    list_begin_into_graph begin_into = (list_begin_into_graph)lists.entries[LIST_BEGIN_INTO_GRAPH];
    list_append_graph append = (list_append_graph)lists.entries[LIST_APPEND_GRAPH];
    graph_destroy destroy = graphs.destroy, destroy_executable = executables.destroy;
    graph_instantiate_exp instantiate_older = NULL;
    if (in_older_ways) {
        begin = (list_begin_graph)older("zeCommandListBeginGraphCaptureExp");
        begin_into = (list_begin_into_graph)older("zeCommandListBeginCaptureIntoGraphExp");
        append = (list_append_graph)older("zeCommandListAppendGraphExp");
        instantiate_older = (graph_instantiate_exp)older("zeCommandListInstantiateGraphExp");
        destroy = (graph_destroy)older("zeGraphDestroyExp");
        destroy_executable = (graph_destroy)older("zeExecutableGraphDestroyExp");
    }
    const ze_kernel_desc_t description = {.pKernelName = "k"};
    ze_kernel_handle_t kernel;
    check(kernels.pfnCreate(module, &description, &kernel));
    check(kernels.pfnSetGroupSize(kernel, 16, 1, 1));
    uint64_t *memory; /* all of it is its own address */
    check(memories.pfnAllocHost(NULL, NULL, MEMORY, 64, (void **)&memory));
    for (size_t word = 0; word < MEMORY / sizeof *memory; ++word)
        memory[word] = (uintptr_t)memory;
    check(kernels.pfnSetArgumentValue(kernel, 0, sizeof memory, &memory));
    ze_command_list_handle_t list = immediate_list(), other = immediate_list();
    void *graph = into_own_graph ? calloc(1, 64) : NULL, *executable = NULL;
    check(into_own_graph ? begin_into(list, graph, NULL) : begin(list, NULL));
    for (int index = 0; index < 2; ++index)
        check(lists.table.pfnAppendLaunchKernel(list, kernel, &two, NULL, 0, NULL));
    check(fake_end(list, &graph));
    check(instantiate_older != NULL ? instantiate_older(graph, &executable, NULL) : graphs.instantiate(graph, NULL, &executable));
    if (append(list, NULL, NULL, NULL, 0, NULL) == ZE_RESULT_SUCCESS ||
        graphs.instantiate(NULL, NULL, &executable) == ZE_RESULT_SUCCESS)
        puts("not refused");
    check(destroy(graph)); /* the executable graph has what it needs */
    for (int index = 0; index < 5; ++index)
        check(append(other, executable, NULL, NULL, 0, NULL));
    check(destroy_executable(executable));
    for (int index = 0; index < 2; ++index)
        check(lists.table.pfnAppendLaunchKernel(other, kernel, &two, NULL, 0, NULL));
    check(lists.table.pfnDestroy(list));
    check(lists.table.pfnDestroy(other));
    check(memories.pfnFree(NULL, memory));
    check(kernels.pfnDestroy(kernel));
}

static void *work(void *number)
{
    for (int index = 0; index < ROUNDS; ++index)
        round_of((intptr_t)number % 2, index % 2);
    return NULL;
}

int main(void)
{
    const ze_api_version_t newest = (ze_api_version_t)GRAPHS_VERSION;
    /* A loader asks for its tables more than once: an older one's have no room for graphs. */
    check(zeGetCommandListProcAddrTable((ze_api_version_t)0x10000, &lists.table));
    for (size_t entry = sizeof lists.table / sizeof(void *); entry < sizeof lists.entries / sizeof(void *); ++entry)
        if (lists.entries[entry] != NULL)
            puts("written behind the table");
    for (int index = 0; index < 2; ++index) {
        check(zeGetKernelProcAddrTable(newest, &kernels));
        check(zeGetCommandListProcAddrTable(newest, &lists.table));
        check(zeGetGraphProcAddrTable(newest, &graphs));
        check(zeGetExecutableGraphProcAddrTable(newest, &executables));
        check(zeGetDriverProcAddrTable(newest, &drivers));
        check(zeGetMemProcAddrTable(newest, &memories));
    }
    void *none = NULL;
    if (drivers.pfnGetExtensionFunctionAddress(NULL, "no such function", &none) == ZE_RESULT_SUCCESS ||
        drivers.pfnGetExtensionFunctionAddress(NULL, NULL, NULL) == ZE_RESULT_SUCCESS)
        puts("found");
    pthread_t threads[THREADS];
    for (intptr_t index = 0; index < THREADS; ++index)
        pthread_create(&threads[index], NULL, work, (void *)index);
    for (int index = 0; index < THREADS; ++index)
        pthread_join(threads[index], NULL);
    puts("done");
    return 0;
}
