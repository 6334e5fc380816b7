/* What the names of IGC's files say; docs/stages.md tells how they are made. */
#ifndef KERNLENS_DUMP_NAMES_H
#define KERNLENS_DUMP_NAMES_H

#include "base/files.h"

#include <stdbool.h>

/* A file of one kernel: which attempt at compiling the module, at which SIMD width, which kernel. */
struct kernel_dump {
    unsigned attempt, simd, entry;
    const char *ending; /* within the file's name */
};

bool kernel_dump_parse(const char *name, struct kernel_dump *dump);

/* Tells which attempt's file of an LLVM stage this is, from 0; -1 if it is none of this stage. */
int module_dump_attempt(const char *name, const char *stage);

/* Finds the only file with this ending that belongs to the whole program; NULL if there is none. */
const char *program_dump(const struct file_names *names, const char *ending);

/* Tells whether all files are of one program: those of another build may be among them. */
bool dumps_of_one_program(const struct file_names *names);

#endif
