/* What the parts that keep launches share; each is told of in the file that bears its name. */
#ifndef KERNLENS_KEPT_PARTS_H
#define KERNLENS_KEPT_PARTS_H

#include "recording/counters.h"

#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* chosen.c: which launches are to be kept. */
/* Takes that from the environment; false if none is. For a loading layer. */
bool chosen_open(void);
/* Kernels of one name, of which launches are to be kept. It lasts as long as the process. */
struct chosen_name;
/* Returns that of a kernel's name; NULL if none of its launches is to be kept. With LOCK_RECORDER held. */
struct chosen_name *chosen_name_of(const char *kernel);
const char *chosen_name_text(const struct chosen_name *name);
/* Counts a launch, and returns its number; 0 if it is not to be kept. `if_slowest`: only if none takes longer. With LOCK_RECORDER
 * held. */
uint64_t chosen_launch(struct chosen_name *name, bool *if_slowest);
/* Tells whether a launch of this time (nanoseconds) is the slowest so far, whose file is then this one; the file that was is in
 * `former`, with its size: free it. With LOCK_RECORDER held. */
bool chosen_is_slowest(struct chosen_name *name, uint64_t nanoseconds, const char *file, uint64_t size, char **former,
                       uint64_t *former_size);
/* Takes so many bytes of what may be kept; false if there are not so many. With LOCK_RECORDER held. */
bool chosen_take(uint64_t size);
void chosen_give_back(uint64_t size);

/* kernels.c: what kernels were given. */
enum argument_kind { ARGUMENT_UNSET, ARGUMENT_VALUE, ARGUMENT_LOCAL, ARGUMENT_POINTER };
struct argument {
    enum argument_kind kind;
    size_t size;
    void *bytes;         /* a value's */
    const void *pointer; /* a pointer's value */
};
/* A copy of what a kernel was given, for one launch. */
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
};
/* Puts its functions into the table, in front of those `behind`. For a loading layer. */
void kernels_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Returns a copy of what the kernel was given if this launch is to be kept; NULL if not. */
struct given_kernel *given_for_launch(cl_kernel kernel);
void given_free(struct given_kernel *given_kernel);
/* Notes a pointer that a function of an extension has set. */
void kernel_pointer_is(cl_kernel kernel, cl_uint number, const void *pointer);

/* objects.c: living memory objects, samplers and allocations. */
enum memory_kind { MEMORY_BUFFER = 1, MEMORY_IMAGE, MEMORY_SVM, MEMORY_HOST, MEMORY_DEVICE, MEMORY_SHARED };
/* An allocation that kernels reach by addresses. */
struct allocation {
    const void *address;
    size_t size;
    enum memory_kind kind;
    cl_mem_flags flags;
    cl_context context;
};
void objects_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
bool is_memory_object(cl_mem object);
bool is_sampler(cl_sampler sampler);
void allocation_is(const void *address, size_t size, enum memory_kind kind, cl_mem_flags flags, cl_context context);
void allocation_is_gone(const void *address);
/* Finds the allocation that the pointer points into; false if it points into none. */
bool allocation_of(const void *pointer, struct allocation *result);
/* Calls back with each allocation of this kind of a context. */
void allocations_visit(cl_context context, enum memory_kind kind, void (*visit)(const struct allocation *each, void *to), void *to);

/* unified.c: Intel's unified shared memory, whose functions platforms give out by their names. */
void *unified_function(cl_platform_id platform, const char *name, void *of_platform);
cl_int unified_copy(cl_command_queue queue, void *to, const void *from, size_t size, cl_uint count, const cl_event *events,
                    cl_event *event);

/* reached.c: the memory that a launch can reach. */
/* An image's format and sizes. */
struct image_form {
    uint64_t order, data_type, object_type, width, height, depth, array_size, mip_levels, samples, element_size;
    uint64_t buffer; /* the number of the memory that it is made of, plus 1; 0: its own */
    uint64_t row_pitch; /* from row to row in that, in bytes; 0 else */
};
/* Memory as files have it: numbers, of which the last are zero where it is no image. */
struct memory_row {
    uint64_t kind, size, flags, address;
    struct image_form image;
};
struct reached {
    struct memory_row row;
    cl_mem object;         /* retained; NULL: an allocation */
    const void *address;   /* of that */
    unsigned char *before, *after;
    bool is_written;       /* a kernel may write to it */
    cl_int refused_before, refused_after; /* the driver's answer to what read it */
};
/* An argument as files have it; a value's bytes come behind it. `kind` is 1 (value), 2 (local), 3 (memory), 4 (sampler), 5 (pointer),
 * 6 (null). */
enum { ROW_VALUE = 1, ROW_LOCAL, ROW_MEMORY, ROW_SAMPLER, ROW_POINTER, ROW_NULL };
struct argument_row {
    uint64_t kind, memory, offset, size, flags, sampler[3]; /* memory: the number plus 1 */
};
struct reached_list {
    struct reached *items;
    size_t count, capacity;
    struct argument_row *arguments;
    size_t argument_count;
    uint64_t size; /* bytes of all contents */
    const char *why; /* why it is not all; NULL: it is */
};
/* Finds the memory of a launch; false if there is no memory for that. */
bool reached_find(struct reached_list *list, cl_context context, cl_kernel kernel, const struct given_kernel *given_kernel);
void reached_free(struct reached_list *list);

/* contents.c: what memory holds, read by commands of the launch's queue. */
/* Commands that follow one another. */
struct reading {
    cl_command_queue queue;
    cl_context context;
    cl_event last; /* of the last command, NULL: none */
};
/* Has the memory read into memory of its own once these events, and all earlier reading, are over. False if nothing was enqueued. */
bool contents_read(struct reading *reading, struct reached *memory, unsigned char **contents, cl_int *refused, cl_uint count,
                   const cl_event *events);

/* Tells whether the queue runs one command after the other. */
bool is_in_order(cl_command_queue queue);

/* references.c: questions for references. */
/* Puts its functions into the table, in front of those `behind`. For a loading layer. */
void references_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* launches.c: waits until all launches are written, but not for long: some may wait for the application. */
void launches_settle(void);

/* kept_files.c: the files. */
/* Writes the beginning of a launch's file; returns its name, NULL if that cannot be. Free it. */
char *kept_file_begin(const struct given_kernel *given_kernel, const struct reached_list *list, cl_device_id device, cl_uint dimensions,
                      const size_t *offset, const size_t *global, const size_t *local);
/* Writes the contents, and the device's time (0: not known): the file is whole then. False if it cannot be, and is gone. */
bool kept_file_end(const char *name, const struct reached_list *list, uint64_t nanoseconds);
/* The launch is not kept after all. `name` may be a whole file's. */
void kept_file_drop(const char *name, bool is_whole);

#endif
