/* One call of a function that builds: described as it begins, written down when it has ended. */
#ifndef KERNLENS_BUILD_EVENT_H
#define KERNLENS_BUILD_EVENT_H

#include <CL/cl.h>

struct build_event;

/* Begins one: a call of clBuildProgram ("build"), clCompileProgram ("compile") or clLinkProgram ("link"), or the creation of
 * "built-in kernels", whose names are the options. It is for these devices (NULL: all that the program has). `given` are the
 * options that the driver gets in place of the application's, NULL if it gets those. Returns NULL if there is no memory; the
 * others take that. */
struct build_event *build_event_begin(const char *operation, cl_uint count, const cl_device_id *devices,
                                      const char *options, const char *given);
/* Notes a linked program, or a header under its name. */
void build_event_input(struct build_event *event, cl_program program);
void build_event_header(struct build_event *event, cl_program program, const char *name);
/* Notes what is to be built, and for what, before the driver does it: NULL is the program of a link. */
void build_event_start(struct build_event *event, cl_program program);
/* Writes it and frees it. `program` is what was built, NULL if there is none. */
void build_event_end(struct build_event *event, cl_program program, cl_int status);
/* Frees it: there was none. */
void build_event_drop(struct build_event *event);

#endif
