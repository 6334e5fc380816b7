#define _GNU_SOURCE
#include "level_zero_layer/simulated_device.h"

#include "level_zero_layer/driver.h"

#include <stdlib.h>

/* Command stream receivers that reach no hardware: one that writes a file, and a null device. */
enum { RECEIVER_FILE = 1, RECEIVER_NULL = 5 };

static ze_pfnContextMakeMemoryResident_t next_make_memory;
static ze_pfnContextEvictMemory_t next_evict_memory;
static ze_pfnContextMakeImageResident_t next_make_image;
static ze_pfnContextEvictImage_t next_evict_image;
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

/* The simulation has no memory to move things into: it answers "uninitialized" to the first question, and to the second what it
 * answers for memory that it does not know. */
static bool is_known(ze_context_handle_t context, const void *memory)
{
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    return properties_of != NULL && properties_of(context, memory, &properties, NULL) == ZE_RESULT_SUCCESS &&
           properties.type != ZE_MEMORY_TYPE_UNKNOWN;
}

static ze_result_t ZE_APICALL make_memory(ze_context_handle_t context, ze_device_handle_t device, void *memory, size_t size)
{
    ze_result_t result = next_make_memory(context, device, memory, size);
    return result == ZE_RESULT_ERROR_UNINITIALIZED ? ZE_RESULT_SUCCESS : result;
}

static ze_result_t ZE_APICALL evict_memory(ze_context_handle_t context, ze_device_handle_t device, void *memory, size_t size)
{
    ze_result_t result = next_evict_memory(context, device, memory, size);
    bool is_refused = result == ZE_RESULT_ERROR_UNINITIALIZED ||
                      (result == ZE_RESULT_ERROR_INVALID_ARGUMENT && is_known(context, memory));
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

void simulated_device_hook(ze_context_dditable_t *table, ze_api_version_t version)
{
    (void)version;
    properties_of = (ze_pfnMemGetAllocProperties_t)driver_function("zeMemGetAllocProperties");
    PUT_IN_FRONT(table->pfnMakeMemoryResident, make_memory, next_make_memory);
    PUT_IN_FRONT(table->pfnEvictMemory, evict_memory, next_evict_memory);
    PUT_IN_FRONT(table->pfnMakeImageResident, make_image, next_make_image);
    PUT_IN_FRONT(table->pfnEvictImage, evict_image, next_evict_image);
}
