#define _GNU_SOURCE
#include "recording/launch_times.h"

#include "base/locks.h"
#include "recording/spool.h"

#include <stddef.h>
#include <sys/mman.h>

/* A row as files have it, one behind the other, up to one of counter 0 or the end (kernlens/verbs/capture/spooled.py). */
struct row {
    uint64_t counter, nanoseconds;
};
enum { ROWS = 1 << 15, FILES = 128 }; /* 4 million rows */

static struct row *rows; /* the memory of the last file */
static size_t used, files;

static void after_fork(bool (*damaged)(enum lock lock))
{
    (void)damaged;
    rows = NULL; /* the file is the parent's */
    used = files = 0;
}

void launch_times_watch(void)
{
    forks_watch(after_fork);
}

void launch_time(struct counter *counter, uint64_t nanoseconds, bool is_first)
{
    uint64_t number = counter_add_time(counter, nanoseconds, is_first);
    if ((rows == NULL || used == ROWS) && files < FILES) {
        void *memory = spool_memory("times", ROWS * sizeof *rows);
        rows = memory != MAP_FAILED ? memory : NULL;
        used = 0;
        ++files;
    }
    if (rows == NULL || used == ROWS)
        return; /* the sum has to do */
    rows[used].nanoseconds = nanoseconds;
    rows[used++].counter = number;
}
