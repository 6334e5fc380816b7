/* What the driver tells of a module, as fields of an event. */
#ifndef KERNLENS_MODULE_EVENT_H
#define KERNLENS_MODULE_EVENT_H

#include "level_zero_api/ze_api.h"
#include "recording/event.h"

#include <stdbool.h>

/* Returns the descriptor of several modules that are linked as they are built, if it is this one's first extension. */
const ze_module_program_exp_desc_t *static_link(const ze_module_desc_t *description);

/* Adds what a module is made of; `passed` is the descriptor that the driver got, which may have other options. */
void module_event_describe(struct event *event, const ze_module_desc_t *description, const ze_module_desc_t *passed);
/* Adds the device; then, what belongs to it. */
void module_event_device(struct event *event, ze_device_handle_t device);
void module_event_binary(struct event *event, ze_module_handle_t module);

#endif
