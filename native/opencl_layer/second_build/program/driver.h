/* The OpenCL platform of the application's program, in this process, with no loader between. */
#ifndef KERNLENS_DRIVER_H
#define KERNLENS_DRIVER_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

struct driver {
    const cl_icd_dispatch *functions;
    cl_device_id device;
    cl_context context;
};

/* Returns NULL, or why it failed. */
const char *driver_load(struct driver *driver, const char *path, const char *platform, unsigned device);

#endif
