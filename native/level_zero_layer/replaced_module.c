#define _GNU_SOURCE
#include "level_zero_layer/replaced_module.h"

#include "level_zero_layer/module_event.h"

#include <stdlib.h>
#include <string.h>

/* Returns what stands in for this; NULL if nothing does, or what is meant to cannot. */
static const struct replacement *usable(enum made_from form, const struct view *own, bool is_alone)
{
    const struct replacement *replacement = own->bytes != NULL ? replacement_for(form, own) : NULL;
    if (replacement == NULL || replacement->form == FROM_IL || (replacement->form == FROM_BINARY && is_alone))
        return replacement;
    replacement_note(replacement, own, (struct program_identity){0, 0}, CANNOT_STAND_IN, NULL);
    return NULL;
}

static bool find_alone(const ze_module_desc_t *description, struct replaced_module *module)
{
    bool is_binary = description->format == ZE_MODULE_FORMAT_NATIVE;
    struct replaced_input *only = module->replaced;
    only->own = (struct view){description->pInputModule, description->inputSize};
    only->replacement = usable(is_binary ? FROM_BINARY : FROM_IL, &only->own, true);
    if (only->replacement == NULL)
        return false;
    module->description.format = only->replacement->form == FROM_IL ? ZE_MODULE_FORMAT_IL_SPIRV : ZE_MODULE_FORMAT_NATIVE;
    module->description.pInputModule = only->replacement->bytes.bytes;
    module->description.inputSize = only->replacement->bytes.size;
    return true;
}

static bool find_inputs(const ze_module_program_exp_desc_t *program, struct replaced_module *module)
{
    module->inputs = calloc(module->count, sizeof *module->inputs);
    module->sizes = calloc(module->count, sizeof *module->sizes);
    if (module->inputs == NULL || module->sizes == NULL)
        return false;
    bool any = false;
    for (size_t index = 0; index < module->count; ++index) {
        struct replaced_input *input = &module->replaced[index];
        input->own = (struct view){program->pInputModules[index], program->inputSizes[index]};
        input->replacement = usable(FROM_IL, &input->own, false);
        const struct view *bytes = input->replacement != NULL ? &input->replacement->bytes : &input->own;
        module->inputs[index] = bytes->bytes;
        module->sizes[index] = bytes->size;
        any = any || input->replacement != NULL;
    }
    module->program = *program;
    module->program.pInputModules = module->inputs;
    module->program.inputSizes = module->sizes;
    module->description.pNext = &module->program;
    return any;
}

bool replaced_module_find(const ze_module_desc_t *description, struct replaced_module *module)
{
    const ze_module_program_exp_desc_t *program = static_link(description);
    if (!replacements_are_there())
        return false;
    module->count = program != NULL ? program->count : 1;
    module->replaced = calloc(module->count, sizeof *module->replaced);
    if (module->replaced == NULL)
        return false;
    module->description = *description;
    return program != NULL ? find_inputs(program, module) : find_alone(description, module);
}

void replaced_module_note(const struct replaced_module *module, struct program_identity identity, int error, const char *log)
{
    for (size_t index = 0; index < module->count; ++index)
        if (module->replaced[index].replacement != NULL)
            replacement_note(module->replaced[index].replacement, &module->replaced[index].own, identity, error, log);
}

void replaced_module_free(struct replaced_module *module)
{
    free(module->inputs);
    free(module->sizes);
    free(module->replaced);
}
