/* What a capture records of modules: how they are made, and linked. */
#ifndef KERNLENS_MODULES_H
#define KERNLENS_MODULES_H

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

/* Takes from the environment which options are added, and what stands in for modules. For a loading layer. */
void modules_open(void);
/* Puts the recorder's functions into the loader's table. */
void modules_hook(ze_module_dditable_t *table, ze_api_version_t version);

#endif
