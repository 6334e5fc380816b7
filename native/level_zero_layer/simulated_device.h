/* What a simulated device answers where the driver's own simulation refuses: memory is always where it is needed, as nothing is
 * ever computed. SYCL's adapter (Unified Runtime, V2) makes no queue without it. */
#ifndef KERNLENS_SIMULATED_DEVICE_H
#define KERNLENS_SIMULATED_DEVICE_H

#include <level_zero/ze_ddi.h>

#include <stdbool.h>

/* Whether the driver simulates its devices, by the variables that tell it so (src/kernlens/toolchain/simulation.py). */
bool device_is_simulated(void);
void simulated_device_hook(ze_context_dditable_t *table, ze_api_version_t version);

#endif
