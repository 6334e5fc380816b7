/* Asks what Level Zero's queries answer, in an order that a number makes, and prints each answer: SEED COUNT.
 *
 * The modules are made of the SPIR-V that MODULE names. Handles and addresses are printed as what they are of. */
#define _GNU_SOURCE
#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES = 4, KERNELS = 4, ROOM = 1 << 20 };
static uint64_t state;
static unsigned char values[ROOM];
static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_module_handle_t modules[MODULES];
static ze_kernel_handle_t kernels[KERNELS];
static ze_module_build_log_handle_t logs[MODULES];
static void *memory[3];

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void print_bytes(const void *bytes, size_t size)
{
    const struct {
        const char *name;
        const void *handle;
    } known[] = {{"driver", driver}, {"device", device}, {"context", context}, {"shared", memory[0]}, {"host", memory[1]}, {"on-device", memory[2]}};
    uint64_t sum = 14695981039346656037u;
    for (size_t at = 0; size % 8 == 0 && size <= 64 && at < size; at += 8) {
        uint64_t word;
        memcpy(&word, (const unsigned char *)bytes + at, 8);
        const char *name = NULL;
        for (size_t index = 0; word != 0 && index < sizeof known / sizeof *known; ++index)
            if ((uint64_t)(uintptr_t)known[index].handle == word)
                name = known[index].name;
        if (name != NULL)
            printf(" %s", name);
        else
            printf(" %" PRIx64, word);
    }
    for (size_t at = 0; (size % 8 != 0 || size > 64) && at < size; ++at)
        sum = (sum ^ ((const unsigned char *)bytes)[at]) * 1099511628211u;
    if (size % 8 != 0 || size > 64)
        printf(" %016" PRIx64, sum);
}

/* Prints an answer in a structure that begins with its type. */
#define STRUCTURE(name, type, kind, call)                                        \
    do {                                                                         \
        type answer;                                                             \
        memset(&answer, 0xA5, sizeof answer);                                    \
        answer.stype = kind;                                                     \
        answer.pNext = NULL;                                                     \
        ze_result_t result = call;                                               \
        printf("%s - = %x", name, result);                                       \
        print_bytes((char *)&answer + 16, sizeof answer - 16);                   \
    } while (0)

/* Prints an answer that is a list, asked for with some room. */
#define LIST(name, type, kind, call)                                             \
    do {                                                                         \
        type *list = (type *)(void *)values, *answer = chance(3) ? list : NULL;  \
        uint32_t count = answer != NULL ? chance(6) : 0;                         \
        memset(values, 0, 32 * sizeof *list);                                    \
        for (unsigned index = 0; index < 32; ++index)                            \
            *(ze_structure_type_t *)(void *)&list[index] = kind;                 \
        ze_result_t result = call;                                               \
        printf("%s - = %x %u", name, result, count);                             \
        print_bytes(values, (answer != NULL && count <= 32 ? count : 0) * sizeof *list); \
    } while (0)

/* Prints an answer of bytes, whose size is asked for first. */
#define BYTES(name, pointer, call)                                               \
    do {                                                                         \
        size_t size = 0, room = chance(3);                                       \
        pointer answer = NULL;                                                   \
        ze_result_t result = call;                                               \
        printf("%s - = %x %zu", name, result, size);                             \
        if (result == ZE_RESULT_SUCCESS && room > 0 && size < ROOM) {            \
            size -= room == 2 && size > 0 && name[0] != 'd';                     \
            answer = (pointer)(void *)values;                                    \
            memset(values, 0xA5, size + 8);                                      \
            result = call;                                                       \
            printf(" %x %zu", result, size);                                     \
            print_bytes(values, size < ROOM ? size : 0);                         \
        }                                                                        \
    } while (0)

static void ask_of_device(uint32_t which)
{
    switch (which) {
    case 0: STRUCTURE("device", ze_device_properties_t, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, zeDeviceGetProperties(device, &answer)); break;
    case 1: STRUCTURE("compute", ze_device_compute_properties_t, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES, zeDeviceGetComputeProperties(device, &answer)); break;
    case 2: STRUCTURE("device-modules", ze_device_module_properties_t, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, zeDeviceGetModuleProperties(device, &answer)); break;
    case 3: STRUCTURE("access", ze_device_memory_access_properties_t, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES, zeDeviceGetMemoryAccessProperties(device, &answer)); break;
    case 4: STRUCTURE("images", ze_device_image_properties_t, ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES, zeDeviceGetImageProperties(device, &answer)); break;
    case 5: STRUCTURE("external", ze_device_external_memory_properties_t, ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES, zeDeviceGetExternalMemoryProperties(device, &answer)); break;
    case 6: LIST("queues", ze_command_queue_group_properties_t, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES, zeDeviceGetCommandQueueGroupProperties(device, &count, answer)); break;
    case 7: LIST("memories", ze_device_memory_properties_t, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, zeDeviceGetMemoryProperties(device, &count, answer)); break;
    case 8: LIST("caches", ze_device_cache_properties_t, ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES, zeDeviceGetCacheProperties(device, &count, answer)); break;
    default: printf("device-status - = %x", zeDeviceGetStatus(device));
    }
}

/* But for what is made of addresses, or of the time. */
static ze_result_t driver_properties(ze_driver_properties_t *answer)
{
    ze_result_t result = zeDriverGetProperties(driver, answer);
    memset(&answer->uuid, 0, sizeof answer->uuid);
    return result;
}

static ze_result_t kernel_properties(ze_kernel_handle_t kernel, ze_kernel_properties_t *answer)
{
    ze_result_t result = zeKernelGetProperties(kernel, answer);
    memset(&answer->uuid, 0, sizeof answer->uuid);
    return result;
}

static void ask_of_driver(uint32_t which)
{
    ze_api_version_t version = 0;
    void *function = NULL;
    static const char *const NAMES[] = {"zexDriverImportExternalPointer", "zeIntelKernelGetBinaryExp", "zeModuleInspectLinkageExt", "none"};
    const char *name = NAMES[chance(4)];
    ze_result_t result;
    switch (which) {
    case 0:
        result = zeDriverGetApiVersion(driver, &version);
        printf("version - = %x %x", result, version);
        break;
    case 1: STRUCTURE("ipc", ze_driver_ipc_properties_t, ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES, zeDriverGetIpcProperties(driver, &answer)); break;
    case 2: STRUCTURE("driver", ze_driver_properties_t, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, driver_properties(&answer)); break;
    case 3: {
        ze_driver_extension_properties_t *extensions = (void *)values;
        uint32_t count = chance(80);
        memset(values, 0, 128 * sizeof *extensions);
        result = zeDriverGetExtensionProperties(driver, &count, count > 0 ? extensions : NULL);
        printf("extensions - = %x %u", result, count);
        print_bytes(values, 80 * sizeof *extensions);
        break;
    }
    case 4:
        result = zeDriverGetExtensionFunctionAddress(driver, name, &function);
        printf("address %s = %x %d", name, result, function != NULL);
        break;
    default: printf("context-status - = %x", zeContextGetStatus(context));
    }
}

static void ask_of_module(uint32_t which)
{
    ze_module_handle_t module = modules[chance(MODULES)];
    ze_module_build_log_handle_t log = logs[chance(MODULES)];
    size_t size = 0;
    void *pointer = NULL;
    ze_result_t result;
    switch (which) {
    case 0:
        if (log != NULL)
            BYTES("log", char *, zeModuleBuildLogGetString(log, &size, answer));
        break;
    case 1:
        if (module != NULL)
            STRUCTURE("module", ze_module_properties_t, ZE_STRUCTURE_TYPE_MODULE_PROPERTIES, zeModuleGetProperties(module, &answer));
        break;
    case 2:
        if (module != NULL)
            BYTES("module-binary", uint8_t *, zeModuleGetNativeBinary(module, &size, answer));
        break;
    case 3:
        if (module != NULL)
            BYTES("debug", uint8_t *, zetModuleGetDebugInfo(module, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF, &size, answer));
        break;
    case 4:
        if (module != NULL) {
            const char **names = (void *)values;
            uint32_t count = 0;
            result = zeModuleGetKernelNames(module, &count, NULL);
            printf("names - = %x %u", result, count);
            if (count < 100 && zeModuleGetKernelNames(module, &count, names) == ZE_RESULT_SUCCESS)
                for (uint32_t index = 0; index < count; ++index)
                    printf(" %s", names[index]);
        }
        break;
    default:
        if (module != NULL) {
            result = which % 2 ? zeModuleGetGlobalPointer(module, "none", &size, &pointer) : zeModuleGetFunctionPointer(module, "none", &pointer);
            printf("pointer %u = %x %d", which % 2, result, pointer != NULL);
        }
    }
}

static void ask_of_kernel(uint32_t which)
{
    ze_kernel_handle_t kernel = kernels[chance(KERNELS)];
    uint32_t x = 0, y = 0, z = 0, size = 0;
    ze_kernel_indirect_access_flags_t flags = 0;
    ze_result_t result;
    if (kernel == NULL)
        return;
    switch (which) {
    case 0:
    case 1: STRUCTURE("kernel", ze_kernel_properties_t, ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, kernel_properties(kernel, &answer)); break;
    case 2: BYTES("kernel-name", char *, zeKernelGetName(kernel, &size, answer)); break;
    case 3:
        result = zeKernelGetSourceAttributes(kernel, &size, NULL);
        printf("attributes - = %x %u", result, size);
        break;
    case 4:
        result = zeKernelGetIndirectAccess(kernel, &flags);
        printf("indirect - = %x %x", result, flags);
        break;
    default:
        result = zeKernelSuggestGroupSize(kernel, 1 + chance(4096), 1 + chance(8), 1, &x, &y, &z);
        printf("group - = %x %u %u %u", result, x, y, z);
    }
}

static void ask_of_memory(uint32_t which)
{
    void *pointer = memory[chance(3)], *base = NULL;
    size_t size = 0;
    ze_device_handle_t of = NULL;
    if (which == 0) {
        ze_result_t result = zeMemGetAddressRange(context, pointer, &base, &size);
        printf("range - = %x %zu %d", result, size, base == pointer);
        return;
    }
    STRUCTURE("memory", ze_memory_allocation_properties_t, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
              zeMemGetAllocProperties(context, pointer, &answer, &of));
    print_bytes(&of, sizeof of);
}

static void make_modules(void)
{
    FILE *file = fopen(getenv("MODULE"), "rb");
    size_t size = file != NULL ? fread(values, 1, ROOM, file) : 0;
    static const char *const OPTIONS[] = {NULL, "", "-ze-opt-disable", "-g"};
    static unsigned char spirv[1 << 16];
    memcpy(spirv, values, size < sizeof spirv ? size : sizeof spirv);
    for (unsigned index = 0; index < MODULES; ++index) {
        const ze_module_desc_t made = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV, .inputSize = size,
                                       .pInputModule = spirv, .pBuildFlags = OPTIONS[index]};
        printf("module %x\n", zeModuleCreate(context, device, &made, &modules[index], &logs[index]));
        uint32_t count = 1;
        const char *name = NULL;
        if (zeModuleGetKernelNames(modules[index], &count, &name) != ZE_RESULT_SUCCESS || count == 0)
            continue;
        const ze_kernel_desc_t kernel = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
        printf("kernel %x\n", zeKernelCreate(modules[index], &kernel, &kernels[index]));
    }
}

int main(int count, char **words)
{
    state = count > 1 ? strtoull(words[1], NULL, 10) : 1;
    uint32_t drivers = 1, devices = 1;
    if (zeInit(0) != ZE_RESULT_SUCCESS || zeDriverGet(&drivers, &driver) != ZE_RESULT_SUCCESS ||
        zeDeviceGet(driver, &devices, &device) != ZE_RESULT_SUCCESS)
        return 9;
    const ze_context_desc_t described = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    const ze_device_mem_alloc_desc_t on_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    const ze_host_mem_alloc_desc_t on_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    if (zeContextCreate(driver, &described, &context) != ZE_RESULT_SUCCESS)
        return 8;
    zeMemAllocShared(context, &on_device, &on_host, 4096, 64, device, &memory[0]);
    zeMemAllocHost(context, &on_host, 4096, 64, &memory[1]);
    zeMemAllocDevice(context, &on_device, 4096, 64, device, &memory[2]);
    make_modules();
    for (long left = count > 2 ? atol(words[2]) : 1000; left > 0; --left) {
        switch (chance(6)) {
        case 0: ask_of_driver(chance(6)); break;
        case 1: ask_of_device(chance(10)); break;
        case 2: ask_of_memory(chance(2)); break;
        case 3: ask_of_kernel(chance(6)); break;
        default: ask_of_module(chance(7)); break;
        }
        putchar('\n');
    }
    return 0;
}
