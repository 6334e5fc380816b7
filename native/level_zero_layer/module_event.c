#define _GNU_SOURCE
#include "level_zero_layer/module_event.h"

#include "base/owned.h"
#include "level_zero_layer/driver.h"

#include <sys/uio.h>

/* ze_device_ip_version_ext_t, of version 1.5 of the specification. */
enum { DEVICE_IP_VERSION_EXT = 0x1000F };
struct device_ip_version {
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t ipVersion;
};

const ze_module_program_exp_desc_t *static_link(const ze_module_desc_t *description)
{
    const ze_module_program_exp_desc_t *program = description->pNext;
    return program != NULL && program->stype == ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC ? program : NULL;
}

/* Adds specialization constants. How long a value is, its type in the module says; nothing is longer than 8 bytes. The kernel copies
 * them: it stops where memory ends that may be read. */
static void add_constants(struct event *event, const ze_module_constants_t *constants)
{
    for (uint32_t index = 0; constants != NULL && index < constants->numConstants; ++index) {
        struct {
            uint64_t number, bits;
        } constant = {constants->pConstantIds[index], 0};
        struct iovec to = {&constant.bits, sizeof constant.bits};
        union {
            const void *value;
            void *place;
        } from = {constants->pConstantValues[index]};
        struct iovec value = {from.place, sizeof constant.bits};
        if (process_vm_readv(getpid(), &to, 1, &value, 1, 0) > 0)
            field_bytes(&event->fields, "constant", &constant, sizeof constant);
    }
}

/* The options of an input of a static link; NULL if it has none. */
static const char *input_options(const ze_module_program_exp_desc_t *program, uint32_t index)
{
    return program->pBuildFlags != NULL ? program->pBuildFlags[index] : NULL;
}

static void add_inputs(struct event *event, const ze_module_program_exp_desc_t *program, const ze_module_program_exp_desc_t *passed)
{
    for (uint32_t index = 0; program->pInputModules != NULL && program->inputSizes != NULL && index < program->count; ++index) {
        const char *own = input_options(program, index), *options = input_options(passed, index);
        const uint8_t *spirv = program->pInputModules[index];
        field_bytes(&event->fields, "input spirv", spirv != NULL ? spirv : (const uint8_t *)"", spirv != NULL ? program->inputSizes[index] : 0);
        if (own != NULL)
            field_text(&event->fields, "input options", own);
        if (options != own)
            field_text(&event->fields, "given input options", options);
        if (program->pConstants != NULL)
            add_constants(event, program->pConstants[index]);
    }
}

void module_event_describe(struct event *event, const ze_module_desc_t *description, const ze_module_desc_t *passed)
{
    const ze_module_program_exp_desc_t *program = static_link(description);
    if (program != NULL) {
        add_inputs(event, program, static_link(passed));
        return;
    }
    if (description->pBuildFlags != NULL)
        field_text(&event->fields, "options", description->pBuildFlags);
    if (passed->pBuildFlags != description->pBuildFlags)
        field_text(&event->fields, "given options", passed->pBuildFlags);
    if (description->format == ZE_MODULE_FORMAT_IL_SPIRV && description->pInputModule != NULL)
        field_bytes(&event->fields, "spirv", description->pInputModule, description->inputSize);
    add_constants(event, description->pConstants);
}

static void add_driver_version(struct event *event)
{
    uint32_t count = 1;
    ze_driver_handle_t handle = NULL;
    ze_driver_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES};
    if (driver.get != NULL && driver.get_properties != NULL && driver.get(&count, &handle) == ZE_RESULT_SUCCESS &&
        handle != NULL && driver.get_properties(handle, &properties) == ZE_RESULT_SUCCESS)
        field_number(&event->fields, "driver version number", properties.driverVersion);
}

void module_event_device(struct event *event, ze_device_handle_t device)
{
    field_number(&event->fields, "device", (uint64_t)(uintptr_t)device);
    struct device_ip_version ip = {.stype = (ze_structure_type_t)DEVICE_IP_VERSION_EXT};
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, .pNext = &ip};
    if (driver.device_properties != NULL && driver.device_properties(device, &properties) == ZE_RESULT_SUCCESS) {
        properties.name[sizeof properties.name - 1] = '\0';
        field_text(&event->fields, "device name", properties.name);
        if (ip.ipVersion != 0)
            field_number(&event->fields, "device ip", ip.ipVersion);
    }
    add_driver_version(event);
}

void module_event_binary(struct event *event, ze_module_handle_t module)
{
    size_t size = 0;
    if (driver.native_binary != NULL && driver.native_binary(module, &size, NULL) == ZE_RESULT_SUCCESS && size > 0) {
        FREED uint8_t *binary = malloc(size);
        if (binary != NULL && driver.native_binary(module, &size, binary) == ZE_RESULT_SUCCESS)
            field_bytes(&event->fields, "binary", binary, size);
    }
    size = 0;
    const zet_module_debug_info_format_t dwarf = ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF;
    if (driver.debug_info != NULL && driver.debug_info(module, dwarf, &size, NULL) == ZE_RESULT_SUCCESS && size > 0) {
        FREED uint8_t *debug = malloc(size);
        if (debug != NULL && driver.debug_info(module, dwarf, &size, debug) == ZE_RESULT_SUCCESS)
            field_bytes(&event->fields, "debug", debug, size);
    }
}
