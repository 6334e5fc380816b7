/* Arguments that a launch brings with it (zeCommandListAppendLaunchKernelWithArguments): a pointer to each, and no size. Drivers of the
 * versions that have the call say how large each is, by two functions of their own. */
#define _GNU_SOURCE
#include "level_zero_layer/driver.h"
#include "level_zero_layer/kept.h"

#include <errno.h>
#include <string.h>

enum { LARGEST = 4096 }; /* more than devices take */

typedef ze_result_t(ZE_APICALL *argument_size)(ze_kernel_handle_t, uint32_t, uint32_t *);
typedef ze_result_t(ZE_APICALL *argument_type)(ze_kernel_handle_t, uint32_t, uint32_t *, char *);

struct answers {
    argument_size size;
    argument_type type;
};

static bool find_answers(struct answers *answers)
{
    uint32_t count = 1;
    ze_driver_handle_t handle = NULL;
    if (driver.get == NULL || driver.extension == NULL || driver.get(&count, &handle) != ZE_RESULT_SUCCESS || handle == NULL)
        return false;
    return driver.extension(handle, "zexKernelGetArgumentSize", (void **)&answers->size) == ZE_RESULT_SUCCESS &&
           driver.extension(handle, "zexKernelGetArgumentType", (void **)&answers->type) == ZE_RESULT_SUCCESS;
}

/* The driver states a size of its own for values and pointers into global memory alone: its type tells a sampler, which is passed by its
 * handle, and local memory, of which the argument is the size. */
static bool give(const struct answers *answers, ze_kernel_handle_t kernel, uint32_t number, const void *argument)
{
    enum { LOCAL = 0, UNSET = UINT8_MAX };
    uint32_t size = 0, room = 256;
    char type[256] = "";
    uint8_t bytes[LARGEST];
    size_t local;
    if (answers->size(kernel, number, &size) != ZE_RESULT_SUCCESS)
        return false;
    if ((size == LOCAL || size == UNSET) && answers->type(kernel, number, &room, type) != ZE_RESULT_SUCCESS)
        return false;
    type[sizeof type - 1] = '\0';
    if (size == LOCAL) {
        if (strchr(type, '*') == NULL || !memory_peek(&local, argument, sizeof local))
            return false;
        given_value(kernel, number, local, NULL);
        return true;
    }
    if (size == UNSET && strcmp(type, "sampler_t") == 0)
        size = sizeof(ze_sampler_handle_t);
    if (size > sizeof bytes || !memory_peek(bytes, argument, size))
        return false;
    given_value(kernel, number, size, bytes);
    return true;
}

static bool give_all(ze_kernel_handle_t kernel, void **arguments)
{
    struct answers answers = {0};
    ze_kernel_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    if (driver.kernel_properties == NULL || driver.kernel_properties(kernel, &properties) != ZE_RESULT_SUCCESS)
        return false;
    if (properties.numKernelArgs == 0)
        return true;
    if (arguments == NULL || !find_answers(&answers))
        return false;
    for (uint32_t number = 0; number < properties.numKernelArgs; ++number)
        if (!give(&answers, kernel, number, arguments[number]))
            return false;
    return true;
}

static void is_known_but(struct given_kernel *own, const void *why)
{
    own->why = why;
}

void kept_given(ze_kernel_handle_t kernel, void **arguments)
{
    int before = errno;
    if (given_is_watched(kernel))
        given_change(kernel, is_known_but,
                     give_all(kernel, arguments) ? NULL : "the call that launched it brought its arguments without their sizes");
    errno = before;
}
