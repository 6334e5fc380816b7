/* Whether what a program is made from defines a kernel. */
#ifndef KERNLENS_KERNEL_NAMES_H
#define KERNLENS_KERNEL_NAMES_H

#include "base/bytes.h"

/* What a program is made from. */
enum made_from { FROM_SOURCE = 1, FROM_IL, FROM_BINARY };

/* Tells whether it does. Source is looked at before its macros are expanded: a name that they make is not seen. */
bool defines_kernel(enum made_from form, const struct view *bytes, const char *name);

#endif
