/* Command buffers (cl_khr_command_buffer), which launch what they hold each time they are enqueued. */
#ifndef KERNLENS_COMMAND_BUFFERS_H
#define KERNLENS_COMMAND_BUFFERS_H

#include "recording/counters.h"

#include <CL/cl.h>

/* Has forks looked after. For a loading layer. */
void command_buffers_watch(void);
/* Returns the recorder's function in front of the platform's, if it has one of that name, else the platform's. */
void *command_buffer_function(cl_platform_id platform, const char *name, void *of_platform);
/* Returns the sizes of a launch, as they are counted. */
struct shape shape_of(cl_uint dimensions, const size_t *global, const size_t *local);

#endif
