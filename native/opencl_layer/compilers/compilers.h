/* The compilers that the layer knows. */
#ifndef KERNLENS_COMPILERS_H
#define KERNLENS_COMPILERS_H

#include "opencl_layer/compilers/stages.h"

/* Intel's GPU compiler, PoCL, Intel's OpenCL runtime for CPUs, and any other. */
extern const struct compiler igc_compiler, pocl_compiler, cpu_runtime_compiler, unknown_compiler;

/* Tells whether a string of the environment is one that this library put there for the CPU runtime: no other process is to get
 * it. */
bool cpu_runtime_has_put(const char *setting);

#endif
