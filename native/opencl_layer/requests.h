/* The snapshot requests of living programs: at most one for each, the latest. */
#ifndef KERNLENS_REQUESTS_H
#define KERNLENS_REQUESTS_H

#include "stages.h"

#include <CL/cl_codeplay_program_snapshot.h>

struct replay;

struct request {
    cl_program program;
    cl_device_id device;
    const struct compiler *compiler;
    const struct stage *stage;
    bool text;
    cl_codeplay_snapshot_callback_t callback;
    void *user_data;
    bool delivered;        /* while compiling: nothing is left for linking */
    bool own_begun;        /* while the program is built: its own compiler keeps the stage */
    char *own_folder;      /* after the build: what it kept; NULL if nothing */
    struct replay *replay; /* a second build that waits for this program's first; NULL if none does */
};

/* Keeps a copy, in place of the program's earlier request. False if there is no memory. */
bool request_put(const struct request *request);
/* Copies the program's request, and leaves its `replay` to the caller. False if there is none. */
bool request_take(cl_program program, struct request *request);
/* Copies it, without its `replay`. */
bool request_find(cl_program program, struct request *request);
void request_delivered(cl_program program);
/* For a program that ends, and for a new one: its handle may have been another program's. */
void request_forget(cl_program program);
/* How many second builds wait. */
unsigned requests_waiting(void);

#endif
