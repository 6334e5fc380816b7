#define _GNU_SOURCE
#include "opencl_layer/vendor/drivers.h"

#include "base/bytes.h"
#include "base/loader.h"
#include "base/owned.h"
#include "opencl_layer/vendor/listing.h"
#include "opencl_layer/vendor/tables.h"

#include <CL/cl_ext.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLATFORMS = 1 << 16 }; /* of one driver: what says more is broken */

typedef void *(CL_API_CALL *function_getter)(const char *name);
typedef cl_int(CL_API_CALL *platform_getter)(cl_uint room, cl_platform_id *platforms, cl_uint *count_ret);
typedef void *(CL_API_CALL *managed_getter)(cl_platform_id platform, const char *name);
typedef cl_int(CL_API_CALL *dispatch_setter)(cl_platform_id platform, void *data);

/* A driver's library. `managed` and `set_dispatch` are those of cl_khr_icd 2.0, NULL of a driver that knows an earlier one. */
struct driver {
    struct driver *_Atomic next;
    void *library;
    function_getter function;
    cl_api_clGetPlatformInfo info;
    managed_getter managed;
    dispatch_setter set_dispatch;
    cl_uint count;
    cl_platform_id *platforms;
};

static struct driver *_Atomic first_driver; /* LOCK_DRIVERS to add one; they stay, and are read without it */

/* What was listed for a loader, which lists once. */
struct listed {
    struct listed *next;
    const void *loader;
    cl_uint count;
    cl_platform_id *platforms;
};

static struct listed *first_listed; /* LOCK_DRIVERS */

/* The mark that drivers of cl_khr_icd 2.0 have in two places of their tables: "OPENCL31". */
static const uint64_t MARK = 0x4F50454E434C3331;

static bool is_managed(cl_platform_id platform)
{
    const cl_icd_dispatch *table = *(const cl_icd_dispatch *const *)(const void *)platform;
    return (uint64_t)(uintptr_t)table->clGetPlatformIDs == MARK;
}

static void *find(void *context, cl_platform_id platform, const char *name)
{
    const struct driver *driver = context;
    if (is_managed(platform))
        return driver->managed(platform, name);
    void *function = driver->function(name);
    return function != NULL ? function : loader_symbol(driver->library, name);
}

/* Returns the release of OpenCL that a platform has, times ten; that of the first with this interface if it does not say. */
static unsigned release_of(const struct driver *driver, cl_platform_id platform)
{
    const cl_icd_dispatch *table = *(const cl_icd_dispatch *const *)(const void *)platform;
    cl_api_clGetPlatformInfo info = table->clGetPlatformInfo;
    if (is_managed(platform))
        info = (cl_api_clGetPlatformInfo)driver->managed(platform, "clGetPlatformInfo");
    char version[256] = "";
    unsigned major = 1, minor = 0;
    if (info == NULL || info(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL) != CL_SUCCESS ||
        sscanf(version, "OpenCL %u.%u", &major, &minor) != 2)
        return 10;
    return major * 10 + minor;
}

/* Takes those platforms that a loader can call. */
static void take_platforms(struct driver *driver, platform_getter get)
{
    cl_uint count = 0, taken = 0;
    if (get(0, NULL, &count) != CL_SUCCESS || count == 0 || count > MOST_PLATFORMS)
        return;
    driver->platforms = calloc(count, sizeof *driver->platforms);
    if (driver->platforms == NULL || get(count, driver->platforms, NULL) != CL_SUCCESS)
        return;
    for (cl_uint index = 0; index < count; ++index) {
        cl_platform_id platform = driver->platforms[index];
        if (platform == NULL || *(void **)(void *)platform == NULL)
            continue;
        if (is_managed(platform) && (driver->managed == NULL || driver->set_dispatch == NULL))
            continue;
        driver->platforms[taken++] = platform;
    }
    driver->count = taken;
}

/* Takes what a loader asks of a driver; false if a loader would pass it over. */
static bool take_functions(struct driver *driver, bool sorts, platform_getter *get)
{
    driver->function = (function_getter)loader_symbol(driver->library, "clGetExtensionFunctionAddress");
    if (driver->function == NULL)
        return false;
    *get = (platform_getter)driver->function("clIcdGetPlatformIDsKHR");
    if (*get == NULL && sorts)
        *get = (platform_getter)loader_symbol(driver->library, "clIcdGetPlatformIDsKHR");
    driver->info = (cl_api_clGetPlatformInfo)driver->function("clGetPlatformInfo");
    if (driver->info == NULL)
        driver->info = (cl_api_clGetPlatformInfo)loader_symbol(driver->library, "clGetPlatformInfo");
    const char *assumed = getenv("OCL_ICD_ASSUME_ICD_EXTENSION");
    driver->managed = (managed_getter)driver->function("clIcdGetFunctionAddressForPlatformKHR");
    driver->set_dispatch = (dispatch_setter)driver->function("clIcdSetPlatformDispatchDataKHR");
    return *get != NULL && (!sorts || driver->info != NULL || (assumed != NULL && assumed[0] != '\0'));
}

/* Opens a driver and puts ours in front of its functions; NULL if a loader would pass it over. */
static const struct driver *driver_of_library(void *library, bool sorts)
{
    struct driver *_Atomic *end = &first_driver;
    for (struct driver *each = *end; each != NULL; end = &each->next, each = *end)
        if (each->library == library)
            return each;
    struct driver *driver = calloc(1, sizeof *driver);
    if (driver == NULL)
        return NULL;
    driver->library = library;
    platform_getter get = NULL;
    if (!take_functions(driver, sorts, &get)) {
        free(driver);
        return NULL;
    }
    take_platforms(driver, get);
    *end = driver;
    for (cl_uint index = 0; index < driver->count; ++index) {
        cl_platform_id platform = driver->platforms[index];
        tables_add(&(struct owner){find, driver, platform, is_managed(platform), release_of(driver, platform)});
    }
    return driver;
}

/* Opens the libraries that a loader would, each once where it does not sort them, and returns how many; `opened` has room. */
static size_t open_all(const void *loader, const struct loader_rules *rules, const struct file_names *libraries, void **opened)
{
    size_t count = 0;
    for (size_t index = 0; index < libraries->count; ++index) {
        void *library = loader_open(loader, libraries->items[index], rules->sorts ? OPEN_LAZILY : OPEN_NOW);
        bool again = library == NULL || library == loader_own_handle();
        for (size_t earlier = 0; !again && !rules->sorts && earlier < count; ++earlier)
            again = opened[earlier] == library;
        if (!again)
            opened[count++] = library;
    }
    return count;
}

/* Adds a driver's platforms to those of a loader; false without memory. */
static bool list_platforms(struct listed *listed, const struct driver *driver)
{
    if (driver->count == 0)
        return true;
    cl_platform_id *platforms = realloc(listed->platforms, (listed->count + driver->count) * sizeof *platforms);
    if (platforms == NULL)
        return false;
    memcpy(platforms + listed->count, driver->platforms, driver->count * sizeof *platforms);
    listed->platforms = platforms;
    listed->count += driver->count;
    return true;
}

const cl_platform_id *drivers_open(const void *loader, cl_uint *count)
{
    const void *key = loader_base_of(loader);
    for (const struct listed *each = first_listed; each != NULL; each = each->next)
        if (each->loader == key) {
            *count = each->count;
            return each->platforms;
        }
    *count = 0;
    const struct loader_rules rules = rules_of(loader);
    RELEASED_BY(file_names_free) struct file_names libraries = {0}, others = {0};
    listing_read(&rules, &libraries);
    struct listed *listed = calloc(1, sizeof *listed);
    void **opened = calloc(libraries.count + 1, sizeof *opened);
    if (listed == NULL || opened == NULL) {
        free(listed);
        free(opened);
        return NULL;
    }
    const size_t opened_count = open_all(loader, &rules, &libraries, opened);
    for (size_t index = 0; index < opened_count; ++index) {
        const struct driver *driver = driver_of_library(opened[index], rules.sorts);
        if (driver != NULL && !list_platforms(listed, driver))
            break;
    }
    free(opened);
    listing_read_others(&rules, &others);
    for (size_t index = 0; index < others.count; ++index) {
        void *library = loader_open(loader, others.items[index], OPENED_ALREADY);
        if (library != NULL && library != loader_own_handle())
            driver_of_library(library, rules.sorts);
    }
    listed->loader = key;
    listed->next = first_listed;
    first_listed = listed;
    *count = listed->count;
    return listed->platforms;
}

static const struct driver *driver_of(cl_platform_id platform)
{
    for (const struct driver *driver = first_driver; driver != NULL; driver = driver->next)
        for (cl_uint each = 0; each < driver->count; ++each)
            if (driver->platforms[each] == platform)
                return driver;
    return NULL;
}

cl_int CL_API_CALL drivers_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count_ret)
{
    cl_uint count = 0;
    for (const struct driver *driver = first_driver; driver != NULL; driver = driver->next)
        for (cl_uint each = 0; each < driver->count; ++each, ++count)
            if (platforms != NULL && count < room)
                platforms[count] = driver->platforms[each];
    if (count_ret != NULL)
        *count_ret = count;
    return CL_SUCCESS;
}

static cl_int info_of(cl_platform_id platform, cl_platform_info what, size_t size, void *value, size_t *size_ret)
{
    const cl_icd_dispatch *real = real_of(platform);
    if (real == NULL)
        return CL_INVALID_PLATFORM;
    return real->clGetPlatformInfo != NULL ? real->clGetPlatformInfo(platform, what, size, value, size_ret)
                                           : CL_INVALID_OPERATION;
}

/* A loader asks the first driver by whose mark the name ends. */
void *CL_API_CALL drivers_function(const char *name)
{
    for (const struct driver *driver = first_driver; driver != NULL; driver = driver->next)
        for (cl_uint each = 0; each < driver->count; ++each) {
            cl_platform_id platform = driver->platforms[each];
            char mark[64] = "";
            if (info_of(platform, CL_PLATFORM_ICD_SUFFIX_KHR, sizeof mark - 1, mark, NULL) == CL_SUCCESS &&
                text_ends_with(name, mark))
                return driver->function(name);
        }
    return NULL;
}

cl_int CL_API_CALL drivers_platform_info(cl_platform_id platform, cl_platform_info what, size_t size, void *value,
                                         size_t *size_ret)
{
    const struct driver *driver = driver_of(platform);
    if (driver != NULL && driver->info != NULL)
        return driver->info(platform, what, size, value, size_ret);
    return info_of(platform, what, size, value, size_ret);
}

void *drivers_function_for(cl_platform_id platform, const char *name)
{
    const struct driver *driver = driver_of(platform);
    return driver != NULL && driver->managed != NULL ? driver->managed(platform, name) : NULL;
}

cl_int drivers_set_dispatch(cl_platform_id platform, void *data)
{
    const struct driver *driver = driver_of(platform);
    return driver != NULL && driver->set_dispatch != NULL ? driver->set_dispatch(platform, data) : CL_INVALID_PLATFORM;
}
