/* Which compiler stands behind a device. */
#ifndef KERNLENS_PLATFORMS_H
#define KERNLENS_PLATFORMS_H

#include "opencl_layer/compilers/stages.h"

#include <CL/cl.h>

const struct compiler *compiler_of(cl_device_id device);

#endif
