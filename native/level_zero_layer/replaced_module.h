/* A module of the application that something else stands in for (recording/replacements.h). */
#ifndef KERNLENS_REPLACED_MODULE_H
#define KERNLENS_REPLACED_MODULE_H

#include "level_zero_api/ze_api.h"
#include "recording/replacements.h"

struct replaced_module {
    ze_module_desc_t description; /* for the driver, in the place of the application's */
    ze_module_program_exp_desc_t program;
    const uint8_t **inputs;
    size_t *sizes;
    size_t count;
    struct replaced_input {
        const struct replacement *replacement; /* NULL: nothing stands in for it */
        struct view own;
    } *replaced;
};

/* Finds what stands in for the application's module, or for inputs of its static link; false if nothing can. Notes what is meant
 * to, and cannot: source for any module, a binary for one of several inputs. */
bool replaced_module_find(const ze_module_desc_t *description, struct replaced_module *module);
/* Notes that the driver took it, or its error and log (NULL: none). */
void replaced_module_note(const struct replaced_module *module, struct program_identity identity, int error, const char *log);
/* For RELEASED_BY. */
void replaced_module_free(struct replaced_module *module);

#endif
