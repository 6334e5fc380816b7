#define _GNU_SOURCE
#include "opencl_layer/second_build/target.h"

#include "base/bytes.h"
#include "base/loader.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/vendor/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* Finds the library of the device's platform. */
static const char *driver_of(cl_device_id device)
{
    const cl_icd_dispatch *functions = real_of(device);
    return functions != NULL ? loader_path_of((void *)functions->clGetDeviceInfo) : NULL;
}

/* Counts the devices before this one on its platform, for a sub-device those before the whole device; -1 if it cannot be
 * found. */
static int device_place(cl_platform_id platform, cl_device_id device)
{
    cl_device_id whole = NULL;
    while (below->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof whole, &whole, NULL) == CL_SUCCESS &&
           whole != NULL)
        device = whole;
    cl_uint count = 0;
    if (below->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS || count == 0)
        return -1;
    FREED cl_device_id *devices = calloc(count, sizeof *devices);
    if (devices == NULL || below->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL) != CL_SUCCESS)
        return -1;
    for (cl_uint index = 0; index < count; ++index)
        if (devices[index] == device)
            return (int)index;
    return -1;
}

const char *target_find(struct target *target, cl_device_id device)
{
    cl_platform_id platform = NULL;
    target->driver = driver_of(device);
    if (target->driver == NULL ||
        below->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS ||
        below->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof target->platform, target->platform, NULL) !=
            CL_SUCCESS)
        return "the platform's library cannot be found";
    int place = device_place(platform, device);
    if (place < 0)
        return "the device is not among its platform's devices";
    snprintf(target->device, sizeof target->device, "%d", place);
    return NULL;
}

/* Reads the value of --library-path among the loader's arguments, which come before the program's path. */
static char *library_path(void)
{
    static const char OPTION[] = "--library-path";
    FILE *file = fopen("/proc/self/cmdline", "re");
    FREED char *argument = NULL;
    char *value = NULL;
    size_t room = 0;
    bool options = true, is_value = false;
    for (int place = 0; file != NULL && options && value == NULL && getdelim(&argument, &room, '\0', file) > 0; ++place) {
        if (is_value)
            value = strdup(argument);
        is_value = place > 0 && strcmp(argument, OPTION) == 0;
        options = place == 0 || is_value || text_starts_with(argument, "--");
    }
    if (file != NULL)
        fclose(file);
    return value;
}

struct named_loader named_loader_find(void)
{
    /* The kernel tells a program where its loader is, and a loader that it started by itself nothing (getauxval(3)). */
    if (getauxval(AT_BASE) != 0)
        return (struct named_loader){0};
    return (struct named_loader){.path = realpath("/proc/self/exe", NULL), .folders = library_path()};
}

void named_loader_free(struct named_loader *loader)
{
    free(loader->path);
    free(loader->folders);
}
