/* The application's living allocations that kernels reach by addresses. */
#ifndef KERNLENS_ALLOCATIONS_H
#define KERNLENS_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of memory, as the files of launches have them. */
enum memory_kind { MEMORY_BUFFER = 1, MEMORY_IMAGE, MEMORY_SVM, MEMORY_HOST, MEMORY_DEVICE, MEMORY_SHARED };
struct allocation {
    const void *address;
    size_t size;
    enum memory_kind kind;
    uint64_t flags;
    const void *context;
};

/* Has forks looked after. For a loading layer. */
void allocations_watch(void);
void allocation_is(const void *address, size_t size, enum memory_kind kind, uint64_t flags, const void *context);
void allocation_is_gone(const void *address);
/* Finds the allocation that the pointer points into; false if it points into none. */
bool allocation_of(const void *pointer, struct allocation *result);
/* Calls back with each allocation of this kind of a context. */
void allocations_visit(const void *context, enum memory_kind kind, void (*visit)(const struct allocation *each, void *to), void *to);

#endif
