/* The recorder: what an application built and launched, into files of a folder that KERNLENS_CAPTURE names.
 *
 * It stands in front of all other functions of the layer, decides nothing, and changes no result but what is read back from
 * simulated devices; without the variable it is not there. `kernlens capture` makes a recording of the files (docs/opencl_layer.md says what they hold). */
#ifndef KERNLENS_RECORDER_H
#define KERNLENS_RECORDER_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <stdbool.h>
#include <stddef.h>

/* Puts the recorder's functions into a table of so many functions, in front of those that stand there. */
void recorder_hook(cl_icd_dispatch *dispatch);
/* Notes that a process got platforms of drivers. */
void recorder_entered(void);
/* Notes that a handle belongs to a new program: an earlier one's may be used again. */
void recorder_new_program(cl_program program);
/* Returns what the application gets when it asks a platform for a function of that name: the platform's, or the recorder's in front
 * of that. */
void *recorder_function(cl_platform_id platform, const char *name, void *of_platform);
/* Makes a program of what is to replace one from this IL; NULL if nothing is, with an error where that failed. */
cl_program recorder_replace_il(cl_context context, const void *il, size_t length, cl_int *error_ret);
/* Tells whether programs from IL are made for drivers that make none of it. */
bool recorder_translates_il(void);

#endif
