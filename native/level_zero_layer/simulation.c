/* What a simulated device answers where the driver's own simulation refuses: memory is always where it is needed, as nothing is
 * ever computed. SYCL's adapter (Unified Runtime, V2) makes no queue without it.
 *
 * And its memory: all of it is zero. Nothing is computed there, so what an application reads back would else be what happened to
 * lie in the memory that it gets, and what it builds next, which may depend on that, would differ from run to run. */
#define _GNU_SOURCE
#include "level_zero_layer/driver.h"
#include "level_zero_layer/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Command stream receivers that reach no hardware: one that writes a file, and a null device. */
enum { RECEIVER_FILE = 1, RECEIVER_NULL = 5 };

static ze_pfnContextMakeMemoryResident_t next_make_memory;
static ze_pfnContextEvictMemory_t next_evict_memory;
static ze_pfnContextMakeImageResident_t next_make_image;
static ze_pfnContextEvictImage_t next_evict_image;
/* What tells of an allocation, the driver's. */
static ze_pfnMemGetAllocProperties_t properties_of;

static long setting(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 0) : 0;
}

bool device_is_simulated(void)
{
    long receiver = setting("SetCommandStreamReceiver");
    return setting("NEOReadDebugKeys") == 1 && (receiver == RECEIVER_FILE || receiver == RECEIVER_NULL);
}

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

enum { BLOCK = 4096 };

static ze_pfnMemAllocHost_t next_host;
static ze_pfnMemAllocShared_t next_shared;
static ze_pfnCommandListAppendMemoryCopy_t next_copy;
static ze_pfnCommandListAppendMemoryCopyRegion_t next_copy_region;

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

/* Whether the memory is a device's, which the processor cannot reach; false if the driver does not say. */
static bool is_of_device(const void *memory)
{
    ze_context_handle_t context = context_to_ask_in();
    return context != NULL && type_of(context, memory) == ZE_MEMORY_TYPE_DEVICE;
}

/* Fills memory that the driver has just made. Pages that nobody has written are only read, so they take no memory. */
static void clear_new(uint8_t *memory, size_t size)
{
    static const uint8_t zeros[BLOCK];
    while (size > 0) {
        size_t part = size < BLOCK ? size : BLOCK;
        if (memcmp(memory, zeros, part) != 0)
            memset(memory, 0, part);
        memory += part;
        size -= part;
    }
}

/* Fills memory of the application. The kernel writes it: an address that the application may not write is an error, not a signal,
 * as it is to the driver, which does not write it either. */
static bool clear(int zeros, uint8_t *memory, size_t size)
{
    while (size > 0) {
        ssize_t part = read(zeros, memory, size);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            return false;
        memory += part;
        size -= (size_t)part;
    }
    return true;
}

/* Fills a box of bytes: `depth` slices, `slice_pitch` bytes apart, of `height` rows, `pitch` bytes apart, of `width` bytes. */
static void clear_box(uint8_t *memory, size_t width, size_t height, size_t depth, size_t pitch, size_t slice_pitch)
{
    int saved = errno, zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    bool goes_on = zeros >= 0;
    for (size_t z = 0; goes_on && z < depth; ++z)
        for (size_t y = 0; goes_on && y < height; ++y)
            goes_on = clear(zeros, memory + z * slice_pitch + y * pitch, width);
    if (zeros >= 0)
        close(zeros);
    errno = saved;
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
    if (result == ZE_RESULT_SUCCESS && is_of_device(from) && !is_of_device(to))
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
    if (result == ZE_RESULT_SUCCESS && is_of_device(from) && !is_of_device(to)) {
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

void simulation_hook_lists(ze_command_list_dditable_t *table)
{
    properties_of = (ze_pfnMemGetAllocProperties_t)driver_function("zeMemGetAllocProperties");
    PUT_IN_FRONT(table->pfnAppendMemoryCopy, copy, next_copy);
    PUT_IN_FRONT(table->pfnAppendMemoryCopyRegion, copy_region, next_copy_region);
}
