/* What the driver knows of a program. */
#ifndef KERNLENS_PROGRAM_QUERIES_H
#define KERNLENS_PROGRAM_QUERIES_H

#include <CL/cl.h>

/* A program's source or IL (with a zero byte after its end); NULL if it has none. Free it. */
char *program_source(cl_program program, size_t *size);
char *program_il(cl_program program, size_t *size);
/* Its binary for one device; NULL if it has none. Free it. */
unsigned char *program_binary(cl_program program, cl_device_id device, size_t *size);

#endif
