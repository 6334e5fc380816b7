#include "opencl_layer/below.h"

const cl_icd_dispatch *below;
