/* What kernels were given: values and handles as they were set, for kernels of whose launches some are to be kept. */
#ifndef KERNLENS_GIVEN_KERNELS_H
#define KERNLENS_GIVEN_KERNELS_H

#include "recording/chosen_launches.h"
#include "recording/counters.h"

#include <stddef.h>

enum argument_kind { ARGUMENT_UNSET, ARGUMENT_VALUE, ARGUMENT_LOCAL, ARGUMENT_POINTER };
struct argument {
    enum argument_kind kind;
    size_t size;
    void *bytes;         /* a value's */
    const void *pointer; /* a pointer's value */
};
/* A kernel as it is given, or a copy of that for one launch. */
struct given_kernel {
    struct chosen_name *name;
    uint64_t number;
    bool if_slowest;
    struct program_identity program;
    struct argument *arguments;
    size_t argument_count;
    const void **reachable; /* pointers that the application says it reaches beside those */
    size_t reachable_count;
    bool reaches_host, reaches_device, reaches_shared; /* all unified shared memory of that type */
    size_t offset[3];                                  /* where its launches begin, if that is the kernel's */
    const char *why;                                   /* why what it is given is not known; NULL: it is */
};

/* Has forks looked after. For a loading layer. */
void given_kernels_watch(void);
/* Notes a kernel that the application got, by its name, or as a copy. */
void given_kernel_created(const void *kernel, struct program_identity program, const char *name);
void given_kernel_cloned(const void *clone, const void *of);
/* The kernel is gone: for interfaces where that can be known. */
void given_kernel_gone(const void *kernel);
/* Tells whether launches of the kernel may be kept. */
bool given_is_watched(const void *kernel);
/* An argument was set: to these bytes, or, without any, to so many bytes of local memory; to a pointer. */
void given_value(const void *kernel, size_t number, size_t size, const void *value);
void given_pointer(const void *kernel, size_t number, const void *pointer);
/* Has this change what is noted of the kernel beside its arguments, if it is known. */
void given_change(const void *kernel, void (*change)(struct given_kernel *own, const void *context), const void *context);
/* Notes pointers that the kernel reaches beside its arguments; for given_change. */
void given_reaches(struct given_kernel *own, const void *pointers, size_t size);
/* Returns a copy of what the kernel was given if this launch is to be kept; NULL if not. */
struct given_kernel *given_for_launch(const void *kernel);
/* Returns a copy of what the kernel is given so far, for launches that come later; NULL if none of its are to be kept. */
struct given_kernel *given_until_now(const void *kernel);
/* Counts a launch of such a copy, which gets its number; false if this launch is not to be kept. */
bool given_launched(struct given_kernel *given_kernel);
void given_free(struct given_kernel *given_kernel);

#endif
