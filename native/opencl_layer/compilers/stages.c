#include "opencl_layer/compilers/stages.h"

#include <string.h>

const struct stage *stage_named(const struct compiler *compiler, const char *name)
{
    for (unsigned index = 0; index < compiler->count; ++index)
        if (strcmp(compiler->stages[index].name, name) == 0)
            return &compiler->stages[index];
    return NULL;
}

bool stage_needs_dumps(const struct stage_form *form)
{
    const struct stage *stage = form->stage;
    return form->compiler->set_dumps != NULL &&
           (stage->origin == ORIGIN_COMPILER || (stage->origin == ORIGIN_SPIRV && form->text && stage->text != NULL));
}

/* Any other compiler: what can be asked of the program itself. */
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
