/* What a simulated device answers where the driver's own simulation refuses: memory is always where it is needed, as nothing is
 * ever computed. SYCL's adapter (Unified Runtime, V2) makes no queue without it.
 *
 * And its memory: all of it is zero (base/zeros.h). */
#include "base/zeros.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/layer.h"

static ze_pfnContextMakeMemoryResident_t next_make_memory;
static ze_pfnContextEvictMemory_t next_evict_memory;
static ze_pfnContextMakeImageResident_t next_make_image;
static ze_pfnContextEvictImage_t next_evict_image;
/* What tells of an allocation, the driver's. */
static ze_pfnMemGetAllocProperties_t properties_of;

/* Whose memory it is; not known if the driver does not say. */
static ze_memory_type_t type_of(ze_context_handle_t context, const void *memory)
{
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    bool is_told = properties_of != NULL && properties_of(context, memory, &properties, NULL) == ZE_RESULT_SUCCESS;
    return is_told ? properties.type : ZE_MEMORY_TYPE_UNKNOWN;
}

/* The simulation has no memory to move things into: it answers "uninitialized" to the first question, and to the second what it
 * answers for memory that it does not know. */
static ze_result_t ZE_APICALL make_memory(ze_context_handle_t context, ze_device_handle_t device, void *memory, size_t size)
{
    ze_result_t result = next_make_memory(context, device, memory, size);
    return result == ZE_RESULT_ERROR_UNINITIALIZED ? ZE_RESULT_SUCCESS : result;
}

static ze_result_t ZE_APICALL evict_memory(ze_context_handle_t context, ze_device_handle_t device, void *memory, size_t size)
{
    ze_result_t result = next_evict_memory(context, device, memory, size);
    bool is_refused = result == ZE_RESULT_ERROR_UNINITIALIZED ||
                      (result == ZE_RESULT_ERROR_INVALID_ARGUMENT && type_of(context, memory) != ZE_MEMORY_TYPE_UNKNOWN);
    return is_refused ? ZE_RESULT_SUCCESS : result;
}

static ze_result_t ZE_APICALL make_image(ze_context_handle_t context, ze_device_handle_t device, ze_image_handle_t image)
{
    ze_result_t result = next_make_image(context, device, image);
    return result == ZE_RESULT_ERROR_UNINITIALIZED ? ZE_RESULT_SUCCESS : result;
}

static ze_result_t ZE_APICALL evict_image(ze_context_handle_t context, ze_device_handle_t device, ze_image_handle_t image)
{
    ze_result_t result = next_evict_image(context, device, image);
    bool is_refused = result == ZE_RESULT_ERROR_UNINITIALIZED || (result == ZE_RESULT_ERROR_INVALID_ARGUMENT && image != NULL);
    return is_refused ? ZE_RESULT_SUCCESS : result;
}

void simulation_hook_contexts(ze_context_dditable_t *table, ze_api_version_t version)
{
    (void)version;
    properties_of = (ze_pfnMemGetAllocProperties_t)driver_function("zeMemGetAllocProperties");
    PUT_IN_FRONT(table->pfnMakeMemoryResident, make_memory, next_make_memory);
    PUT_IN_FRONT(table->pfnEvictMemory, evict_memory, next_evict_memory);
    PUT_IN_FRONT(table->pfnMakeImageResident, make_image, next_make_image);
    PUT_IN_FRONT(table->pfnEvictImage, evict_image, next_evict_image);
}

static ze_pfnMemAllocHost_t next_host;
static ze_pfnMemAllocShared_t next_shared;
static ze_pfnCommandListAppendMemoryCopy_t next_copy;
static ze_pfnCommandListAppendMemoryCopyRegion_t next_copy_region;
static ze_pfnCommandListAppendMemoryCopyFromContext_t next_copy_from_context;
static list_copy_with_parameters next_copy_with_parameters;

/* A context to ask the driver in: a command list does not tell its own, and the application's may be gone. */
static ze_context_handle_t own_context;

/* Makes it when it is first needed; of several threads that do, one's stays. No lock is held while the driver works. */
static ze_context_handle_t context_to_ask_in(void)
{
    ze_context_handle_t known = __atomic_load_n(&own_context, __ATOMIC_ACQUIRE), fresh = NULL;
    if (known != NULL)
        return known;
    ze_pfnContextCreate_t create = (ze_pfnContextCreate_t)driver_function("zeContextCreate");
    ze_pfnContextDestroy_t destroy = (ze_pfnContextDestroy_t)driver_function("zeContextDestroy");
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_driver_handle_t handle;
    uint32_t count = 1;
    if (create == NULL || destroy == NULL || driver.get == NULL || driver.get(&count, &handle) != ZE_RESULT_SUCCESS ||
        count == 0 || create(handle, &description, &fresh) != ZE_RESULT_SUCCESS)
        return NULL;
    if (__atomic_compare_exchange_n(&own_context, &known, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    destroy(fresh);
    return known;
}

bool simulation_is_of_device(const void *memory)
{
    ze_context_handle_t context = context_to_ask_in();
    return context != NULL && type_of(context, memory) == ZE_MEMORY_TYPE_DEVICE;
}

static ze_result_t ZE_APICALL host(ze_context_handle_t in, const ze_host_mem_alloc_desc_t *description, size_t size,
                                   size_t alignment, void **memory)
{
    ze_result_t result = next_host(in, description, size, alignment, memory);
    if (result == ZE_RESULT_SUCCESS)
        clear_new(*memory, size);
    return result;
}

static ze_result_t ZE_APICALL shared(ze_context_handle_t in, const ze_device_mem_alloc_desc_t *device_description,
                                     const ze_host_mem_alloc_desc_t *host_description, size_t size, size_t alignment,
                                     ze_device_handle_t device, void **memory)
{
    ze_result_t result = next_shared(in, device_description, host_description, size, alignment, device, memory);
    if (result == ZE_RESULT_SUCCESS)
        clear_new(*memory, size);
    return result;
}

/* The driver comes first: it copies some itself, from memory of its own that holds what it copied before. */
static ze_result_t ZE_APICALL copy(ze_command_list_handle_t list, void *to, const void *from, size_t size,
                                   ze_event_handle_t event, uint32_t count, ze_event_handle_t *events)
{
    ze_result_t result = next_copy(list, to, from, size, event, count, events);
    if (result == ZE_RESULT_SUCCESS && simulation_is_of_device(from) && !simulation_is_of_device(to))
        clear_box(to, size, 1, 1, 0, 0);
    return result;
}

static ze_result_t ZE_APICALL copy_from_context(ze_command_list_handle_t list, void *to, ze_context_handle_t context,
                                                const void *from, size_t size, ze_event_handle_t event, uint32_t count,
                                                ze_event_handle_t *events)
{
    ze_result_t result = next_copy_from_context(list, to, context, from, size, event, count, events);
    if (result == ZE_RESULT_SUCCESS && type_of(context, from) == ZE_MEMORY_TYPE_DEVICE && !simulation_is_of_device(to))
        clear_box(to, size, 1, 1, 0, 0);
    return result;
}

static ze_result_t ZE_APICALL copy_with_parameters(ze_command_list_handle_t list, void *to, const void *from, size_t size,
                                                   const void *extensions, ze_event_handle_t event, uint32_t count,
                                                   ze_event_handle_t *events)
{
    ze_result_t result = next_copy_with_parameters(list, to, from, size, extensions, event, count, events);
    if (result == ZE_RESULT_SUCCESS && simulation_is_of_device(from) && !simulation_is_of_device(to))
        clear_box(to, size, 1, 1, 0, 0);
    return result;
}

static ze_result_t ZE_APICALL copy_region(ze_command_list_handle_t list, void *to, const ze_copy_region_t *to_region,
                                          uint32_t to_pitch, uint32_t to_slice_pitch, const void *from,
                                          const ze_copy_region_t *from_region, uint32_t from_pitch, uint32_t from_slice_pitch,
                                          ze_event_handle_t event, uint32_t count, ze_event_handle_t *events)
{
    ze_result_t result = next_copy_region(list, to, to_region, to_pitch, to_slice_pitch, from, from_region, from_pitch,
                                          from_slice_pitch, event, count, events);
    if (result == ZE_RESULT_SUCCESS && simulation_is_of_device(from) && !simulation_is_of_device(to)) {
        size_t start = (size_t)to_region->originZ * to_slice_pitch + (size_t)to_region->originY * to_pitch + to_region->originX;
        size_t depth = to_region->depth > 1 ? to_region->depth : 1; /* flat regions may have none */
        clear_box((uint8_t *)to + start, to_region->width, to_region->height, depth, to_pitch, to_slice_pitch);
    }
    return result;
}

void simulation_hook_memory(ze_mem_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* they are in every one */
    PUT_IN_FRONT(table->pfnAllocHost, host, next_host);
    PUT_IN_FRONT(table->pfnAllocShared, shared, next_shared);
}

void simulation_hook_lists(ze_command_list_dditable_t *table, ze_api_version_t version)
{
    properties_of = (ze_pfnMemGetAllocProperties_t)driver_function("zeMemGetAllocProperties");
    PUT_IN_FRONT(table->pfnAppendMemoryCopy, copy, next_copy);
    PUT_IN_FRONT(table->pfnAppendMemoryCopyRegion, copy_region, next_copy_region);
    PUT_IN_FRONT(table->pfnAppendMemoryCopyFromContext, copy_from_context, next_copy_from_context);
    PUT_IN_FRONT_AT(newer_entry(table, LIST_COPY_WITH_PARAMETERS, version, LIST_COPY_WITH_VERSION), copy_with_parameters,
                    next_copy_with_parameters, list_copy_with_parameters);
}
