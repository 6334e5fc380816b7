/* Preloaded into an application: writes each call of Level Zero that builds, and the driver's answer, at the end of the file that COUNTED
 * names. It stands in front of the loader, and knows nothing of layers. TRACED is part of the names of programs to count in. */
#define _GNU_SOURCE
#include <ze_api.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count(const char *operation, ze_result_t result)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%s:%u\n", operation, (unsigned)result);
    if (strstr(program_invocation_name, getenv("TRACED")) == NULL)
        return;
    int file = open(getenv("COUNTED"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (write(file, line, (size_t)length) < 0)
        perror("COUNTED");
    close(file);
}

ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *description,
                           ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
    __typeof__(&zeModuleCreate) next = (__typeof__(&zeModuleCreate))dlsym(RTLD_NEXT, "zeModuleCreate");
    ze_result_t result = next(context, device, description, module, log);
    count("module", result);
    return result;
}

ze_result_t zeModuleDynamicLink(uint32_t modules, ze_module_handle_t *handles, ze_module_build_log_handle_t *log)
{
    __typeof__(&zeModuleDynamicLink) next = (__typeof__(&zeModuleDynamicLink))dlsym(RTLD_NEXT, "zeModuleDynamicLink");
    ze_result_t result = next(modules, handles, log);
    count("dynamic link", result);
    return result;
}
