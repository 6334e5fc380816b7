/* A driver of Level Zero whose functions do next to nothing: what stands in front of it is tried (graphs_of_no_device.c) without a
 * device, in any process: with sanitizers, and below valgrind, where Intel's drivers do not start.
 *
 * Objects are memory, which is freed when they are destroyed: whoever looks into them, or uses them afterwards, is found out. */
#include "level_zero_layer/newer_api.h"

#include <stdlib.h>
#include <string.h>

struct object {
    void *graph; /* which records what is appended to this list */
};

static ze_result_t make(void **made)
{
    *made = calloc(1, sizeof(struct object));
    return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy(void *object)
{
    free(object);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t create_list(ze_context_handle_t context, ze_device_handle_t device, const void *description, void **list)
{
    (void)context, (void)device, (void)description;
    return make(list);
}

static ze_result_t create_kernel(ze_module_handle_t module, const ze_kernel_desc_t *description, ze_kernel_handle_t *kernel)
{
    (void)module, (void)description;
    return make((void **)kernel);
}

static ze_result_t set_group_size(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
    (void)kernel, (void)x, (void)y, (void)z;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t set_argument(ze_kernel_handle_t kernel, uint32_t number, size_t size, const void *value)
{
    (void)kernel, (void)number, (void)size, (void)value;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t allocate(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *description, size_t size, size_t alignment,
                            void **memory)
{
    (void)context, (void)description, (void)alignment;
    *memory = malloc(size);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t free_memory(ze_context_handle_t context, void *memory)
{
    (void)context;
    return destroy(memory);
}

static ze_result_t launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups,
                          ze_event_handle_t event, uint32_t count, ze_event_handle_t *events)
{
    (void)list, (void)kernel, (void)event, (void)count, (void)events;
    return groups == NULL ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_SUCCESS;
}

static ze_result_t begin(ze_command_list_handle_t list, const void *extensions)
{
    (void)extensions;
    return make(&((struct object *)list)->graph);
}

static ze_result_t begin_into(ze_command_list_handle_t list, void *graph, const void *extensions)
{
    (void)extensions;
    ((struct object *)list)->graph = graph;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t end(ze_command_list_handle_t list, const void *extensions, void **graph)
{
    (void)extensions;
    *graph = ((struct object *)list)->graph;
    ((struct object *)list)->graph = NULL;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t append(ze_command_list_handle_t list, void *executable, const void *extensions, ze_event_handle_t event,
                          uint32_t count, ze_event_handle_t *events)
{
    (void)list, (void)extensions, (void)event, (void)count, (void)events;
    return executable == NULL ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_SUCCESS;
}

static ze_result_t instantiate(void *graph, const void *extensions, void **executable)
{
    (void)extensions;
    return graph == NULL ? ZE_RESULT_ERROR_INVALID_ARGUMENT : make(executable);
}

static ze_result_t instantiate_older(void *graph, void **executable, const void *extensions)
{
    return instantiate(graph, extensions, executable);
}

static ze_result_t function_address(ze_driver_handle_t driver, const char *name, void **address)
{
    static const struct {
        const char *name;
        void *function;
    } OLDER[] = {
        {"zeCommandListBeginGraphCaptureExp", (void *)begin},
        {"zeCommandListBeginCaptureIntoGraphExp", (void *)begin_into},
        {"zeCommandListEndGraphCaptureExp", (void *)end},
        {"zeCommandListAppendGraphExp", (void *)append},
        {"zeCommandListInstantiateGraphExp", (void *)instantiate_older},
        {"zeGraphDestroyExp", (void *)destroy},
        {"zeExecutableGraphDestroyExp", (void *)destroy},
    };
    (void)driver;
    for (size_t index = 0; name != NULL && address != NULL && index < sizeof OLDER / sizeof *OLDER; ++index)
        if (strcmp(name, OLDER[index].name) == 0) {
            *address = OLDER[index].function;
            return ZE_RESULT_SUCCESS;
        }
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

/* What the recorder asks the driver for by name. */
ze_result_t zeCommandListGetGraphExt(ze_command_list_handle_t list, void **graph);
ze_result_t zeCommandListGetGraphExt(ze_command_list_handle_t list, void **graph)
{
    *graph = ((struct object *)list)->graph;
    return ZE_RESULT_SUCCESS;
}

/* Tables: the loader asks for as much as it knows. */
ze_result_t zeGetKernelProcAddrTable(ze_api_version_t version, ze_kernel_dditable_t *table)
{
    (void)version;
    table->pfnCreate = create_kernel;
    table->pfnDestroy = (ze_pfnKernelDestroy_t)destroy;
    table->pfnSetGroupSize = set_group_size;
    table->pfnSetArgumentValue = set_argument;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetMemProcAddrTable(ze_api_version_t version, ze_mem_dditable_t *table)
{
    (void)version;
    table->pfnAllocHost = allocate;
    table->pfnFree = free_memory;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetCommandListProcAddrTable(ze_api_version_t version, ze_command_list_dditable_t *table)
{
    table->pfnCreateImmediate = (ze_pfnCommandListCreateImmediate_t)create_list;
    table->pfnDestroy = (ze_pfnCommandListDestroy_t)destroy;
    table->pfnAppendLaunchKernel = launch;
    if ((int)version >= GRAPHS_VERSION) {
        ((void **)table)[LIST_BEGIN_GRAPH] = (void *)begin;
        ((void **)table)[LIST_BEGIN_INTO_GRAPH] = (void *)begin_into;
        ((void **)table)[LIST_APPEND_GRAPH] = (void *)append;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetGraphProcAddrTable(ze_api_version_t version, struct graph_table *table)
{
    (void)version;
    table->instantiate = instantiate;
    table->destroy = destroy;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetExecutableGraphProcAddrTable(ze_api_version_t version, struct executable_graph_table *table)
{
    (void)version;
    table->destroy = destroy;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetDriverProcAddrTable(ze_api_version_t version, ze_driver_dditable_t *table)
{
    (void)version;
    table->pfnGetExtensionFunctionAddress = function_address;
    return ZE_RESULT_SUCCESS;
}

/* Ends what a list records; nobody stands in front of that. */
ze_result_t fake_end(ze_command_list_handle_t list, void **graph);
ze_result_t fake_end(ze_command_list_handle_t list, void **graph)
{
    return end(list, NULL, graph);
}
