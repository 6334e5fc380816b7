/* How a request for a stage is served while its program is built: from the program, its binary, or the compiler's files. */
#ifndef KERNLENS_REQUESTS_H
#define KERNLENS_REQUESTS_H

#include "opencl_layer/layer/programs.h"
#include "opencl_layer/second_build/job.h"

/* What builds the program. */
struct building {
    enum job_operation operation;
    const char *options;
    cl_uint count;
    const cl_program *programs;
};

/* What a build came to. */
struct outcome {
    cl_program program; /* NULL if there is none */
    cl_int status;
};

/* One request during one build. */
struct serving {
    struct request request;
    struct second_build *second; /* NULL if there is none */
    bool own_begun;              /* the application's own build keeps the stage */
    char *own_folder;            /* after it: its folder; NULL if it holds nothing */
};

/* Takes the program's request; false if it has none. */
bool serving_take(struct serving *serving, cl_program program);
/* Before the driver's build: has it, or a second build, write what the request's stage needs. `alone`: no other request is
 * for this build. */
void serving_start(struct serving *serving, const struct building *building, bool alone);
/* Right after it, before anything else of the layer: ends what serving_start began with the driver's build. */
void serving_built(struct serving *serving);
/* Then: calls the request's callback with what there is of its stage, or tells the user why there is nothing. */
void serving_finish(struct serving *serving, const struct building *building, const struct outcome *built);
/* After a compile: does the same for the stages that a compile alone yields. */
void serve_compiled(const struct request *request, cl_int status);

#endif
