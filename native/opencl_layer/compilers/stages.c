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
