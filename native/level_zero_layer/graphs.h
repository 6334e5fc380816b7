/* Graphs, which record what is appended to immediate lists, to be launched when an executable graph of theirs is appended. */
#ifndef KERNLENS_GRAPHS_H
#define KERNLENS_GRAPHS_H

#include "level_zero_layer/newer_api.h"

/* Returns the graph that records what was just appended to the list; NULL if it went to the device. */
const void *graph_of(ze_command_list_handle_t list);

/* Put the recorder's functions into the loader's tables; that of drivers gives functions by their names. */
void graphs_hook_lists(ze_command_list_dditable_t *table, ze_api_version_t version);
void graphs_hook_graphs(struct graph_table *table, ze_api_version_t version);
void graphs_hook_executables(struct executable_graph_table *table, ze_api_version_t version);
void graphs_hook_driver(ze_driver_dditable_t *table, ze_api_version_t version);

#endif
