/* The application's own build with IGC: its settings are changed for it (igc_settings.h). */
#ifndef KERNLENS_IGC_OWN_H
#define KERNLENS_IGC_OWN_H

#include "stages.h"

struct file_names;

/* `own_possible`, `own_begin` and `own_end` of the compiler (stages.h). */
bool igc_own_possible(const struct stage *stage);
bool igc_own_begin(cl_program program, const struct environment *wanted);
bool igc_own_end(const char *folder);

/* Whether the files of a folder that IGC wrote into are all of one program: those of another build may be among them. */
bool igc_one_program(const struct file_names *names);

#endif
