/* Specialization constants, which a driver takes but does not give back. */
#ifndef KERNLENS_CONSTANTS_H
#define KERNLENS_CONSTANTS_H

#include "bytes.h"

#include <CL/cl.h>

void constant_keep(cl_program program, cl_uint identifier, size_t size, const void *value);
void constants_forget(cl_program program);
/* Their number, and of each the identifier and the value. */
void constants_write(cl_program program, struct writer *writer);

#endif
