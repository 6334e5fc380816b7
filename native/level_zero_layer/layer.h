/* What the parts of the layer share. Each puts its functions into the loader's tables (tables.c). */
#ifndef KERNLENS_LEVEL_ZERO_LAYER_H
#define KERNLENS_LEVEL_ZERO_LAYER_H

#include "level_zero_layer/newer_api.h"
#include "recording/counters.h"

#include <stdbool.h>

/* modules.c: how modules are made, and linked. The first takes from the environment which options are added, and what stands in
 * for modules, for a loading layer. */
void modules_open(void);
void modules_hook(ze_module_dditable_t *table, ze_api_version_t version);

/* kernels.c: kernels that the application created. The first has forks looked after, for a loading layer. */
void kernels_watch(void);
void kernels_hook(ze_kernel_dditable_t *table, ze_api_version_t version);
/* Notes the size of the kernel's work groups. */
void kernel_group_size(const void *kernel, uint32_t x, uint32_t y, uint32_t z);
/* Returns what so many groups of the kernel are; without dimensions if the groups' size or number (NULL) is not known. */
struct shape kernel_shape(const void *kernel, const ze_group_count_t *groups);

/* launches.c: command lists, and the kernels that they launch. */
void launches_hook_lists(ze_command_list_dditable_t *table, ze_api_version_t version);
void launches_hook_newer_lists(struct newer_list_table *table, ze_api_version_t version);
void launches_hook_queues(ze_command_queue_dditable_t *table, ze_api_version_t version);

/* images.c: living images, as they were made. */
void images_hook(ze_image_dditable_t *table, ze_api_version_t version);
/* False if the handle is no image's that is known. */
bool image_description(const void *image, ze_image_desc_t *description);
/* Returns 0 for formats whose pixels are not each in bytes of their own. */
size_t image_pixel_size(ze_image_format_layout_t layout);

/* graphs.c: graphs, which record what is appended to immediate lists. The table of drivers gives functions by their names. */
void graphs_hook_lists(ze_command_list_dditable_t *table, ze_api_version_t version);
void graphs_hook_graphs(struct graph_table *table, ze_api_version_t version);
void graphs_hook_executables(struct executable_graph_table *table, ze_api_version_t version);
void graphs_hook_driver(ze_driver_dditable_t *table, ze_api_version_t version);

/* recorded_lists.c: a list is going to be recorded in a graph. */
void recording_begins(void);
/* Returns the graph that records what was just appended to the list; NULL if it went to the device. */
const void *graph_of(ze_command_list_handle_t list);

/* simulation.c: what simulated devices do otherwise. */
void simulation_hook_contexts(ze_context_dditable_t *table, ze_api_version_t version);
void simulation_hook_memory(ze_mem_dditable_t *table, ze_api_version_t version);
void simulation_hook_lists(ze_command_list_dditable_t *table, ze_api_version_t version);
/* Whether the memory is a device's, which the processor cannot reach; false if the driver does not say. */
bool simulation_is_of_device(const void *memory);

/* simulated_images.c: what is copied out of their images. */
void simulation_hook_image_copies(ze_command_list_dditable_t *table, ze_api_version_t version);

#endif
