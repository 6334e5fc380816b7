/* What the parts of the application for the tests of capture share. */
#ifndef APPLICATION_H
#define APPLICATION_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

extern cl_device_id device;
extern cl_context context;
extern cl_command_queue queue;
extern const char SOURCE[];

/* Has all that follows use the platform's first device. */
void use_platform(cl_platform_id platform);
/* Makes a program of the source, builds it, and prints the result. */
cl_program built(const char *source, const char *options);
/* Has four threads work on something, or on their number if that is NULL. */
void in_threads(void *(*work)(void *), void *of_all);

/* Launch "add" in a command buffer of the platform that has such; past layers, the driver itself makes the buffer. */
void launch_in_command_buffer(void);
void launch_in_command_buffer_past_layers(void);
void launch_in_command_buffers_of_threads(void);
void launch_groups(void);
void launch_long_name(void);
void fork_and_launch(void);
void exit_at_once(void);
void abort_in_callback(void);

#endif
