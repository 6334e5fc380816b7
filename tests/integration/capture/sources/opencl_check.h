/* An application without a word on failures of OpenCL: it ends with status 3 at the first. */
#ifndef OPENCL_CHECK_H
#define OPENCL_CHECK_H

#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                    \
    do {                                                                               \
        cl_int status_ = (call);                                                       \
        if (status_ != CL_SUCCESS) {                                                   \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status_);    \
            exit(3);                                                                   \
        }                                                                              \
    } while (0)

#endif
