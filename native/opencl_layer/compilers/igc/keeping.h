/* The application build keeps a stage of IGC: IGC's settings are changed for it (settings.h). */
#ifndef KERNLENS_KEEPING_H
#define KERNLENS_KEEPING_H

#include "opencl_layer/compilers/stages.h"

/* `can_keep`, `begin_keeping` and `end_keeping` of the compiler (stages.h). */
bool igc_can_keep(void);
bool igc_begin_keeping(const struct environment *wanted);
bool igc_end_keeping(const char *folder);

#endif
