/* Launches that a capture keeps whole (recording/chosen_launches.h): what they were given, and the memory that they could reach. What it
 * holds is read of simulated devices only, where nothing runs: the application's own threads are all that changes it. */
#ifndef KERNLENS_LEVEL_ZERO_KEPT_H
#define KERNLENS_LEVEL_ZERO_KEPT_H

#include "level_zero_layer/newer_api.h"
#include "recording/lists.h"
#include "recording/reached.h"

/* kept_launches.c. Tells whether launches are to be kept; the rest does nothing if not. For a loading layer. */
bool kept_open(void);

/* A launch that is being appended, as the application asks for it. */
struct launching {
    ze_kernel_handle_t kernel;
    const ze_group_count_t *groups;
    bool is_indirect;         /* the groups are in memory of the device, which is read when the launch comes */
    const uint32_t *count_at; /* of several launches: memory that says how many of them come; NULL: this one does */
    uint32_t place;           /* of this one among them */
};
/* Launches of one call of the driver: as they were appended, and those that are kept. */
struct kept_launches {
    struct listed_launches appended;
    struct kept_launch *begun;
};
/* A launch is to be appended to the list: keeps it if it comes at once. */
void kept_append(struct kept_launches *launches, ze_command_list_handle_t list, const struct launching *launching);
/* The driver has answered: the list holds what comes later. */
void kept_appended(struct kept_launches *launches, ze_command_list_handle_t list, ze_result_t result);
/* All that a list, or an executable graph, launches is to come; not if that is recorded in a graph. */
void kept_execute(struct kept_launches *launches, const void *list);
/* The driver has answered. */
void kept_executed(struct kept_launches *launches, ze_result_t result);

/* kept_kernels.c: what kernels are given. */
void kept_hook_kernels(ze_kernel_dditable_t *table, ze_api_version_t version);
void kept_hook_newer_kernels(ze_kernel_exp_dditable_t *table, ze_api_version_t version);
/* kept_arguments.c. A launch brings all of the kernel's arguments: notes them, or that they are not known; without any, that. */
void kept_given(ze_kernel_handle_t kernel, void **arguments);

/* kept_objects.c: allocations and samplers. The first has forks looked after, for a loading layer. */
void kept_objects_watch(void);
void kept_hook_memory(ze_mem_dditable_t *table, ze_api_version_t version);
void kept_hook_samplers(ze_sampler_dditable_t *table, ze_api_version_t version);
/* Tells a sampler in OpenCL's numbers; false if the handle is none's. */
bool kept_sampler(const void *handle, uint64_t sampler[3]);

/* kept_images.c. Tells an image in OpenCL's numbers; false if OpenCL has no such format. */
bool kept_image(const ze_image_desc_t *description, struct image_form *form);

#endif
