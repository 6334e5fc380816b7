/* One call of a function that builds, as a file of the spool: what every interface says of it. */
#ifndef KERNLENS_EVENT_H
#define KERNLENS_EVENT_H

#include "recording/counters.h"
#include "recording/spool.h"

#include <time.h>

struct event {
    struct writer fields;
    struct timespec began;
    uint64_t time;              /* when it began, then when it ended: nanoseconds since 1970 */
    struct spool_entry started; /* what event_start() or event_hold() wrote */
    bool is_held;               /* the latter */
};

/* Begins one: what is done, when, and by whom. */
void event_begin(struct event *event, const char *operation);
/* Notes a program under this field's name. */
void event_program(struct event *event, const char *field, struct program_identity program);
/* Writes what it has so far, in case the driver ends the process, and takes back all but the first `size` bytes of it: once it is
 * written, or freed, that file is gone. */
void event_start(struct event *event, size_t size);
/* Notes that the driver is done, and its answer. */
void event_ended(struct event *event, int64_t status);
/* Notes another answer in place of that. */
void event_answer(struct event *event, int64_t status);
/* Writes it, for as long as nothing else is written in place of it: once it is freed, that is gone, unless it is kept. */
void event_hold(struct event *event);
void event_keep(struct event *event);
/* Writes it. */
void event_write(const struct event *event);
/* For RELEASED_BY. */
void event_free(struct event *event);

#endif
