/* The tables that the Level Zero loader asks a driver for: the driver's own, with the recorder's functions in some places.
 *
 * The layer is loaded as a driver (ZE_ENABLE_ALT_DRIVERS). Of all that a driver exports it has what stands here; the loader finds
 * the rest in the driver itself, which the layer depends on. */
#define _GNU_SOURCE
#include "base/zeros.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/kept.h"
#include "level_zero_layer/layer.h"
#include "recording/counters.h"
#include "recording/current_calls.h"
#include "recording/lists.h"
#include "recording/spool.h"

#include <stdbool.h>

static bool captures, simulates, keeps;

__attribute__((constructor)) static void begin(void)
{
    simulates = device_is_simulated();
    captures = spool_open();
    if (!captures)
        return;
    counters_watch();
    calls_watch();
    kernels_watch();
    lists_watch();
    modules_open();
    keeps = kept_open();
    spool_here();
}

static void hook_lists(ze_command_list_dditable_t *table, ze_api_version_t version)
{
    if (simulates) {
        simulation_hook_lists(table, version);
        simulation_hook_image_copies(table, version);
    }
    if (captures)
        launches_hook_lists(table, version);
}

static void hook_kernels(ze_kernel_dditable_t *table, ze_api_version_t version)
{
    kernels_hook(table, version);
    if (keeps)
        kept_hook_kernels(table, version);
}

static void hook_memory(ze_mem_dditable_t *table, ze_api_version_t version)
{
    if (simulates)
        simulation_hook_memory(table, version);
    if (keeps)
        kept_hook_memory(table, version);
}

/* Defines the function that the loader asks for a table, with the hook that it gets `when` that is so. For a table that the driver
 * does not have, the loader must find nothing in it, and no error. */
#define TABLE(name, type, when, hook)                                                                                      \
    ze_result_t ZE_APICALL name(ze_api_version_t version, type *table)                                               \
    {                                                                                                                \
        ze_result_t(ZE_APICALL * fill)(ze_api_version_t, type *) =                                                   \
            (ze_result_t(ZE_APICALL *)(ze_api_version_t, type *))driver_function(#name);                             \
        ze_result_t result = fill != NULL ? fill(version, table) : ZE_RESULT_SUCCESS;                                \
        if (fill != NULL && result == ZE_RESULT_SUCCESS && table != NULL && (when)) {                                \
            driver_find();                                                                                           \
            hook(table, version);                                                                                    \
        }                                                                                                            \
        return result;                                                                                               \
    }

TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t, captures, modules_hook)
TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t, captures, hook_kernels)
TABLE(zeGetKernelExpProcAddrTable, ze_kernel_exp_dditable_t, keeps, kept_hook_newer_kernels)
TABLE(zeGetSamplerProcAddrTable, ze_sampler_dditable_t, keeps, kept_hook_samplers)
TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t, captures || simulates, hook_lists)
TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t, captures, launches_hook_queues)
TABLE(zeGetCommandListExpProcAddrTable, struct newer_list_table, captures, launches_hook_newer_lists)
TABLE(zeGetGraphProcAddrTable, struct graph_table, captures, graphs_hook_graphs)
TABLE(zeGetExecutableGraphProcAddrTable, struct executable_graph_table, captures, graphs_hook_executables)
TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t, captures, graphs_hook_driver)
TABLE(zeGetContextProcAddrTable, ze_context_dditable_t, simulates, simulation_hook_contexts)
TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t, simulates || keeps, hook_memory)
TABLE(zeGetImageProcAddrTable, ze_image_dditable_t, simulates || keeps, images_hook)
