/* A loop whose steps run in several threads. */
#ifndef KERNLENS_WORK_H
#define KERNLENS_WORK_H

#include <stddef.h>

typedef void (*work_step)(void *context, size_t index);

/* Calls step(context, i) once for every i below count, from up to `threads` threads; returns when all are done.
 * A thread that cannot be started is done without. */
void work_run(work_step step, void *context, size_t count, unsigned threads);

#endif
