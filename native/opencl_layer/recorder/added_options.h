/* Options that a capture adds to what the application builds. */
#ifndef KERNLENS_ADDED_OPTIONS_H
#define KERNLENS_ADDED_OPTIONS_H

#include <CL/cl.h>

/* Takes them from the environment. For a loading layer. */
void added_options_open(void);
/* Make the options with what is added to them, in memory of their own; NULL if nothing is. Without devices all that the program has
 * are meant. */
char *added_to_build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options);
char *added_to_link(cl_uint program_count, const cl_program *programs, cl_uint count, const cl_device_id *devices,
                    const char *options);

#endif
