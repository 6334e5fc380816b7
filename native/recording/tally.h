/* How often a kernel is launched, and with which sizes. */
#ifndef KERNLENS_TALLY_H
#define KERNLENS_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHAPES = 8, DIMENSIONS = 3 };

/* Sizes that a kernel is launched with: `global` in work items; 0 where the driver chooses, and beyond the launch's dimensions.
 * Without dimensions nothing is known of them. */
struct shape {
    uint64_t dimensions, global[DIMENSIONS], local[DIMENSIONS];
};

/* How often a kernel is launched, and the first shapes of that. */
struct tally {
    uint64_t launches;
    size_t shape_count;
    struct counted_shape {
        struct shape shape;
        uint64_t launches;
    } shapes[SHAPES];
};

/* The device's times of launches, in nanoseconds; that of the first one where `has_first` is 1. */
struct times {
    uint64_t launches, sum, has_first, first, least, most;
};

void tally_launches(struct tally *tally, const struct shape *shape, uint64_t launches);
void tally_add(struct tally *sum, const struct tally *more);
/* Adds the time of a launch; `is_first` if it is that of the first one. */
void times_add(struct times *times, uint64_t nanoseconds, bool is_first);

#endif
