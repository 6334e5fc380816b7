/* One request while its program is built. */
#ifndef KERNLENS_CAPTURE_H
#define KERNLENS_CAPTURE_H

#include "job.h"
#include "requests.h"

/* What builds the program. */
struct building {
    enum job_operation operation;
    const char *options;
    cl_uint count;
    const cl_program *programs;
};

/* Before the driver's own build: has it, or a second build, write what the request's stage needs. `alone`: no other request is
 * for this build. */
void capture_start(struct request *request, const struct building *building, bool alone);
/* Right after it, before anything else of the layer: ends what capture_start began with the driver's own build. */
void capture_built(struct request *request);
/* Then: calls the request's callback with what there is of its stage, or tells the user why there is nothing.
 * `built` is NULL if there is no program; `status` is what its build came to. */
void capture_finish(struct request *request, const struct building *building, cl_program built, cl_int status);
/* After a compile: the same for the stages that a compile alone yields. True if the request is served. */
bool capture_compiled(struct request *request, cl_int status);

#endif
