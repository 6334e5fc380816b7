/* Kernels that the application created, and the sizes of their work groups. */
#ifndef KERNLENS_KERNELS_H
#define KERNLENS_KERNELS_H

#include "recording/counters.h"

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

/* Has forks looked after. For a loading layer. */
void kernels_watch(void);
/* Puts the recorder's functions into the loader's table. */
void kernels_hook(ze_kernel_dditable_t *table, ze_api_version_t version);
/* Notes the size of the kernel's work groups. */
void kernel_group_size(const void *kernel, uint32_t x, uint32_t y, uint32_t z);
/* Returns what so many groups of the kernel are; without dimensions if the groups' size or number (NULL) is not known. */
struct shape kernel_shape(const void *kernel, const ze_group_count_t *groups);

#endif
