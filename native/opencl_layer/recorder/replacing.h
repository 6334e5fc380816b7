/* Programs that something else stands in for (replacements.h). */
#ifndef KERNLENS_REPLACING_H
#define KERNLENS_REPLACING_H

#include <CL/cl.h>
#include <CL/cl_icd.h>

/* Puts its functions into the table, in front of those `behind`, if there is something to replace. */
void replacing_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Makes a program from what stands in for one made from this IL, for functions that are in no table; NULL if nothing does. */
cl_program replacing_il(cl_context context, const void *il, size_t length, cl_int *error_ret);

#endif
