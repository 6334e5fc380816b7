/* What the layer knows of living programs: one record each, made once there is something to know. */
#ifndef KERNLENS_PROGRAMS_H
#define KERNLENS_PROGRAMS_H

#include "base/bytes.h"
#include "opencl_layer/compilers/stages.h"

#include <CL/cl.h>
#include <CL/cl_codeplay_program_snapshot.h>

struct second_build;

/* What an application asked for; a program has at most one request, the latest. */
struct request {
    cl_program program;
    cl_device_id device;
    struct stage_form form;
    cl_codeplay_snapshot_callback_t callback;
    void *user_data;
};

/* Has every program known from its beginning on: a handle that is none can be told then. For a loading layer. */
void programs_track(void);
/* A new program: its handle may have been another's. */
void program_begins(cl_program program);
/* Forgets all that is known: for a program that ends. */
void program_forget(cl_program program);
bool program_is_known(cl_program program);

/* Programs from binaries that nobody built yet: some runtimes call them built from the start. */
void program_set_unbuilt(cl_program program);
void program_set_built(cl_program program);
bool program_is_unbuilt(cl_program program);

/* Keep a specialization constant, which a driver takes but does not give back. */
void program_keep_constant(cl_program program, cl_uint identifier, size_t size, const void *value);
/* Writes a program of a second build's job: what it is made of, and its constants. */
void program_write(cl_program program, int form, const struct view *bytes, struct writer *job);

/* Keeps a copy of the request in place of the program's earlier one, and takes the second build (NULL: none) that waits for the
 * program's first. False if there is no memory. */
bool program_put_request(const struct request *request, struct second_build *waiting);
/* Copies the program's request; false if it has none. */
bool program_find_request(cl_program program, struct request *request);
/* Copies it, and leaves the second build that waits for it to the caller. */
bool program_take_request(cl_program program, struct request *request, struct second_build **waiting);
/* Notes that a compile served the request: a link has nothing left to do. */
void program_set_served(cl_program program);
bool program_is_served(cl_program program);

/* Counts the second builds that wait. */
unsigned programs_waiting(void);

#endif
