/* Counts an application's calls of Level Zero through the loader's tracing layer, independently of the recorder: a line for each
 * one, at the end of the file that COUNTED names. To be preloaded, with ZE_ENABLE_TRACING_LAYER=1; kernlens itself, which gets the
 * same environment, is left alone: TRACED is part of the names of programs to trace. */
#define _GNU_SOURCE
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/ze_api.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count(ze_result_t result, const char *line)
{
    if (result != ZE_RESULT_SUCCESS)
        line = "failed\n";
    int file = open(getenv("COUNTED"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (write(file, line, strlen(line)) < 0)
        perror("COUNTED");
    close(file);
}

#define COUNTER(name, parameters, line)                                                                              \
    static void ZE_APICALL name(parameters *values, ze_result_t result, void *data, void **instance)                 \
    {                                                                                                                \
        (void)values, (void)data, (void)instance;                                                                    \
        count(result, line);                                                                                         \
    }

COUNTER(module_made, ze_module_create_params_t, "module\n")
COUNTER(modules_linked, ze_module_dynamic_link_params_t, "link\n")
COUNTER(kernel_made, ze_kernel_create_params_t, "kernel\n")
COUNTER(launched, ze_command_list_append_launch_kernel_params_t, "launch\n")

__attribute__((constructor)) static void begin(void)
{
    const char *traced = getenv("TRACED");
    if (getenv("COUNTED") == NULL || traced == NULL || getenv("KERNLENS_CAPTURE") == NULL ||
        strstr(program_invocation_name, traced) == NULL)
        return;
    zel_tracer_desc_t description = {.stype = ZEL_STRUCTURE_TYPE_TRACER_EXP_DESC};
    zel_tracer_handle_t tracer;
    if (zeInit(0) != ZE_RESULT_SUCCESS || zelTracerCreate(&description, &tracer) != ZE_RESULT_SUCCESS) {
        count(ZE_RESULT_SUCCESS, "no tracer\n");
        return;
    }
    zelTracerModuleCreateRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, module_made);
    zelTracerModuleDynamicLinkRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, modules_linked);
    zelTracerKernelCreateRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, kernel_made);
    zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, launched);
    zelTracerSetEnabled(tracer, 1);
}
