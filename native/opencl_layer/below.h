/* The OpenCL functions below this layer. */
#ifndef KERNLENS_BELOW_H
#define KERNLENS_BELOW_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

/* The next layer's, or the loader's. Set once, before any OpenCL call; NULL if no loader took the layer. */
extern const cl_icd_dispatch *below;

#endif
