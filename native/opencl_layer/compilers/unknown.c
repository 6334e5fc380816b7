/* Any other compiler: what can be asked of the program itself. */
#include "opencl_layer/compilers/compilers.h"

static const struct stage UNKNOWN_STAGES[] = {
    {.name = "source", .text = ".cl", .text_first = true, .origin = ORIGIN_SOURCE},
    {.name = "spirv", .binary = ".spv", .origin = ORIGIN_SPIRV},
    {.name = "program", .binary = ".bin", .origin = ORIGIN_BINARY},
};

const struct compiler unknown_compiler = {
    .name = "unknown",
    .stages = UNKNOWN_STAGES,
    .count = sizeof UNKNOWN_STAGES / sizeof *UNKNOWN_STAGES,
};
