/* Specialization constants of programs from IL, which a driver takes but does not give back. */
#ifndef KERNLENS_CONSTANTS_H
#define KERNLENS_CONSTANTS_H

#include "recording/event.h"

#include <CL/cl.h>

/* Has forks looked after. For a loading layer. */
void constants_watch(void);
/* Keeps a value that was set; in place of an earlier one. */
void constant_set(cl_program program, cl_uint number, size_t size, const void *value);
/* Adds those of the program to an event of its. */
void constants_add(struct event *event, cl_program program);
/* The handle is a new program's. */
void constants_forget(cl_program program);

#endif
