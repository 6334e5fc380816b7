/* What a capture records of modules: how they are made, and linked. */
#define _GNU_SOURCE
#include "base/bytes.h"
#include "base/owned.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/layer.h"
#include "level_zero_layer/module_event.h"
#include "level_zero_layer/replaced_module.h"
#include "recording/current_calls.h"

#include <string.h>

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

/* Returns the log's text; NULL if there is none. */
static char *log_text(const struct asked_log *log)
{
    size_t size = 0;
    if (log->handle == (ze_module_build_log_handle_t)(void *)&no_log || log->handle == NULL || driver.log_string == NULL ||
        driver.log_string(log->handle, &size, NULL) != ZE_RESULT_SUCCESS || size == 0)
        return NULL;
    FREED char *text = calloc(1, size + 1);
    return text != NULL && driver.log_string(log->handle, &size, text) == ZE_RESULT_SUCCESS ? GIVE(text) : NULL;
}

/* Gives the log to the application if that asked. */
static void log_give(const struct asked_log *log)
{
    if (log->handle == (ze_module_build_log_handle_t)(void *)&no_log)
        return;
    if (log->given_back != NULL)
        *log->given_back = log->handle;
    else if (log->handle != NULL && driver.log_destroy != NULL)
        driver.log_destroy(log->handle);
}

/* Tells whether the call was one: these say that its arguments are none, so nothing may be asked of them either. Whatever else a driver
 * answers is the end of a build. */
static bool was_call(ze_result_t result)
{
    switch (result) {
    case ZE_RESULT_ERROR_UNINITIALIZED:
    case ZE_RESULT_ERROR_INVALID_NULL_HANDLE:
    case ZE_RESULT_ERROR_INVALID_NULL_POINTER:
    case ZE_RESULT_ERROR_INVALID_ENUMERATION:
        return false;
    default:
        return true;
    }
}

/* A module's descriptor with other options in it: one text, or one for each input of a static link. */
struct changed_options {
    ze_module_desc_t description;
    ze_module_program_exp_desc_t program;
    char **options;
    size_t count;
};

static void changed_options_free(struct changed_options *changed)
{
    for (size_t index = 0; index < changed->count; ++index)
        free(changed->options[index]);
    free(changed->options);
}

/* The driver joins the options of the inputs of a static link without a space, and before that rewrites some words, which takes the
 * spaces at one end or the other: they get some at both, and the last input's end with what is added. */
static bool make_inputs_options(const ze_module_program_exp_desc_t *program, struct changed_options *changed)
{
    for (size_t index = 0; index < changed->count; ++index) {
        const char *own = program->pBuildFlags != NULL ? program->pBuildFlags[index] : NULL;
        bool is_last = index + 1 == changed->count;
        if (own == NULL && !is_last)
            continue;
        changed->options[index] = text_format(" %s %s ", own != NULL ? own : "", is_last ? added_options : "");
        if (changed->options[index] == NULL)
            return false;
    }
    changed->program = *program;
    /* The same pointers to the driver, which does not write through them: no cast says that without dropping a qualifier. */
    memcpy(&changed->program.pBuildFlags, &changed->options, sizeof changed->options);
    changed->description.pNext = &changed->program;
    return true;
}

static bool make_options(const ze_module_desc_t *description, struct changed_options *changed)
{
    const char *own = description->pBuildFlags != NULL ? description->pBuildFlags : "";
    changed->options[0] = text_format(own[0] != '\0' ? "%s %s" : "%s%s", own, added_options);
    changed->description.pBuildFlags = changed->options[0];
    return changed->options[0] != NULL;
}

/* Returns the descriptor that the driver gets: the application's, or one with the added options. */
static const ze_module_desc_t *description_for_driver(const ze_module_desc_t *description, struct changed_options *changed)
{
    const ze_module_program_exp_desc_t *program = static_link(description);
    size_t count = program != NULL ? program->count : 1;
    if (added_options == NULL || description->format != ZE_MODULE_FORMAT_IL_SPIRV || count == 0)
        return description;
    changed->description = *description;
    changed->options = calloc(count, sizeof *changed->options);
    if (changed->options == NULL)
        return description;
    changed->count = count;
    bool is_changed = program != NULL ? make_inputs_options(program, changed) : make_options(description, changed);
    return is_changed ? &changed->description : description;
}

/* Notes a single module that is to be compiled, in case that ends the process. Nobody has looked at its descriptor yet. */
static void start(struct event *event, const ze_module_desc_t *description, ze_device_handle_t device)
{
    if (description->format != ZE_MODULE_FORMAT_IL_SPIRV || description->pInputModule == NULL || static_link(description) != NULL)
        return;
    size_t size = event->fields.size;
    if (description->pBuildFlags != NULL)
        field_text(&event->fields, "options", description->pBuildFlags);
    field_bytes(&event->fields, "spirv", description->pInputModule, description->inputSize);
    field_number(&event->fields, "device", (uint64_t)(uintptr_t)device);
    event_start(event, size);
}

/* Makes a module, and writes it down. What stands in for the application's is its own business: if the driver refuses it, it leaves
 * neither an event nor a log. */
static ze_result_t create_recorded(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *description,
                                   ze_module_handle_t *module, ze_module_build_log_handle_t *log,
                                   const struct replaced_module *replaced)
{
    RELEASED_BY(changed_options_free) struct changed_options changed = {0};
    const ze_module_desc_t *passed = description_for_driver(description, &changed);
    RELEASED_BY(event_free) struct event event = {0};
    event_begin(&event, "module");
    field_text(&event.fields, "interface", "level-zero");
    start(&event, passed, device);
    struct asked_log asked = log_ask(log);
    ze_result_t result = NOTED("zeModuleCreate", next_create(context, device, passed, module, &asked.handle));
    event_ended(&event, result);
    struct program_identity identity = {0, 0};
    if (result == ZE_RESULT_SUCCESS) {
        counters_new_program(*module);
        identity = counters_identity(*module);
        event_program(&event, "program", identity);
    }
    bool is_refused = replaced != NULL && result != ZE_RESULT_SUCCESS;
    FREED char *text = log_text(&asked);
    if (replaced != NULL)
        replaced_module_note(replaced, identity, (int)result, text);
    if (is_refused)
        asked.given_back = NULL;
    log_give(&asked);
    if (!was_call(result) || is_refused)
        return result;
    module_event_describe(&event, description, passed);
    module_event_device(&event, device);
    field_number(&event.fields, "built", result == ZE_RESULT_SUCCESS);
    if (text != NULL)
        field_text(&event.fields, "log", text);
    if (result == ZE_RESULT_SUCCESS)
        module_event_binary(&event, *module);
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
    return NOTED("zeModuleDestroy", next_destroy(module));
}

static ze_result_t ZE_APICALL dynamic_link(uint32_t count, ze_module_handle_t *modules, ze_module_build_log_handle_t *log)
{
    RELEASED_BY(event_free) struct event event = {0};
    event_begin(&event, "dynamic link");
    field_text(&event.fields, "interface", "level-zero");
    for (uint32_t index = 0; modules != NULL && index < count; ++index)
        event_program(&event, "input", counters_identity(modules[index]));
    struct asked_log asked = log_ask(log);
    ze_result_t result = NOTED("zeModuleDynamicLink", next_dynamic_link(count, modules, &asked.handle));
    event_ended(&event, result);
    FREED char *text = log_text(&asked);
    if (text != NULL)
        field_text(&event.fields, "log", text);
    log_give(&asked);
    if (was_call(result))
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
