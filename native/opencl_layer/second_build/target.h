/* Where a second build happens: the same driver, platform and device as the application's. */
#ifndef KERNLENS_TARGET_H
#define KERNLENS_TARGET_H

#include <CL/cl.h>

#include <stdbool.h>

struct target {
    const char *driver; /* the path of the platform's library */
    char platform[256]; /* its name */
    char device[16];    /* the device's place among its platform's, as a number in decimal digits */
};

/* Returns NULL, or why the target cannot be found. */
const char *target_find(struct target *target, cl_device_id device);

#endif
