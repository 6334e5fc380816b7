/* The device's time of each launch: the counter's sum, and for the median a row for each of the first launches of a process. */
#ifndef KERNLENS_LAUNCH_TIMES_H
#define KERNLENS_LAUNCH_TIMES_H

#include "recording/counters.h"

/* Keeps the time of a launch; `is_first`: counter_begins_times. With LOCK_RECORDER held. */
void launch_time(struct counter *counter, uint64_t nanoseconds, bool is_first);
/* Has forks looked after. For a loading layer. */
void launch_times_watch(void);

#endif
