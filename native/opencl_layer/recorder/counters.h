/* How often kernels were created and launched, and with which sizes.
 *
 * Counted is for each kernel of each program and device: memory grows with those, not with objects or launches. The counters are
 * written from time to time, and when the process ends. */
#ifndef KERNLENS_COUNTERS_H
#define KERNLENS_COUNTERS_H

#include <CL/cl.h>

#include <stdint.h>

/* A program as all files of a capture call it: the process that made it (spool_process), and its number there. */
struct program_identity {
    uint64_t process, number;
};

struct launch {
    cl_device_id device;
    cl_uint dimensions;
    const size_t *global, *local; /* NULL: the driver chooses */
};

/* Gives the program a new identity. */
void counters_new_program(cl_program program);
/* Tells the program's; gives it one if it has none. */
struct program_identity counters_identity(cl_program program);
/* Counts a kernel that was made of a program, or of another kernel. */
void counters_created(cl_kernel kernel, cl_program program, const char *name);
void counters_cloned(cl_kernel kernel, cl_kernel of);
/* Counts a launch. */
void counters_launched(cl_kernel kernel, const struct launch *launch);
/* Writes the counters if the last time was long enough ago. */
void counters_write_now_and_then(void);
/* Has forks and the process's end looked after. For a loading layer. */
void counters_watch(void);

#endif
