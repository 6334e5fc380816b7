/* Arrays that grow as things are added to them. Plain C11: the decoder is also built where GCC's attributes are not known. */
#ifndef KERNLENS_ARRAYS_H
#define KERNLENS_ARRAYS_H

#include <stddef.h>

/* Returns `items`, moved if need be, with room for `wanted` items of this size, and updates `capacity`. Returns NULL if there
 * is no memory: the array then stays where and as it is. */
void *array_reserve(void *items, size_t *capacity, size_t wanted, size_t item_size);

#endif
