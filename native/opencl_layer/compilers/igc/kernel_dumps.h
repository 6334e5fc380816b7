/* IGC's files of a program's kernels: of several attempts and widths, those that count. */
#ifndef KERNLENS_KERNEL_DUMPS_H
#define KERNLENS_KERNEL_DUMPS_H

#include "base/files.h"
#include "opencl_layer/compilers/stages.h"

/* Adds each kernel's file with this ending, in the module's order, or else its file with `other_ending` (which may be NULL).
 * The attempt and width that count are those whose instructions (".dat") stand in the program's binary. `names` lists the
 * folder. */
void kernel_dumps_collect(const char *ending, const char *other_ending, const char *folder,
                          const struct file_names *names, const struct view *binary, struct snapshots *snapshots);

#endif
