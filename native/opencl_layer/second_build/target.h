/* Where a second build happens: with the same driver, platform and device as the application's, and the same dynamic loader. */
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

/* The dynamic loader by whose name this process was started, if it was: `LOADER --library-path FOLDERS PROGRAM`. That is how a
 * program runs with another C library and another driver than the machine's; what it starts must be started likewise. */
struct named_loader {
    char *path;    /* NULL: the process was started as usual */
    char *folders; /* of --library-path; may be NULL */
};

struct named_loader named_loader_find(void);
void named_loader_free(struct named_loader *loader);

#endif
