/* The compilers that the layer knows, and the stages of each, in pipeline order; docs/stages.md is the same table for people.
 *
 * Nothing here, nor in the compilers' own files, knows of OpenCL: a compiler leaves the same files whoever calls it.
 */
#ifndef KERNLENS_STAGES_H
#define KERNLENS_STAGES_H

#include "base/bytes.h"
#include "base/children.h"
#include "opencl_layer/compilers/snapshots.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a stage's snapshot comes from. */
enum origin {
    ORIGIN_SOURCE,   /* the program's source; known before the build */
    ORIGIN_SPIRV,    /* the program's IL or the SPIR-V within its binary; the text form comes from the compiler */
    ORIGIN_BINARY,   /* the program's binary or a part of it */
    ORIGIN_CACHE,    /* what the driver made of the binary, which its cache keeps */
    ORIGIN_COMPILER, /* files that the compiler writes when it is told to */
};

struct stage {
    const char *name;
    const char *text;   /* usual file ending of the text form; NULL if there is none */
    const char *binary; /* of the binary form */
    bool text_first;    /* the text form is the default */
    bool per_kernel;
    enum origin origin;
    const char *dump;    /* what the compiler's file is called; its meaning is the compiler's */
};

/* A stage in one of its forms, of one compiler. */
struct stage_form {
    const struct compiler *compiler;
    const struct stage *stage;
    bool text;
};

struct compiler {
    const char *name;
    const struct stage *stages;
    unsigned count;
    bool spirv_from_source;          /* a program from source yields a SPIR-V module */
    bool kernels_on_query;           /* kernels are compiled only when somebody asks for the program's binary */
    bool variables_at_first_compile; /* the variables that set_dumps sets are read then, and only then */
    /* Sets what makes the compiler write the stage's files into `folder`; NULL if it writes none for any stage. */
    void (*set_dumps)(struct environment *environment, const struct stage_form *form, const char *folder);
    /* Adds what the compiler left in `folder`, or (without) what the driver's cache has. `binary` is that of the application's program: of a kernel's several attempts
     * and widths, the one that it contains counts. */
    void (*collect)(const struct stage_form *form, const char *folder, const struct view *binary,
                    struct snapshots *snapshots);
    /* Of this process's own compiler, which can keep a stage during one build: whether it can now; has it do what set_dumps has
     * set; has it stop, and says whether what it kept in `folder` is that build's. NULL if there is no way. */
    bool (*can_keep)(void);
    bool (*begin_keeping)(const struct environment *dumps);
    bool (*end_keeping)(const char *folder);
};

/* Intel's GPU compiler, PoCL, Intel's OpenCL runtime for CPUs, NVIDIA's driver, and any other. */
extern const struct compiler igc_compiler, pocl_compiler, cpu_runtime_compiler, nvidia_compiler, unknown_compiler;

/* Finds a stage; NULL if the compiler has none of that name. */
const struct stage *stage_named(const struct compiler *compiler, const char *name);
/* Tells whether only files of the compiler yield this form of the stage. */
bool stage_needs_dumps(const struct stage_form *form);

#endif
