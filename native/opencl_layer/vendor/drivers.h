/* The drivers that a loader would have opened itself, had it not been led to this library: opened here, in the same order. */
#ifndef KERNLENS_DRIVERS_H
#define KERNLENS_DRIVERS_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

/* Opens the drivers that the loader with the code at this address would list, if that was not done yet, and returns their platforms
 * in its order: NULL if there are none. They last. With LOCK_DRIVERS held. */
const cl_platform_id *drivers_open(const void *loader, cl_uint *count);

/* As clGetPlatformIDs, clGetExtensionFunctionAddress and clGetPlatformInfo: of all drivers that were opened. */
cl_int CL_API_CALL drivers_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count_ret);
void *CL_API_CALL drivers_function(const char *name);
cl_int CL_API_CALL drivers_platform_info(cl_platform_id platform, cl_platform_info what, size_t size, void *value,
                                         size_t *size_ret);

/* Those two that a driver of cl_khr_icd 2.0 has beside. */
void *drivers_function_for(cl_platform_id platform, const char *name);
cl_int drivers_set_dispatch(cl_platform_id platform, void *data);

#endif
