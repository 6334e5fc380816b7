/* What the parts that keep launches share; each is told of in the file that bears its name. */
#ifndef KERNLENS_KEPT_PARTS_H
#define KERNLENS_KEPT_PARTS_H

#include "recording/reached.h"

#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* kernels.c: what kernels are given. */
/* Puts its functions into the table, in front of those `behind`. For a loading layer. */
void kernels_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);

/* objects.c: living memory objects and samplers, and allocations. */
void objects_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
bool is_memory_object(cl_mem object);
bool is_sampler(cl_sampler sampler);

/* unified.c: Intel's unified shared memory, whose functions platforms give out by their names. */
void *unified_function(cl_platform_id platform, const char *name, void *of_platform);
cl_int unified_copy(cl_command_queue queue, void *to, const void *from, size_t size, cl_uint count, const cl_event *events,
                    cl_event *event);

/* reached.c: the memory that a launch can reach. */
/* Finds the memory of a launch; false if there is no memory for that. */
bool reached_find(struct reached_list *list, cl_context context, cl_kernel kernel, const struct given_kernel *given_kernel);

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

/* followers.c: commands that may come behind a launch. */
/* Puts its functions into the table, in front of those `behind`. For a loading layer. */
void followers_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Has what follows this launch, in whatever queue, wait for what is read after it, until the end of that. NULL if there is no memory. */
struct followed *followed_begin(const struct reading *reading, bool is_ordered, cl_event launch);
void followed_end(struct followed *followed);

/* Tells whether the queue runs one command after the other. */
bool is_in_order(cl_command_queue queue);

/* references.c: questions for references. */
/* Puts its functions into the table, in front of those `behind`. For a loading layer. */
void references_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* launches.c: waits until all launches are written, but not for long: some may wait for the application. */
void launches_settle(void);

#endif
