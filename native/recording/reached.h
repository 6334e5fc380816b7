/* The memory that a launch can reach, and its arguments, as files of launches have them (kept_files.h). */
#ifndef KERNLENS_REACHED_H
#define KERNLENS_REACHED_H

#include "recording/allocations.h"
#include "recording/given_kernels.h"

/* An image's format and sizes, in OpenCL's numbers. */
struct image_form {
    uint64_t order, data_type, object_type, width, height, depth, array_size, mip_levels, samples, element_size;
    uint64_t buffer; /* the number of the memory that it is made of, plus 1; 0: its own */
    uint64_t row_pitch; /* from row to row in that, in bytes; 0 else */
};
/* What `object_type` may be. */
enum { FORM_2D = 0x10F1, FORM_3D, FORM_2D_ARRAY, FORM_1D, FORM_1D_ARRAY };
/* Bytes of all pixels, in rows without gaps. */
uint64_t image_form_size(const struct image_form *image);
/* Memory as files have it: numbers, of which the last are zero where it is no image. */
struct memory_row {
    uint64_t kind, size, flags, address;
    struct image_form image;
};
struct reached {
    struct memory_row row;
    void *object;          /* retained; NULL: an allocation */
    const void *address;   /* of that */
    unsigned char *before, *after;
    bool is_unread;        /* what it has before is not read */
    bool is_written;       /* a kernel may write to it, so what it has after is read */
    const char *why;       /* why that is so; NULL: no reason is known */
    int refused_before, refused_after; /* the driver's answer to what read it */
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

/* Begins a list with so many arguments, which are not described yet; false if there is no memory for that. */
bool reached_begin(struct reached_list *list, size_t arguments);
/* Adds memory; returns its number plus 1, 0 if there is no memory for that. */
uint64_t reached_add(struct reached_list *list, const struct reached *memory);
/* Returns the number of an object or allocation plus 1, 0 if it is not there yet. */
uint64_t reached_number(const struct reached_list *list, const void *object, const void *address);
/* Adds the allocation that a pointer of an argument points into, unless it is there. */
void reached_pointer(struct reached_list *list, struct argument_row *row, const void *pointer);
/* Adds the allocations that words of a value point into. */
void reached_words(struct reached_list *list, const void *value, size_t size);
/* Adds allocations that the application says the kernel reaches beside its arguments. */
void reached_beside(struct reached_list *list, const struct given_kernel *given_kernel, const void *context);
/* Nothing runs on the device, which is simulated: no memory has contents after the launch, and only what the processor reaches has some
 * before it. */
void reached_by_nothing(struct reached_list *list);
/* Reads memory of this process; false if not all of it may be read. */
bool memory_peek(void *to, const void *from, size_t size);
/* Reads what the processor reaches. An address that it may not read is an error, not a signal: another thread may have freed it. */
void reached_peek(struct reached_list *list);
/* Counts the bytes of all contents that are to be read. */
void reached_count(struct reached_list *list);
void reached_free(struct reached_list *list);

#endif
