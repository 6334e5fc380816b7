/* Memory of simulated devices: all of it is zero. Nothing is computed there, so what an application reads back would else be what
 * happened to lie in the memory that it gets, and what it builds next, which may depend on that, would differ from run to run. */
#ifndef KERNLENS_SIMULATED_MEMORY_H
#define KERNLENS_SIMULATED_MEMORY_H

#include <level_zero/ze_ddi.h>

void simulated_memory_hook(ze_mem_dditable_t *table, ze_api_version_t version);
void simulated_memory_hook_lists(ze_command_list_dditable_t *table);

#endif
