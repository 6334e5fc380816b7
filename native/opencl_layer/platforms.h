/* Which compiler stands behind a device. */
#ifndef KERNLENS_PLATFORMS_H
#define KERNLENS_PLATFORMS_H

#include "opencl_layer/compilers/stages.h"

#include <CL/cl.h>

/* Writes the name of its platform; false if the driver does not tell. */
bool platform_name(cl_device_id device, char *name, size_t size);
const struct compiler *compiler_of(cl_device_id device);

#endif
