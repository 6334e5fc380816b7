#include "recording/tally.h"

#include <string.h>

void tally_launches(struct tally *tally, const struct shape *shape, uint64_t launches)
{
    tally->launches += launches;
    size_t place = 0;
    while (place < tally->shape_count && memcmp(&tally->shapes[place].shape, shape, sizeof *shape) != 0)
        ++place;
    if (place == SHAPES || shape->dimensions == 0)
        return; /* the first ones have to do */
    if (place == tally->shape_count)
        tally->shapes[tally->shape_count++] = (struct counted_shape){.shape = *shape};
    tally->shapes[place].launches += launches;
}

void tally_add(struct tally *sum, const struct tally *more)
{
    uint64_t before = sum->launches;
    for (size_t place = 0; place < more->shape_count; ++place)
        tally_launches(sum, &more->shapes[place].shape, more->shapes[place].launches);
    sum->launches = before + more->launches;
}

void times_add(struct times *times, uint64_t nanoseconds, bool is_first)
{
    if (times->launches++ == 0)
        times->least = nanoseconds;
    if (nanoseconds < times->least)
        times->least = nanoseconds;
    if (nanoseconds > times->most)
        times->most = nanoseconds;
    if (is_first) {
        times->has_first = 1;
        times->first = nanoseconds;
    }
    times->sum += nanoseconds;
}
