/* How often kernels were created and launched, and with which sizes. Programs, kernels and devices are a driver's handles.
 *
 * Counted is for each kernel of each program and device: memory grows with those, not with objects or launches. The counters are
 * memory of files: nobody has to write them. */
#ifndef KERNLENS_COUNTERS_H
#define KERNLENS_COUNTERS_H

#include "recording/tally.h"

#include <stdbool.h>
#include <stdint.h>

/* A program as all files of a capture call it: the process that made it (spool_process), and its number there. */
struct program_identity {
    uint64_t process, number;
};

/* A kernel of a program on one device. It lasts as long as the process. */
struct counter;

/* Gives the program a new identity. */
void counters_new_program(const void *program);
/* Tells the program's; gives it one if it has none. */
struct program_identity counters_identity(const void *program);
/* Counts a kernel that was made of a program, or of another kernel. */
void counters_created(const void *kernel, const void *program, const char *name);
void counters_cloned(const void *kernel, const void *of);
/* The object is gone: for interfaces where that can be known. */
void counters_forget_program(const void *program);
void counters_forget_kernel(const void *kernel);
/* Counts a launch. */
void counters_launched(const void *kernel, const void *device, const struct shape *shape);
/* Returns the kernel's counter for a device, NULL if it is not known, and counts launches. With LOCK_RECORDER held. */
struct counter *counters_find(const void *kernel, const void *device);
void counter_add(struct counter *counter, const struct tally *launched);
/* Whether a launch that is to be timed is the first one of its counter and process; asked once for each. With LOCK_RECORDER held. */
bool counter_begins_times(struct counter *counter);
/* Adds the device's time of a launch, and returns the counter's number among its process's. With LOCK_RECORDER held. */
uint64_t counter_add_time(struct counter *counter, uint64_t nanoseconds, bool is_first);
/* Has forks looked after. For a loading layer. */
void counters_watch(void);

#endif
