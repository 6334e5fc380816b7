/* Launches through functions that platforms give out by their names: command buffers (cl_khr_command_buffer), which launch what they
 * hold each time they are enqueued, and Intel's launches that are sized in work groups. */
#ifndef KERNLENS_EXTENSION_LAUNCHES_H
#define KERNLENS_EXTENSION_LAUNCHES_H

#include "recording/counters.h"

#include <CL/cl.h>

/* Has forks looked after. For a loading layer. */
void extension_launches_watch(void);
/* Returns the recorder's function in front of the platform's, if it has one of that name, else the platform's. */
void *extension_launch_function(cl_platform_id platform, const char *name, void *of_platform);
/* Returns the sizes of a launch, as they are counted. */
struct shape shape_of(cl_uint dimensions, const size_t *global, const size_t *local);

#endif
