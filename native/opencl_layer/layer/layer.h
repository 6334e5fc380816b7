/* What the parts of the layer share. */
#ifndef KERNLENS_LAYER_H
#define KERNLENS_LAYER_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

#define EXPORTED __attribute__((visibility("default")))

/* Each puts its functions into the layer's table. */
void queries_hook(cl_icd_dispatch *dispatch);
void builds_hook(cl_icd_dispatch *dispatch);
void programs_hook(cl_icd_dispatch *dispatch);

/* The extension's functions (extension.c). */
cl_int CL_API_CALL request_snapshot_list(cl_program program, cl_device_id device, const char **stages,
                                         cl_uint *num_stages);
cl_int CL_API_CALL request_snapshot(cl_program program, cl_device_id device, const char *stage, cl_uint format,
                                    void(CL_CALLBACK *callback)(size_t, const char *, void *, void *), void *user_data);

/* clCreateProgramWithILKHR, which has no place in the table, in front of the platform's (program_calls.c). */
void *create_program_with_il_khr(cl_platform_id platform, void *of_platform);

#endif
