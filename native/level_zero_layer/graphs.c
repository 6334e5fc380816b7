/* Graphs, which record what is appended to immediate lists, to be launched when an executable graph of theirs is appended. */
#define _GNU_SOURCE
#include "base/locks.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/kept.h"
#include "level_zero_layer/layer.h"
#include "recording/lists.h"

#include <string.h>

static list_begin_graph next_begin;
static list_begin_into_graph next_begin_into;
static list_append_graph next_append;
static graph_instantiate next_instantiate;
static graph_instantiate_exp next_instantiate_exp;
static graph_destroy next_destroy, next_destroy_executable;
static ze_pfnDriverGetExtensionFunctionAddress_t next_function_address;

static ze_result_t ZE_APICALL begin(ze_command_list_handle_t list, const void *extensions)
{
    recording_begins();
    return next_begin(list, extensions);
}

static ze_result_t ZE_APICALL begin_into(ze_command_list_handle_t list, void *graph, const void *extensions)
{
    recording_begins();
    return next_begin_into(list, graph, extensions);
}

static ze_result_t ZE_APICALL append(ze_command_list_handle_t list, void *executable, const void *extensions,
                                     ze_event_handle_t event, uint32_t count, ze_event_handle_t *events)
{
    struct kept_launches launches = {0};
    if (graph_of(list) == NULL)
        kept_execute(&launches, executable);
    ze_result_t result = next_append(list, executable, extensions, event, count, events);
    kept_executed(&launches, result);
    if (result == ZE_RESULT_SUCCESS)
        list_appended_list(list, graph_of(list), executable);
    return result;
}

static ze_result_t ZE_APICALL instantiate(void *graph, const void *extensions, void **executable)
{
    ze_result_t result = next_instantiate(graph, extensions, executable);
    if (result == ZE_RESULT_SUCCESS)
        list_cloned(*executable, graph);
    return result;
}

static ze_result_t ZE_APICALL instantiate_exp(void *graph, void **executable, const void *extensions)
{
    ze_result_t result = next_instantiate_exp(graph, executable, extensions);
    if (result == ZE_RESULT_SUCCESS)
        list_cloned(*executable, graph);
    return result;
}

static ze_result_t ZE_APICALL destroy(void *graph)
{
    list_destroyed(graph); /* before another thread's new graph may have the handle */
    return next_destroy(graph);
}

static ze_result_t ZE_APICALL destroy_executable(void *executable)
{
    list_destroyed(executable);
    return next_destroy_executable(executable);
}

/* Drivers had graphs as functions of other names before the specification had them. */
static const struct {
    const char *name;
    void *function;
    void *next; /* where the pointer to the driver's goes */
} BY_NAME[] = {
    {"zeCommandListBeginGraphCaptureExp", (void *)begin, &next_begin},
    {"zeCommandListBeginGraphCaptureExt", (void *)begin, &next_begin},
    {"zeCommandListBeginCaptureIntoGraphExp", (void *)begin_into, &next_begin_into},
    {"zeCommandListBeginCaptureIntoGraphExt", (void *)begin_into, &next_begin_into},
    {"zeCommandListAppendGraphExp", (void *)append, &next_append},
    {"zeCommandListAppendGraphExt", (void *)append, &next_append},
    {"zeCommandListInstantiateGraphExp", (void *)instantiate_exp, &next_instantiate_exp},
    {"zeGraphInstantiateExt", (void *)instantiate, &next_instantiate},
    {"zeGraphDestroyExp", (void *)destroy, &next_destroy},
    {"zeGraphDestroyExt", (void *)destroy, &next_destroy},
    {"zeExecutableGraphDestroyExp", (void *)destroy_executable, &next_destroy_executable},
    {"zeExecutableGraphDestroyExt", (void *)destroy_executable, &next_destroy_executable},
};

/* What is there already stays: other threads call it, without a lock. */
static void keep_first(void *place, const void *function)
{
    const void *known;
    lock_take(LOCK_PLATFORMS);
    memcpy(&known, place, sizeof known);
    if (known == NULL)
        memcpy(place, &function, sizeof function);
    lock_give(LOCK_PLATFORMS);
}

static ze_result_t ZE_APICALL function_address(ze_driver_handle_t of, const char *name, void **address)
{
    ze_result_t result = next_function_address(of, name, address);
    if (result != ZE_RESULT_SUCCESS || name == NULL || address == NULL || *address == NULL)
        return result;
    for (size_t index = 0; index < sizeof BY_NAME / sizeof *BY_NAME; ++index)
        if (strcmp(name, BY_NAME[index].name) == 0 && *address != BY_NAME[index].function) {
            keep_first(BY_NAME[index].next, *address);
            *address = BY_NAME[index].function;
        }
    return result;
}

void graphs_hook_lists(ze_command_list_dditable_t *table, ze_api_version_t version)
{
    PUT_IN_FRONT_AT(newer_entry(table, LIST_BEGIN_GRAPH, version, GRAPHS_VERSION), begin, next_begin, list_begin_graph);
    PUT_IN_FRONT_AT(newer_entry(table, LIST_BEGIN_INTO_GRAPH, version, GRAPHS_VERSION), begin_into, next_begin_into,
                    list_begin_into_graph);
    PUT_IN_FRONT_AT(newer_entry(table, LIST_APPEND_GRAPH, version, GRAPHS_VERSION), append, next_append, list_append_graph);
}

void graphs_hook_graphs(struct graph_table *table, ze_api_version_t version)
{
    if ((int)version < GRAPHS_VERSION)
        return;
    PUT_IN_FRONT(table->instantiate, instantiate, next_instantiate);
    PUT_IN_FRONT(table->destroy, destroy, next_destroy);
}

void graphs_hook_executables(struct executable_graph_table *table, ze_api_version_t version)
{
    if ((int)version >= GRAPHS_VERSION)
        PUT_IN_FRONT(table->destroy, destroy_executable, next_destroy_executable);
}

void graphs_hook_driver(ze_driver_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* it is in every one that can have graphs */
    PUT_IN_FRONT(table->pfnGetExtensionFunctionAddress, function_address, next_function_address);
}
