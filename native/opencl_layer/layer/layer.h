/* What the parts of the layer share. */
#ifndef KERNLENS_LAYER_H
#define KERNLENS_LAYER_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

#define EXPORTED __attribute__((visibility("default")))

/* Each puts its functions into the layer's table. */
void extension_hook(cl_icd_dispatch *dispatch);
void builds_hook(cl_icd_dispatch *dispatch);
void programs_hook(cl_icd_dispatch *dispatch);

/* clCreateProgramWithILKHR, which has no place in the table, in front of the platform's (program_calls.c). */
void *create_program_with_il_khr(cl_platform_id platform, void *of_platform);

#endif
