/* Launches that a capture keeps whole: what they were given, and the memory that they could reach, before and after. */
#ifndef KERNLENS_KEPT_LAUNCHES_H
#define KERNLENS_KEPT_LAUNCHES_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

/* Puts its functions into the table, in front of those `behind`, if launches are to be kept. For a loading layer. */
void kept_launches_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Returns its function in front of the platform's, if it has one of that name and is there, else the platform's. */
void *kept_launches_function(cl_platform_id platform, const char *name, void *of_platform);
/* Notes a kernel that the application got, by its name there, or as a copy. */
void kept_kernel_created(cl_kernel kernel, cl_program program, const char *name);
void kept_kernel_cloned(cl_kernel clone, cl_kernel of);

/* A launch as the driver is to get it. */
struct launching {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_uint dimensions;
    const size_t *offset, *global, *local;
    cl_uint count; /* of events to wait for */
    const cl_event *events;
    cl_event *event; /* where the driver is to put the launch's event; NULL: nowhere */
};
/* A launch that is kept. */
struct kept_launch;

/* If the launch is to be kept, has its memory read before it, and returns it; `launching` then waits for that, too, and has an event.
 * NULL for others. */
struct kept_launch *kept_launch_begin(struct launching *launching);
/* Has its memory read after it, once the driver has answered with this status, and frees it when all is written. */
void kept_launch_end(struct kept_launch *launch, cl_int status);

#endif
