/* Arrays that grow as things are added to them. Plain C11: the decoder is also built where GCC's attributes are not known. */
#ifndef KERNLENS_ARRAYS_H
#define KERNLENS_ARRAYS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Returns `items`, moved if need be, with room for `count` items of this size, and updates `capacity`. Returns NULL if there
 * is no memory: the array then stays where and as it is. */
static inline void *array_reserve(void *items, size_t *capacity, size_t count, size_t item_size)
{
    enum { FIRST_CAPACITY = 16 };
    if (items != NULL && count <= *capacity)
        return items;
    size_t grown = *capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : *capacity <= SIZE_MAX / 2 ? *capacity * 2 : SIZE_MAX;
    if (grown < count)
        grown = count;
    if (grown > SIZE_MAX / item_size)
        return NULL;
    void *moved = realloc(items, grown * item_size);
    if (moved != NULL)
        *capacity = grown;
    return moved;
}

#endif
