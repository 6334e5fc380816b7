/* How calls of the driver that an object belongs to are made: real.c has the answers where there is none. */
#ifndef KERNLENS_REAL_H
#define KERNLENS_REAL_H

#include "opencl_layer/vendor/functions.h"
#include "opencl_layer/vendor/tables.h"

/* Each is of its place's type in the table. */
#define DECLARED(name, release) __typeof__(*((cl_icd_dispatch *)0)->name) name##_real;
EACH_REAL_FUNCTION(DECLARED)

/* A function that answers a status; `wrong` is that for an object which is none. */
#define STATUS(name, wrong, parameters, object, ...)                                                                 \
    cl_int CL_API_CALL name##_real parameters                                                                 \
    {                                                                                                                \
        const cl_icd_dispatch *real = real_of(object);                                                               \
        if (real == NULL)                                                                                            \
            return wrong;                                                                                            \
        return real->name != NULL ? real->name(__VA_ARGS__) : CL_INVALID_OPERATION;                                  \
    }

/* One that makes an object, and has a last parameter for its status. */
#define MAKER(type, name, wrong, parameters, object, ...)                                                            \
    type CL_API_CALL name##_real parameters                                                                   \
    {                                                                                                                \
        const cl_icd_dispatch *real = real_of(object);                                                               \
        if (real != NULL && real->name != NULL)                                                                      \
            return tables_seen(object, real->name(__VA_ARGS__));                                                     \
        if (error_ret != NULL)                                                                                       \
            *error_ret = real == NULL ? wrong : CL_INVALID_OPERATION;                                                \
        return NULL;                                                                                                 \
    }

#endif
