/* Collects a request's snapshots from where they are, or tells the user why there are none. */
#ifndef KERNLENS_COLLECTING_H
#define KERNLENS_COLLECTING_H

#include "opencl_layer/layer/programs.h"

/* What a build came to. */
struct outcome {
    cl_program program; /* NULL if there is none */
    cl_int status;
};

void collect_source(const struct request *request, struct snapshots *snapshots);
/* Takes the module from the program's IL or from the binary of what was built. */
void collect_spirv(const struct request *request, const struct outcome *built, struct snapshots *snapshots);
/* Takes the program's binary, or the part of it that is the stage. */
void collect_binary(const struct request *request, const struct outcome *built, struct snapshots *snapshots);
/* Takes what the compiler left in a folder. `answer` says why a second build failed, if it did; else it is empty. */
void collect_dumps(const struct request *request, const char *folder, const char *answer,
                   const struct outcome *built, struct snapshots *snapshots);
/* Tells the user that the build failed before it came to the stage. */
void tell_failure(const struct request *request, cl_int status);

#endif
