/* Programs from binaries that nobody built yet: some runtimes call them built from the start. */
#ifndef KERNLENS_UNBUILT_H
#define KERNLENS_UNBUILT_H

#include <CL/cl.h>

#include <stdbool.h>

void unbuilt_add(cl_program program);
void unbuilt_remove(cl_program program);
bool unbuilt_has(cl_program program);

#endif
