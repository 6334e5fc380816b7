/* What Level Zero's kernels are given (recording/given_kernels.h). */
#include "level_zero_layer/driver.h"
#include "level_zero_layer/kept.h"

static ze_pfnKernelSetArgumentValue_t next_argument;
static ze_pfnKernelSetIndirectAccess_t next_indirect;
static ze_pfnKernelSetGlobalOffsetExp_t next_offset;

static ze_result_t ZE_APICALL set_argument(ze_kernel_handle_t kernel, uint32_t number, size_t size, const void *value)
{
    ze_result_t result = next_argument(kernel, number, size, value);
    if (result == ZE_RESULT_SUCCESS)
        given_value(kernel, number, size, value);
    return result;
}

static void reaches(struct given_kernel *own, const void *context)
{
    enum { HOST = 1, DEVICE = 2, SHARED = 4 };
    ze_kernel_indirect_access_flags_t flags = *(const ze_kernel_indirect_access_flags_t *)context;
    own->reaches_host = (flags & HOST) != 0;
    own->reaches_device = (flags & DEVICE) != 0;
    own->reaches_shared = (flags & SHARED) != 0;
}

static ze_result_t ZE_APICALL set_indirect(ze_kernel_handle_t kernel, ze_kernel_indirect_access_flags_t flags)
{
    ze_result_t result = next_indirect(kernel, flags);
    if (result == ZE_RESULT_SUCCESS)
        given_change(kernel, reaches, &flags);
    return result;
}

static void begins_at(struct given_kernel *own, const void *context)
{
    const uint32_t *offset = context;
    for (unsigned dimension = 0; dimension < 3; ++dimension)
        own->offset[dimension] = offset[dimension];
}

static ze_result_t ZE_APICALL set_offset(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
    ze_result_t result = next_offset(kernel, x, y, z);
    const uint32_t offset[3] = {x, y, z};
    if (result == ZE_RESULT_SUCCESS)
        given_change(kernel, begins_at, offset);
    return result;
}

void kept_hook_kernels(ze_kernel_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* these are in every one */
    PUT_IN_FRONT(table->pfnSetArgumentValue, set_argument, next_argument);
    PUT_IN_FRONT(table->pfnSetIndirectAccess, set_indirect, next_indirect);
}

void kept_hook_newer_kernels(ze_kernel_exp_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* it is in every one */
    PUT_IN_FRONT(table->pfnSetGlobalOffsetExp, set_offset, next_offset);
}
