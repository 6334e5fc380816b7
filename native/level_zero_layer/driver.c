#define _GNU_SOURCE
#include "level_zero_layer/driver.h"

#include "base/loader.h"
#include "base/locks.h"

struct driver driver;

void *driver_function(const char *name)
{
    return loader_function(LEVEL_ZERO_DRIVER, name);
}

void driver_find(void)
{
    lock_take(LOCK_PLATFORMS);
    if (driver.get == NULL)
        driver = (struct driver){
            .get = (ze_pfnDriverGet_t)driver_function("zeDriverGet"),
            .get_properties = (ze_pfnDriverGetProperties_t)driver_function("zeDriverGetProperties"),
            .device_properties = (ze_pfnDeviceGetProperties_t)driver_function("zeDeviceGetProperties"),
            .log_string = (ze_pfnModuleBuildLogGetString_t)driver_function("zeModuleBuildLogGetString"),
            .log_destroy = (ze_pfnModuleBuildLogDestroy_t)driver_function("zeModuleBuildLogDestroy"),
            .native_binary = (ze_pfnModuleGetNativeBinary_t)driver_function("zeModuleGetNativeBinary"),
            .debug_info = (zet_pfnModuleGetDebugInfo_t)driver_function("zetModuleGetDebugInfo"),
            .kernel_properties = (ze_pfnKernelGetProperties_t)driver_function("zeKernelGetProperties"),
            .get_graph = (list_get_graph)driver_function("zeCommandListGetGraphExt"),
            .extension = (ze_pfnDriverGetExtensionFunctionAddress_t)driver_function("zeDriverGetExtensionFunctionAddress"),
        };
    lock_give(LOCK_PLATFORMS);
}
