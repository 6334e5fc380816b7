/* Kernels that the application created, and the sizes of their work groups. */
#define _GNU_SOURCE
#include "base/locks.h"
#include "base/records.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/layer.h"
#include "recording/current_calls.h"
#include "recording/given_kernels.h"

#include <stdlib.h>

struct known_kernel {
    struct record record;
    uint32_t group[DIMENSIONS]; /* 0: not known */
};

static struct records kernels;

static ze_pfnKernelCreate_t next_create;
static ze_pfnKernelDestroy_t next_destroy;
static ze_pfnKernelSetGroupSize_t next_set_group_size;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER))
        kernels = (struct records){0};
}

void kernel_group_size(const void *handle, uint32_t x, uint32_t y, uint32_t z)
{
    lock_take(LOCK_RECORDER);
    struct known_kernel *kernel = (struct known_kernel *)(void *)records_find(&kernels, handle);
    if (kernel == NULL && (kernel = calloc(1, sizeof *kernel)) != NULL) {
        kernel->record.handle = handle;
        records_add(&kernels, &kernel->record);
    }
    if (kernel != NULL) {
        kernel->group[0] = x;
        kernel->group[1] = y;
        kernel->group[2] = z;
    }
    lock_give(LOCK_RECORDER);
}

static void forget(const void *handle)
{
    lock_take(LOCK_RECORDER);
    free(records_remove(&kernels, handle));
    lock_give(LOCK_RECORDER);
    counters_forget_kernel(handle);
    given_kernel_gone(handle);
}

struct shape kernel_shape(const void *handle, const ze_group_count_t *groups)
{
    struct shape shape = {0};
    lock_take(LOCK_RECORDER);
    const struct known_kernel *kernel = (const struct known_kernel *)(const void *)records_find(&kernels, handle);
    if (groups != NULL && kernel != NULL && kernel->group[0] != 0) {
        const uint32_t counts[DIMENSIONS] = {groups->groupCountX, groups->groupCountY, groups->groupCountZ};
        shape.dimensions = DIMENSIONS;
        for (int dimension = 0; dimension < DIMENSIONS; ++dimension) {
            shape.global[dimension] = (uint64_t)counts[dimension] * kernel->group[dimension];
            shape.local[dimension] = kernel->group[dimension];
        }
    }
    lock_give(LOCK_RECORDER);
    return shape;
}

static ze_result_t ZE_APICALL create(ze_module_handle_t module, const ze_kernel_desc_t *description, ze_kernel_handle_t *kernel)
{
    ze_result_t result = NOTED("zeKernelCreate", next_create(module, description, kernel));
    if (result != ZE_RESULT_SUCCESS)
        return result;
    forget(*kernel);
    counters_created(*kernel, module, description->pKernelName);
    given_kernel_created(*kernel, counters_identity(module), description->pKernelName);
    ze_kernel_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    if (driver.kernel_properties != NULL && driver.kernel_properties(*kernel, &properties) == ZE_RESULT_SUCCESS)
        kernel_group_size(*kernel, properties.requiredGroupSizeX, properties.requiredGroupSizeY, properties.requiredGroupSizeZ);
    return result;
}

static ze_result_t ZE_APICALL destroy(ze_kernel_handle_t kernel)
{
    forget(kernel); /* before another thread's new kernel may have the handle */
    return next_destroy(kernel);
}

static ze_result_t ZE_APICALL set_group_size(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
    ze_result_t result = next_set_group_size(kernel, x, y, z);
    if (result == ZE_RESULT_SUCCESS)
        kernel_group_size(kernel, x, y, z);
    return result;
}

void kernels_watch(void)
{
    forks_watch(after_fork);
}

void kernels_hook(ze_kernel_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* these are in every one */
    PUT_IN_FRONT(table->pfnCreate, create, next_create);
    PUT_IN_FRONT(table->pfnDestroy, destroy, next_destroy);
    PUT_IN_FRONT(table->pfnSetGroupSize, set_group_size, next_set_group_size);
}
