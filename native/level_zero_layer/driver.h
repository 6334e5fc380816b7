/* The driver that the layer stands in front of. The layer depends on it (setup.py), so that whoever looks for a function in the
 * layer's library finds the driver's, unless the layer has one of that name. */
#ifndef KERNLENS_DRIVER_H
#define KERNLENS_DRIVER_H

#include "level_zero_layer/newer_api.h"
#include "level_zero_api/ze_ddi.h"

/* What the recorder asks the driver, past tools that look at the application's calls; NULL if this driver does not have it. */
struct driver {
    ze_pfnDriverGet_t get;
    ze_pfnDriverGetProperties_t get_properties;
    ze_pfnDeviceGetProperties_t device_properties;
    ze_pfnModuleBuildLogGetString_t log_string;
    ze_pfnModuleBuildLogDestroy_t log_destroy;
    ze_pfnModuleGetNativeBinary_t native_binary;
    zet_pfnModuleGetDebugInfo_t debug_info;
    ze_pfnKernelGetProperties_t kernel_properties;
    list_get_graph get_graph;
    ze_pfnDriverGetExtensionFunctionAddress_t extension;
};

extern struct driver driver;

/* Looks up the driver's functions. */
void driver_find(void);
/* Returns one of the driver's functions by its name; NULL if there is none. */
void *driver_function(const char *name);

/* Puts a function in the place of the driver's in a table, and that into `next`; not if the driver has none. */
#define PUT_IN_FRONT(place, function, next)                                                                          \
    do {                                                                                                             \
        if ((place) != NULL && (place) != (function)) {                                                              \
            (next) = (place);                                                                                        \
            (place) = (function);                                                                                    \
        }                                                                                                            \
    } while (0)

#endif
