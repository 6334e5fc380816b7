#include "base/arrays.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void *array_reserve(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
    if (items != NULL && wanted <= *capacity)
        return items;
    size_t grown = *capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : *capacity <= SIZE_MAX / 2 ? *capacity * 2 : SIZE_MAX;
    if (grown < wanted)
        grown = wanted;
    if (grown > SIZE_MAX / item_size)
        return NULL;
    void *moved = realloc(items, grown * item_size);
    if (moved != NULL)
        *capacity = grown;
    return moved;
}
