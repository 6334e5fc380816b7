/* The compilers behind OpenCL devices and their stages, in pipeline order; docs/stages.md is the same table for people. */
#ifndef KERNLENS_STAGES_H
#define KERNLENS_STAGES_H

#include "environment.h"
#include "snapshots.h"

#include <CL/cl.h>

#include <stdbool.h>
#include <stddef.h>

/* Where a stage's snapshot comes from. */
enum origin {
    ORIGIN_SOURCE,   /* CL_PROGRAM_SOURCE; known before the build */
    ORIGIN_SPIRV,    /* CL_PROGRAM_IL or the SPIR-V within the program's binary; the text form needs a second build */
    ORIGIN_BINARY,   /* the program's binary or a part of it */
    ORIGIN_COMPILER, /* what the compiler writes when the program is built once more, in a process of its own */
};

struct stage {
    const char *name;
    const char *text;   /* usual file ending of the text form; NULL if there is none */
    const char *binary; /* of the binary form */
    bool text_first;    /* the form that CL_PROGRAM_BINARY_FORMAT_DEFAULT_CODEPLAY means */
    bool per_kernel;
    enum origin origin;
    bool changes_binary; /* a build that keeps it makes another binary, so it must not be the application's own */
    const char *dump; /* what the compiler's file is called; its meaning is the compiler's */
};

/* A program's binary for one device. */
struct binary {
    const unsigned char *bytes;
    size_t size;
};

struct compiler {
    const char *name;
    const struct stage *stages;
    cl_uint count;
    bool kernels_on_query; /* kernels are compiled only when somebody asks for the program's binary */
    /* Sets what makes the compiler write the stage's files into `folder`; NULL if no stage needs a second build. */
    void (*set_dumps)(struct environment *environment, const struct stage *stage, bool text, const char *folder);
    /* Adds what the second build left in `folder`. `binary` is that of the application's own program: of several tries,
     * the one that it contains counts. */
    void (*collect)(const struct stage *stage, bool text, const char *folder, const struct binary *binary,
                    struct snapshots *snapshots);
    /* The application's own build (own_dumps.h): whether it can keep the stage; told to, with what set_dumps has set; no longer
     * told to, and whether what it kept in `folder` is its own. NULL if there is no such way. */
    bool (*own_possible)(const struct stage *stage);
    bool (*own_begin)(cl_program program, const struct environment *wanted);
    bool (*own_end)(const char *folder);
};

/* Whether a string of the environment is one that the layer put there for the CPU runtime: a second build is not to get it. */
bool cpu_setting(const char *setting);

extern const struct compiler igc_compiler, pocl_compiler, cpu_compiler, unknown_compiler;

const struct compiler *compiler_of(cl_device_id device);
/* NULL if the compiler has no stage of that name. */
const struct stage *stage_named(const struct compiler *compiler, const char *name);
/* Whether a request with this format means the stage's text form. */
bool stage_as_text(const struct stage *stage, cl_uint format);

#endif
