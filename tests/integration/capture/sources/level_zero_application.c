/* A Level Zero application for the tests of capture: makes modules in every way there is, launches, forks, and says what came of
 * it. The first word of the command line is a folder of SPIR-V modules; each other one is a thing to do, in that order. */
#define _GNU_SOURCE
#include "level_zero_application.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;
ze_context_handle_t context;
ze_device_handle_t device;
ze_driver_handle_t driver;

void check(ze_result_t result, const char *what)
{
    if (result != ZE_RESULT_SUCCESS) {
        printf("%s: %#x\n", what, (unsigned)result);
        exit(9);
    }
}

static void set_up(void)
{
    uint32_t count = 1;
    check(zeInit(0), "zeInit");
    check(zeDriverGet(&count, &driver), "zeDriverGet");
    count = 1;
    check(zeDeviceGet(driver, &count, &device), "zeDeviceGet");
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    check(zeContextCreate(driver, &description, &context), "zeContextCreate");
}

static uint8_t *read_module(const char *name, size_t *size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.spv", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(9);
    }
    uint8_t *bytes = malloc(1 << 20);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static uint8_t *binary_of(ze_module_handle_t module, size_t *size)
{
    *size = 0;
    check(zeModuleGetNativeBinary(module, size, NULL), "zeModuleGetNativeBinary");
    uint8_t *binary = malloc(*size);
    check(zeModuleGetNativeBinary(module, size, binary), "zeModuleGetNativeBinary");
    return binary;
}

static void print_binary(ze_module_handle_t module)
{
    size_t size;
    uint8_t *binary = binary_of(module, &size);
    uint64_t hash = 14695981039346656037u;
    for (size_t index = 0; index < size; ++index)
        hash = (hash ^ binary[index]) * 1099511628211u;
    printf("binary %zu %016llx\n", size, (unsigned long long)hash);
    free(binary);
}

static void print_log(ze_module_build_log_handle_t log)
{
    size_t size = 0;
    check(zeModuleBuildLogGetString(log, &size, NULL), "zeModuleBuildLogGetString");
    char *text = calloc(1, size + 1);
    check(zeModuleBuildLogGetString(log, &size, text), "zeModuleBuildLogGetString");
    printf("log %zu %s\n", size, text);
    free(text);
    check(zeModuleBuildLogDestroy(log), "zeModuleBuildLogDestroy");
}

ze_module_handle_t from_spirv(const char *name, const char *flags, const ze_module_constants_t *constants)
{
    ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                    .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                    .pBuildFlags = flags,
                                    .pConstants = constants};
    uint8_t *bytes = read_module(name, &description.inputSize);
    description.pInputModule = bytes;
    ze_module_handle_t module = NULL;
    ze_result_t result = zeModuleCreate(context, device, &description, &module, NULL);
    printf("module %s %#x\n", name, (unsigned)result);
    free(bytes);
    return module;
}

static ze_module_handle_t from_native(ze_module_handle_t other)
{
    size_t size;
    uint8_t *binary = binary_of(other, &size);
    ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                    .format = ZE_MODULE_FORMAT_NATIVE,
                                    .inputSize = size,
                                    .pInputModule = binary};
    ze_module_handle_t module;
    check(zeModuleCreate(context, device, &description, &module, NULL), "from native");
    free(binary);
    return module;
}

/* Two modules in one, which are native already. */
static void link_natives(ze_module_handle_t first, ze_module_handle_t second)
{
    size_t sizes[2];
    uint8_t *binaries[] = {binary_of(first, &sizes[0]), binary_of(second, &sizes[1])};
    const uint8_t *inputs[] = {binaries[0], binaries[1]};
    ze_module_program_exp_desc_t program = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, .count = 2, .inputSizes = sizes, .pInputModules = inputs};
    ze_module_desc_t description = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .pNext = &program, .format = ZE_MODULE_FORMAT_NATIVE};
    ze_module_handle_t module;
    printf("natives %d\n", zeModuleCreate(context, device, &description, &module, NULL) == ZE_RESULT_SUCCESS);
    free(binaries[0]);
    free(binaries[1]);
}

static void link_statically(void)
{
    size_t sizes[2];
    const uint8_t *inputs[] = {read_module("importer", &sizes[0]), read_module("exporter", &sizes[1])};
    const char *flags[] = {"-ze-opt-level=2", "-ze-opt-level=2"};
    ze_module_program_exp_desc_t program = {.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC,
                                            .count = 2,
                                            .inputSizes = sizes,
                                            .pInputModules = inputs,
                                            .pBuildFlags = flags};
    ze_module_desc_t description = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .pNext = &program, .format = ZE_MODULE_FORMAT_IL_SPIRV};
    ze_module_handle_t module;
    ze_module_build_log_handle_t log;
    check(zeModuleCreate(context, device, &description, &module, &log), "static link");
    print_log(log);
    print_binary(module);
    check(zeModuleDestroy(module), "zeModuleDestroy");
    free((void *)(uintptr_t)inputs[0]);
    free((void *)(uintptr_t)inputs[1]);
}

static void link_dynamically(int with_log)
{
    ze_module_handle_t modules[] = {from_spirv("importer", "-library-compilation", NULL),
                                    from_spirv("exporter", "-library-compilation -ze-take-global-address", NULL)};
    ze_module_build_log_handle_t log;
    ze_result_t result = zeModuleDynamicLink(2, modules, with_log ? &log : NULL);
    printf("link %#x\n", (unsigned)result);
    if (with_log)
        print_log(log);
    print_binary(modules[0]);
    check(zeModuleDestroy(modules[0]), "zeModuleDestroy");
    check(zeModuleDestroy(modules[1]), "zeModuleDestroy");
}

/* A binary that is none: with a log, and without. */
static void wrong(void)
{
    ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                    .format = ZE_MODULE_FORMAT_NATIVE,
                                    .inputSize = 16,
                                    .pInputModule = (const uint8_t *)"no binary at all"};
    ze_module_handle_t module;
    ze_module_build_log_handle_t log = NULL;
    printf("wrong %#x\n", (unsigned)zeModuleCreate(context, device, &description, &module, &log));
    if (log != NULL)
        print_log(log);
    printf("wrong %#x\n", (unsigned)zeModuleCreate(context, device, &description, &module, NULL));
}

static void limit_files(void)
{
    struct rlimit limit = {2048, 2048};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void *build_in_thread(void *flags)
{
    ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                    .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                    .pBuildFlags = flags};
    uint8_t *bytes = read_module("plain", &description.inputSize);
    description.pInputModule = bytes;
    ze_module_handle_t module;
    check(zeModuleCreate(context, device, &description, &module, NULL), "zeModuleCreate");
    for (int index = 0; index < 100; ++index)
        check(zeKernelDestroy(kernel_of(module, "clear")), "zeKernelDestroy");
    check(zeModuleDestroy(module), "zeModuleDestroy");
    free(bytes);
    return NULL;
}

static void build_in_threads(void)
{
    char *flags[] = {"-DTHREAD=0", "-DTHREAD=1", "-DTHREAD=2", "-DTHREAD=3"};
    pthread_t threads[4];
    for (int index = 0; index < 4; ++index)
        pthread_create(&threads[index], NULL, build_in_thread, flags[index]);
    for (int index = 0; index < 4; ++index)
        pthread_join(threads[index], NULL);
}

static void with_constants(void)
{
    uint32_t ids[] = {1, 0};
    const int16_t narrow = 7;
    const int32_t wide = -2;
    const void *values[] = {&narrow, &wide};
    ze_module_constants_t constants = {.numConstants = 2, .pConstantIds = ids, .pConstantValues = values};
    print_binary(from_spirv("constants", NULL, &constants));
}

/* Memory that is to be where a device needs it, or no longer; and memory that nobody knows. */
static void move_memory(void)
{
    static char unknown[64];
    void *memory = NULL;
    ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    check(zeMemAllocDevice(context, &description, 4096, 64, device, &memory), "zeMemAllocDevice");
    printf("make resident %#x\n", (unsigned)zeContextMakeMemoryResident(context, device, memory, 4096));
    printf("evict %#x\n", (unsigned)zeContextEvictMemory(context, device, memory, 4096));
    printf("unknown: make resident %#x\n", (unsigned)zeContextMakeMemoryResident(context, device, unknown, 64));
    printf("unknown: evict %#x\n", (unsigned)zeContextEvictMemory(context, device, unknown, 64));
    check(zeMemFree(context, memory), "zeMemFree");
}

/* Drivers are to be set up in the child. */
static void fork_one(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        set_up();
        launch(1);
        fflush(stdout);
        exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

/* A fork of a process that uses the driver, whose child does not. */
static void fork_late(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

/* Forks while other threads build and create; the children come by the recorder's locks. */
static void fork_among_threads(void)
{
    enum { CHILDREN = 100 };
    ze_kernel_handle_t kernel = kernel_of(from_spirv("plain", NULL, NULL), "clear");
    pthread_t builder;
    int ended = 0;
    for (int round = 0; round < 4; ++round) {
        pthread_create(&builder, NULL, build_in_thread, "-DFORKS");
        for (int index = 0; index < CHILDREN / 4; ++index) {
            pid_t child = fork();
            if (child == 0) {
                alarm(60);
                zeKernelSetGroupSize(kernel, 16, 1, 1);
                _exit(0);
            }
            int status;
            waitpid(child, &status, 0);
            ended += status == 0;
        }
        pthread_join(builder, NULL);
    }
    printf("ended %d\n", ended);
}

static void many(int modules, int kernels)
{
    for (int round = 0; round < modules; ++round) {
        ze_module_handle_t module = from_spirv("plain", NULL, NULL);
        for (int index = 0; index < kernels; ++index)
            check(zeKernelDestroy(kernel_of(module, "clear")), "zeKernelDestroy");
        check(zeModuleDestroy(module), "zeModuleDestroy");
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("peak %ld\n", usage.ru_maxrss);
}

int main(int count, char **words)
{
    folder = words[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int index = 2; index < count; ++index) {
        const char *word = words[index];
        if (strcmp(word, "fork") == 0) {
            fork_one();
            continue;
        }
        if (context == NULL)
            set_up();
        if (strcmp(word, "spirv") == 0) {
            ze_module_handle_t module = from_spirv("plain", "-ze-opt-level=2", NULL);
            print_binary(module);
            check(zeModuleDestroy(module), "zeModuleDestroy");
        } else if (strcmp(word, "native") == 0) {
            ze_module_handle_t module = from_spirv("plain", "", NULL), native = from_native(module);
            print_binary(native);
            check(zeKernelDestroy(kernel_of(native, "clear")), "zeKernelDestroy");
            check(zeModuleDestroy(native), "zeModuleDestroy");
            check(zeModuleDestroy(module), "zeModuleDestroy");
        } else if (strcmp(word, "static") == 0) {
            link_statically();
        } else if (strcmp(word, "natives") == 0) {
            link_natives(from_spirv("plain", "-g", NULL), from_spirv("exporter", "-g", NULL));
        } else if (strcmp(word, "link") == 0) {
            link_dynamically(1);
        } else if (strcmp(word, "link-without-log") == 0) {
            link_dynamically(0);
        } else if (strcmp(word, "wrong") == 0) {
            wrong();
        } else if (strcmp(word, "failing") == 0) {
            from_spirv("doubles", "-ze-opt-level=2", NULL);
        } else if (strcmp(word, "launch") == 0) {
            launch(5);
        } else if (strcmp(word, "newer") == 0) {
            launch_in_newer_ways();
        } else if (strcmp(word, "graph") == 0 || strcmp(word, "older-graph") == 0) {
            launch_graphs(strcmp(word, "older-graph") == 0);
        } else if (strcmp(word, "limited") == 0) {
            limit_files();
        } else if (strcmp(word, "threads") == 0) {
            build_in_threads();
        } else if (strcmp(word, "constants") == 0) {
            with_constants();
        } else if (strcmp(word, "residency") == 0) {
            move_memory();
        } else if (strcmp(word, "memory") == 0) {
            read_memory();
        } else if (strcmp(word, "fork-late") == 0) {
            fork_late();
        } else if (strcmp(word, "fork-among-threads") == 0) {
            fork_among_threads();
        } else if (strcmp(word, "many") == 0) {
            many(2, 2000);
        } else if (strcmp(word, "crash") == 0) {
            ze_kernel_desc_t nowhere = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = (const char *)8};
            ze_kernel_handle_t kernel = NULL;
            zeKernelCreate(from_spirv("plain", "", NULL), &nowhere, &kernel);
        } else if (strcmp(word, "die") == 0) {
            usleep(300000);
            zeEventHostSynchronize(event_of(), 0); /* where an application may be for long */
            kill(getpid(), SIGKILL);
        } else {
            printf("no such word: %s\n", word);
            return 9;
        }
    }
    return 0;
}
