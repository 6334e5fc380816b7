#define _GNU_SOURCE
#include "level_zero_layer/modules.h"

#include "base/owned.h"
#include "base/text.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/module_event.h"
#include "level_zero_layer/replaced_module.h"

static ze_pfnModuleCreate_t next_create;
static ze_pfnModuleDestroy_t next_destroy;
static ze_pfnModuleDynamicLink_t next_dynamic_link;
static const char *added_options; /* to what is built from SPIR-V; NULL: none */

/* A log that is asked for even if the application does not: the driver writes one anyway. */
struct asked_log {
    ze_module_build_log_handle_t handle, *given_back;
};

static char no_log; /* its address is what the driver leaves where it writes no log */

static struct asked_log log_ask(ze_module_build_log_handle_t *applications)
{
    return (struct asked_log){.handle = (ze_module_build_log_handle_t)(void *)&no_log, .given_back = applications};
}

/* Adds the log to the event, and gives it to the application if that asked. */
static void log_take(struct asked_log *log, struct event *event)
{
    if (log->handle == (ze_module_build_log_handle_t)(void *)&no_log)
        return;
    if (log->handle != NULL)
        module_event_log(event, log->handle);
    if (log->given_back != NULL)
        *log->given_back = log->handle;
    else if (log->handle != NULL && driver.log_destroy != NULL)
        driver.log_destroy(log->handle);
}

/* Tells whether the driver took the call: of what it refused, nothing may be asked. */
static bool was_taken(ze_result_t result)
{
    switch (result) {
    case ZE_RESULT_SUCCESS:
    case ZE_RESULT_ERROR_MODULE_BUILD_FAILURE:
    case ZE_RESULT_ERROR_MODULE_LINK_FAILURE:
    case ZE_RESULT_ERROR_INVALID_NATIVE_BINARY:
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY:
    case ZE_RESULT_ERROR_DEVICE_LOST:
    case ZE_RESULT_ERROR_UNKNOWN:
        return true;
    default:
        return false;
    }
}

/* A module's descriptor with other options in it. */
struct changed_options {
    ze_module_desc_t description;
    ze_module_program_exp_desc_t program;
    char *options;
    const char **of_inputs;
};

static void changed_options_free(struct changed_options *changed)
{
    free(changed->options);
    free(changed->of_inputs);
}

/* Returns the descriptor that the driver gets: the application's, or one with the added options. The driver joins those of the
 * inputs of a static link, without a space: they are added to the first one's. */
static const ze_module_desc_t *description_for_driver(const ze_module_desc_t *description, struct changed_options *changed)
{
    const ze_module_program_exp_desc_t *program = static_link(description);
    if (added_options == NULL || description->format != ZE_MODULE_FORMAT_IL_SPIRV || (program != NULL && program->count == 0))
        return description;
    const char *const *flags = program != NULL ? program->pBuildFlags : &description->pBuildFlags;
    const char *before = flags != NULL && flags[0] != NULL ? flags[0] : "";
    changed->options = text_format(before[0] != '\0' ? "%s %s" : "%s%s", before, added_options);
    if (changed->options == NULL)
        return description;
    changed->description = *description;
    changed->description.pBuildFlags = changed->options;
    if (program == NULL)
        return &changed->description;
    changed->of_inputs = calloc(program->count, sizeof *changed->of_inputs);
    if (changed->of_inputs == NULL)
        return description;
    if (flags != NULL)
        memcpy(changed->of_inputs, program->pBuildFlags, program->count * sizeof *changed->of_inputs);
    changed->of_inputs[0] = changed->options;
    changed->program = *program;
    changed->program.pBuildFlags = changed->of_inputs;
    changed->description.pBuildFlags = description->pBuildFlags;
    changed->description.pNext = &changed->program;
    return &changed->description;
}

/* Makes a module, and writes it down. What stands in for the application's is its own business: if the driver refuses it, it leaves
 * neither an event nor a log. */
static ze_result_t create_recorded(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *description,
                                   ze_module_handle_t *module, ze_module_build_log_handle_t *log,
                                   const struct replaced_module *replaced)
{
    RELEASED_BY(changed_options_free) struct changed_options changed = {0};
    const ze_module_desc_t *given = description_for_driver(description, &changed);
    RELEASED_BY(event_free) struct event event = {0};
    event_begin(&event, "module");
    field_text(&event.fields, "interface", "level-zero");
    struct asked_log asked = log_ask(log);
    ze_result_t result = next_create(context, device, given, module, &asked.handle);
    event_ended(&event, result);
    struct program_identity identity = {0, 0};
    if (result == ZE_RESULT_SUCCESS) {
        counters_new_program(*module);
        identity = counters_identity(*module);
        event_program(&event, "program", identity);
    }
    bool is_refused = replaced != NULL && result != ZE_RESULT_SUCCESS;
    if (replaced != NULL)
        replaced_module_note(replaced, identity, (int)result);
    if (is_refused)
        asked.given_back = NULL;
    if (was_taken(result) && !is_refused) {
        module_event_describe(&event, given);
        module_event_device(&event, device);
        field_number(&event.fields, "built", result == ZE_RESULT_SUCCESS);
        if (result == ZE_RESULT_SUCCESS)
            module_event_binary(&event, *module);
    }
    log_take(&asked, &event);
    if (was_taken(result) && !is_refused)
        event_write(&event);
    return result;
}

static ze_result_t ZE_APICALL create(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *description,
                                     ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
    if (description == NULL || module == NULL)
        return next_create(context, device, description, module, log);
    RELEASED_BY(replaced_module_free) struct replaced_module replaced = {0};
    if (replaced_module_find(description, &replaced) &&
        create_recorded(context, device, &replaced.description, module, log, &replaced) == ZE_RESULT_SUCCESS)
        return ZE_RESULT_SUCCESS;
    return create_recorded(context, device, description, module, log, NULL);
}

static ze_result_t ZE_APICALL destroy(ze_module_handle_t module)
{
    counters_forget_program(module); /* before another thread's new module may have the handle */
    return next_destroy(module);
}

static ze_result_t ZE_APICALL dynamic_link(uint32_t count, ze_module_handle_t *modules, ze_module_build_log_handle_t *log)
{
    RELEASED_BY(event_free) struct event event = {0};
    event_begin(&event, "dynamic link");
    field_text(&event.fields, "interface", "level-zero");
    for (uint32_t index = 0; modules != NULL && index < count; ++index)
        event_program(&event, "input", counters_identity(modules[index]));
    struct asked_log asked = log_ask(log);
    ze_result_t result = next_dynamic_link(count, modules, &asked.handle);
    event_ended(&event, result);
    log_take(&asked, &event);
    if (was_taken(result))
        event_write(&event);
    return result;
}

void modules_open(void)
{
    const char *added = getenv("KERNLENS_CAPTURE_OPTIONS");
    added_options = added != NULL && added[0] != '\0' ? strdup(added) : NULL;
    replacements_open();
}

void modules_hook(ze_module_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* these are in every one */
    PUT_IN_FRONT(table->pfnCreate, create, next_create);
    PUT_IN_FRONT(table->pfnDestroy, destroy, next_destroy);
    PUT_IN_FRONT(table->pfnDynamicLink, dynamic_link, next_dynamic_link);
}
