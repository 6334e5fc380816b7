/* The application's living allocations and samplers: what a kernel was given is one of those if its bytes say so. */
#include "base/locks.h"
#include "base/records.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/kept.h"

#include <stdlib.h>

static ze_pfnMemAllocHost_t next_host;
static ze_pfnMemAllocDevice_t next_device;
static ze_pfnMemAllocShared_t next_shared;
static ze_pfnMemFree_t next_free;
static ze_pfnMemFreeExt_t next_free_with;
static ze_pfnSamplerCreate_t next_create;
static ze_pfnSamplerDestroy_t next_destroy;

struct known_sampler {
    struct record record;
    ze_sampler_desc_t description;
};
static struct records samplers; /* LOCK_MEMORY */

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_MEMORY))
        samplers = (struct records){0};
}

void kept_objects_watch(void)
{
    allocations_watch();
    forks_watch(after_fork);
}

static ze_result_t ZE_APICALL host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *description, size_t size,
                                   size_t alignment, void **memory)
{
    ze_result_t result = next_host(context, description, size, alignment, memory);
    if (result == ZE_RESULT_SUCCESS)
        allocation_is(*memory, size, MEMORY_HOST, 0, context);
    return result;
}

static ze_result_t ZE_APICALL device(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *description, size_t size,
                                     size_t alignment, ze_device_handle_t of, void **memory)
{
    ze_result_t result = next_device(context, description, size, alignment, of, memory);
    if (result == ZE_RESULT_SUCCESS)
        allocation_is(*memory, size, MEMORY_DEVICE, 0, context);
    return result;
}

static ze_result_t ZE_APICALL shared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *device_description,
                                     const ze_host_mem_alloc_desc_t *host_description, size_t size, size_t alignment,
                                     ze_device_handle_t of, void **memory)
{
    ze_result_t result = next_shared(context, device_description, host_description, size, alignment, of, memory);
    if (result == ZE_RESULT_SUCCESS)
        allocation_is(*memory, size, MEMORY_SHARED, 0, context);
    return result;
}

/* Before the driver, as another thread's new allocation may have the address. */
static ze_result_t ZE_APICALL free_memory(ze_context_handle_t context, void *memory)
{
    allocation_is_gone(memory);
    return next_free(context, memory);
}

static ze_result_t ZE_APICALL free_with(ze_context_handle_t context, const ze_memory_free_ext_desc_t *description, void *memory)
{
    allocation_is_gone(memory);
    return next_free_with(context, description, memory);
}

static void forget(ze_sampler_handle_t sampler)
{
    lock_take(LOCK_MEMORY);
    struct record *known = records_remove(&samplers, sampler);
    lock_give(LOCK_MEMORY);
    free(known);
}

static ze_result_t ZE_APICALL create(ze_context_handle_t context, ze_device_handle_t of, const ze_sampler_desc_t *description,
                                     ze_sampler_handle_t *sampler)
{
    ze_result_t result = next_create(context, of, description, sampler);
    struct known_sampler *known = result == ZE_RESULT_SUCCESS ? malloc(sizeof *known) : NULL;
    if (known == NULL)
        return result;
    *known = (struct known_sampler){.record = {.handle = *sampler}, .description = *description};
    forget(*sampler);
    lock_take(LOCK_MEMORY);
    records_add(&samplers, &known->record);
    lock_give(LOCK_MEMORY);
    return result;
}

static ze_result_t ZE_APICALL destroy(ze_sampler_handle_t sampler)
{
    forget(sampler);
    return next_destroy(sampler);
}

bool kept_sampler(const void *handle, uint64_t sampler[3])
{
    static const uint64_t ADDRESSING[] = {
        [ZE_SAMPLER_ADDRESS_MODE_NONE] = 0x1130,  [ZE_SAMPLER_ADDRESS_MODE_REPEAT] = 0x1133,
        [ZE_SAMPLER_ADDRESS_MODE_CLAMP] = 0x1131, [ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER] = 0x1132,
        [ZE_SAMPLER_ADDRESS_MODE_MIRROR] = 0x1134,
    };
    enum { NEAREST = 0x1140, LINEAR };
    lock_take(LOCK_MEMORY);
    const struct known_sampler *known = (const struct known_sampler *)(const void *)records_find(&samplers, handle);
    ze_sampler_desc_t description = known != NULL ? known->description : (ze_sampler_desc_t){0};
    lock_give(LOCK_MEMORY);
    if (known == NULL || (unsigned)description.addressMode >= sizeof ADDRESSING / sizeof *ADDRESSING)
        return false;
    sampler[0] = description.isNormalized != 0;
    sampler[1] = ADDRESSING[description.addressMode];
    sampler[2] = description.filterMode == ZE_SAMPLER_FILTER_MODE_LINEAR ? LINEAR : NEAREST;
    return true;
}

void kept_hook_memory(ze_mem_dditable_t *table, ze_api_version_t version)
{
    PUT_IN_FRONT(table->pfnAllocHost, host, next_host);
    PUT_IN_FRONT(table->pfnAllocDevice, device, next_device);
    PUT_IN_FRONT(table->pfnAllocShared, shared, next_shared);
    PUT_IN_FRONT(table->pfnFree, free_memory, next_free);
    if ((int)version >= ZE_MAKE_VERSION(1, 3))
        PUT_IN_FRONT(table->pfnFreeExt, free_with, next_free_with);
}

void kept_hook_samplers(ze_sampler_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* they are in every one */
    PUT_IN_FRONT(table->pfnCreate, create, next_create);
    PUT_IN_FRONT(table->pfnDestroy, destroy, next_destroy);
}
