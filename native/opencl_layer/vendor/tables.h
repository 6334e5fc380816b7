/* The drivers' tables of functions. Every object of a driver begins with the address of one, and every loader calls through that:
 * so ours are written into the tables themselves, and what stood there is kept. Objects stay the driver's own. */
#ifndef KERNLENS_TABLES_H
#define KERNLENS_TABLES_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <stdbool.h>

/* Finds a driver's function by its name; NULL if it has none. */
typedef void *(*function_finder)(void *driver, cl_platform_id platform, const char *name);

/* What is known of who owns a table. `managed`: the driver is one of cl_khr_icd 2.0, whose functions are those that it gives by
 * name, whatever its table holds. `version` is the release of OpenCL that it says it has, times ten. */
struct owner {
    function_finder find;
    void *driver;
    cl_platform_id platform;
    bool managed;
    unsigned version;
};

/* Sets the functions that are to stand in front of the drivers'; those that are also in `behind` are not ours. Once. */
void tables_open(const cl_icd_dispatch *in_front, const cl_icd_dispatch *behind);
/* Puts ours into the table of the platform, if it is not there yet. */
void tables_add(const struct owner *owner);
/* Returns a new object of a driver, whose table may be another than that of the object it was made of. */
void *tables_seen(const void *parent, void *object);
/* Returns the functions of the object's driver; NULL if there is no object. */
const cl_icd_dispatch *real_of(const void *object);
/* Returns what stands in front of a driver's function of this name: `function` itself if nothing does. */
void *tables_in_front(cl_platform_id platform, const char *name, void *function);

/* real.c: functions that call the object's driver, as a loader's do. */
extern const cl_icd_dispatch real_functions;

#endif
