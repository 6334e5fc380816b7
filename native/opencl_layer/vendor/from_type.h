/* What stands in front of drivers' clCreateContextFromType, which is told of no object: only from where it was called says whose it is. */
#ifndef KERNLENS_FROM_TYPE_H
#define KERNLENS_FROM_TYPE_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

struct owner;

/* Returns what stands in front of this function of a driver, and tells of each context that it made; NULL if there are too many drivers.
 * The owner stays. With LOCK_PLATFORMS held, or for a function that something stands in front of. */
cl_api_clCreateContextFromType from_type_in_front(cl_api_clCreateContextFromType function, const struct owner *owner,
                                                  void (*see)(const struct owner *owner, cl_context context));

#endif
