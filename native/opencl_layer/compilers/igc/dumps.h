/* Which of the files that IGC wrote is what: by their names (docs/stages.md tells how those are made), and of a program's kernels
 * by what stands in its binary. */
#ifndef KERNLENS_IGC_DUMPS_H
#define KERNLENS_IGC_DUMPS_H

#include "base/files.h"
#include "opencl_layer/compilers/stages.h"

/* Tells which attempt's file of an LLVM stage this is, from 0; -1 if it is none of this stage. */
int module_dump_attempt(const char *name, const char *stage);

/* Finds the only file with this ending that belongs to the whole program; NULL if there is none. */
const char *program_dump(const struct file_names *names, const char *ending);

/* Tells whether all files are of one program: those of another build may be among them. */
bool dumps_of_one_program(const struct file_names *names);

/* Adds each kernel's file with this ending, in the module's order, or else its file with `other_ending` (which may be NULL).
 * The attempt and width that count are those whose instructions (".dat") stand in the program's binary. `names` lists the
 * folder. */
void kernel_dumps_collect(const char *ending, const char *other_ending, const char *folder,
                          const struct file_names *names, const struct view *binary, struct snapshots *snapshots);

#endif
