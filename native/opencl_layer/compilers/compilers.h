/* The compilers that the layer knows. */
#ifndef KERNLENS_COMPILERS_H
#define KERNLENS_COMPILERS_H

#include "opencl_layer/compilers/stages.h"

/* Intel's GPU compiler, PoCL, Intel's OpenCL runtime for CPUs, and any other. */
extern const struct compiler igc_compiler, pocl_compiler, cpu_runtime_compiler, unknown_compiler;

#endif
