/* From Intel's Level Zero specification 1.4 (ze_api.h): the declarations that the layer uses, and no others. Enumerations
 * lack the values that it does not use.
 *
 * Copyright (C) 2019-2021 Intel Corporation
 * SPDX-License-Identifier: MIT
 * The text of the licence is in the file LICENSE here.
 */
#ifndef KERNLENS_ZE_API_H
#define KERNLENS_ZE_API_H

#include <stddef.h>
#include <stdint.h>

#define ZE_APICALL
#define ZE_DLLEXPORT __attribute__((visibility("default")))
#define ZE_MAKE_VERSION(major, minor) (((major) << 16) | ((minor) & 0xffff))
#define ZE_MAX_DRIVER_UUID_SIZE 16
#define ZE_MAX_DEVICE_UUID_SIZE 16
#define ZE_MAX_DEVICE_NAME 256
#define ZE_MAX_KERNEL_UUID_SIZE 16
#define ZE_MAX_MODULE_UUID_SIZE 16

typedef struct _ze_driver_handle_t *ze_driver_handle_t;
typedef struct _ze_device_handle_t *ze_device_handle_t;
typedef struct _ze_context_handle_t *ze_context_handle_t;
typedef struct _ze_command_queue_handle_t *ze_command_queue_handle_t;
typedef struct _ze_command_list_handle_t *ze_command_list_handle_t;
typedef struct _ze_fence_handle_t *ze_fence_handle_t;
typedef struct _ze_event_handle_t *ze_event_handle_t;
typedef struct _ze_image_handle_t *ze_image_handle_t;
typedef struct _ze_module_handle_t *ze_module_handle_t;
typedef struct _ze_module_build_log_handle_t *ze_module_build_log_handle_t;
typedef struct _ze_kernel_handle_t *ze_kernel_handle_t;

typedef enum {
    ZE_RESULT_SUCCESS = 0,
    ZE_RESULT_ERROR_DEVICE_LOST = 0x70000001,
    ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY = 0x70000002,
    ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003,
    ZE_RESULT_ERROR_MODULE_BUILD_FAILURE = 0x70000004,
    ZE_RESULT_ERROR_MODULE_LINK_FAILURE = 0x70000005,
    ZE_RESULT_ERROR_UNINITIALIZED = 0x78000001,
    ZE_RESULT_ERROR_INVALID_ARGUMENT = 0x78000004,
    ZE_RESULT_ERROR_INVALID_NULL_HANDLE = 0x78000005,
    ZE_RESULT_ERROR_INVALID_NULL_POINTER = 0x78000007,
    ZE_RESULT_ERROR_INVALID_ENUMERATION = 0x7800000c,
    ZE_RESULT_ERROR_INVALID_NATIVE_BINARY = 0x7800000f,
    ZE_RESULT_ERROR_UNKNOWN = 0x7ffffffe,
    ZE_RESULT_FORCE_UINT32 = 0x7fffffff,
} ze_result_t;

typedef enum {
    ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES = 0x1,
    ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES = 0x3,
    ZE_STRUCTURE_TYPE_CONTEXT_DESC = 0xd,
    ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES = 0x17,
    ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES = 0x1e,
    ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC = 0x00020002,
    ZE_STRUCTURE_TYPE_FORCE_UINT32 = 0x7fffffff,
} ze_structure_type_t;

typedef enum { ZE_API_VERSION_FORCE_UINT32 = 0x7fffffff } ze_api_version_t;

typedef struct {
    uint8_t id[ZE_MAX_DRIVER_UUID_SIZE];
} ze_driver_uuid_t;

typedef struct {
    ze_structure_type_t stype;
    void *pNext;
    ze_driver_uuid_t uuid;
    uint32_t driverVersion;
} ze_driver_properties_t;

typedef enum { ZE_DEVICE_TYPE_FORCE_UINT32 = 0x7fffffff } ze_device_type_t;

typedef struct {
    uint8_t id[ZE_MAX_DEVICE_UUID_SIZE];
} ze_device_uuid_t;

typedef uint32_t ze_device_property_flags_t;

typedef struct {
    ze_structure_type_t stype;
    void *pNext;
    ze_device_type_t type;
    uint32_t vendorId;
    uint32_t deviceId;
    ze_device_property_flags_t flags;
    uint32_t subdeviceId;
    uint32_t coreClockRate;
    uint64_t maxMemAllocSize;
    uint32_t maxHardwareContexts;
    uint32_t maxCommandQueuePriority;
    uint32_t numThreadsPerEU;
    uint32_t physicalEUSimdWidth;
    uint32_t numEUsPerSubslice;
    uint32_t numSubslicesPerSlice;
    uint32_t numSlices;
    uint64_t timerResolution;
    uint32_t timestampValidBits;
    uint32_t kernelTimestampValidBits;
    ze_device_uuid_t uuid;
    char name[ZE_MAX_DEVICE_NAME];
} ze_device_properties_t;

typedef uint32_t ze_context_flags_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    ze_context_flags_t flags;
} ze_context_desc_t;

typedef uint32_t ze_command_queue_flags_t;
typedef enum { ZE_COMMAND_QUEUE_MODE_FORCE_UINT32 = 0x7fffffff } ze_command_queue_mode_t;
typedef enum { ZE_COMMAND_QUEUE_PRIORITY_FORCE_UINT32 = 0x7fffffff } ze_command_queue_priority_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t ordinal;
    uint32_t index;
    ze_command_queue_flags_t flags;
    ze_command_queue_mode_t mode;
    ze_command_queue_priority_t priority;
} ze_command_queue_desc_t;

typedef uint32_t ze_command_list_flags_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t commandQueueGroupOrdinal;
    ze_command_list_flags_t flags;
} ze_command_list_desc_t;

typedef struct {
    uint32_t originX, originY, originZ;
    uint32_t width, height, depth;
} ze_copy_region_t;

typedef struct {
    uint32_t originX, originY, originZ;
    uint32_t width, height, depth;
} ze_image_region_t;

typedef uint32_t ze_device_mem_alloc_flags_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    ze_device_mem_alloc_flags_t flags;
    uint32_t ordinal;
} ze_device_mem_alloc_desc_t;

typedef uint32_t ze_host_mem_alloc_flags_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    ze_host_mem_alloc_flags_t flags;
} ze_host_mem_alloc_desc_t;

typedef enum {
    ZE_MEMORY_TYPE_UNKNOWN = 0,
    ZE_MEMORY_TYPE_DEVICE = 2,
    ZE_MEMORY_TYPE_FORCE_UINT32 = 0x7fffffff,
} ze_memory_type_t;

typedef struct {
    ze_structure_type_t stype;
    void *pNext;
    ze_memory_type_t type;
    uint64_t id;
    uint64_t pageSize;
} ze_memory_allocation_properties_t;

typedef enum {
    ZE_MODULE_FORMAT_IL_SPIRV = 0,
    ZE_MODULE_FORMAT_NATIVE = 1,
    ZE_MODULE_FORMAT_FORCE_UINT32 = 0x7fffffff,
} ze_module_format_t;

typedef struct {
    uint32_t numConstants;
    const uint32_t *pConstantIds;
    const void **pConstantValues;
} ze_module_constants_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    ze_module_format_t format;
    size_t inputSize;
    const uint8_t *pInputModule;
    const char *pBuildFlags;
    const ze_module_constants_t *pConstants;
} ze_module_desc_t;

typedef uint32_t ze_kernel_flags_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    ze_kernel_flags_t flags;
    const char *pKernelName;
} ze_kernel_desc_t;

typedef struct {
    uint8_t kid[ZE_MAX_KERNEL_UUID_SIZE];
    uint8_t mid[ZE_MAX_MODULE_UUID_SIZE];
} ze_kernel_uuid_t;

typedef struct {
    ze_structure_type_t stype;
    void *pNext;
    uint32_t numKernelArgs;
    uint32_t requiredGroupSizeX;
    uint32_t requiredGroupSizeY;
    uint32_t requiredGroupSizeZ;
    uint32_t requiredNumSubGroups;
    uint32_t requiredSubgroupSize;
    uint32_t maxSubgroupSize;
    uint32_t maxNumSubgroups;
    uint32_t localMemSize;
    uint32_t privateMemSize;
    uint32_t spillMemSize;
    ze_kernel_uuid_t uuid;
} ze_kernel_properties_t;

typedef struct {
    uint32_t groupCountX;
    uint32_t groupCountY;
    uint32_t groupCountZ;
} ze_group_count_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t count;
    const size_t *inputSizes;
    const uint8_t **pInputModules;
    const char **pBuildFlags;
    const ze_module_constants_t **pConstants;
} ze_module_program_exp_desc_t;

#endif
