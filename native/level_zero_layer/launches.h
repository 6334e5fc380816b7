/* What a capture counts of command lists: the kernels that they launch. */
#ifndef KERNLENS_LAUNCHES_H
#define KERNLENS_LAUNCHES_H

#include "level_zero_layer/newer_api.h"

/* Put the recorder's functions into the loader's tables. */
void launches_hook_lists(ze_command_list_dditable_t *table, ze_api_version_t version);
void launches_hook_newer_lists(struct newer_list_table *table, ze_api_version_t version);
void launches_hook_queues(ze_command_queue_dditable_t *table, ze_api_version_t version);

#endif
