/* From Intel's Level Zero specification 1.4 (ze_ddi.h, zet_ddi.h): the declarations that the layer uses, and no others. Enumerations
 * lack the values that it does not use; an entry of a table that it leaves alone has no type.
 *
 * Copyright (C) 2019-2021 Intel Corporation
 * SPDX-License-Identifier: MIT
 * The text of the licence is in the file LICENSE here.
 */
#ifndef KERNLENS_ZE_DDI_H
#define KERNLENS_ZE_DDI_H

#include "level_zero_api/ze_api.h"
#include "level_zero_api/ze_images.h"

typedef ze_result_t(ZE_APICALL *ze_pfnDriverGet_t)(uint32_t *, ze_driver_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnDriverGetProperties_t)(ze_driver_handle_t, ze_driver_properties_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnDriverGetExtensionFunctionAddress_t)(ze_driver_handle_t, const char *, void **);

typedef struct {
    void *pfnGet, *pfnGetApiVersion, *pfnGetProperties, *pfnGetIpcProperties, *pfnGetExtensionProperties;
    ze_pfnDriverGetExtensionFunctionAddress_t pfnGetExtensionFunctionAddress;
} ze_driver_dditable_t;

typedef ze_result_t(ZE_APICALL *ze_pfnDeviceGetProperties_t)(ze_device_handle_t, ze_device_properties_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnContextCreate_t)(ze_driver_handle_t, const ze_context_desc_t *, ze_context_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnContextDestroy_t)(ze_context_handle_t);
typedef ze_result_t(ZE_APICALL *ze_pfnContextMakeMemoryResident_t)(ze_context_handle_t, ze_device_handle_t, void *, size_t);
typedef ze_result_t(ZE_APICALL *ze_pfnContextEvictMemory_t)(ze_context_handle_t, ze_device_handle_t, void *, size_t);
typedef ze_result_t(ZE_APICALL *ze_pfnContextMakeImageResident_t)(ze_context_handle_t, ze_device_handle_t, ze_image_handle_t);
typedef ze_result_t(ZE_APICALL *ze_pfnContextEvictImage_t)(ze_context_handle_t, ze_device_handle_t, ze_image_handle_t);

typedef struct {
    ze_pfnContextCreate_t pfnCreate;
    ze_pfnContextDestroy_t pfnDestroy;
    void *pfnGetStatus, *pfnSystemBarrier;
    ze_pfnContextMakeMemoryResident_t pfnMakeMemoryResident;
    ze_pfnContextEvictMemory_t pfnEvictMemory;
    ze_pfnContextMakeImageResident_t pfnMakeImageResident;
    ze_pfnContextEvictImage_t pfnEvictImage;
    void *pfnCreateEx;
} ze_context_dditable_t;

typedef ze_result_t(ZE_APICALL *ze_pfnCommandQueueCreate_t)(ze_context_handle_t, ze_device_handle_t, const ze_command_queue_desc_t *,
                                                            ze_command_queue_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandQueueDestroy_t)(ze_command_queue_handle_t);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandQueueExecuteCommandLists_t)(ze_command_queue_handle_t, uint32_t, ze_command_list_handle_t *,
                                                                         ze_fence_handle_t);

typedef struct {
    ze_pfnCommandQueueCreate_t pfnCreate;
    ze_pfnCommandQueueDestroy_t pfnDestroy;
    ze_pfnCommandQueueExecuteCommandLists_t pfnExecuteCommandLists;
    void *pfnSynchronize;
} ze_command_queue_dditable_t;

typedef ze_result_t(ZE_APICALL *ze_pfnCommandListCreate_t)(ze_context_handle_t, ze_device_handle_t, const ze_command_list_desc_t *,
                                                           ze_command_list_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListCreateImmediate_t)(ze_context_handle_t, ze_device_handle_t,
                                                                    const ze_command_queue_desc_t *, ze_command_list_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListDestroy_t)(ze_command_list_handle_t);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListReset_t)(ze_command_list_handle_t);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListAppendMemoryCopy_t)(ze_command_list_handle_t, void *, const void *, size_t,
                                                                     ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListAppendMemoryCopyRegion_t)(ze_command_list_handle_t, void *, const ze_copy_region_t *,
                                                                           uint32_t, uint32_t, const void *, const ze_copy_region_t *,
                                                                           uint32_t, uint32_t, ze_event_handle_t, uint32_t,
                                                                           ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListAppendMemoryCopyFromContext_t)(ze_command_list_handle_t, void *, ze_context_handle_t,
                                                                                const void *, size_t, ze_event_handle_t, uint32_t,
                                                                                ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListAppendImageCopyToMemory_t)(ze_command_list_handle_t, void *, ze_image_handle_t,
                                                                            const ze_image_region_t *, ze_event_handle_t, uint32_t,
                                                                            ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListAppendLaunchKernel_t)(ze_command_list_handle_t, ze_kernel_handle_t,
                                                                       const ze_group_count_t *, ze_event_handle_t, uint32_t,
                                                                       ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListAppendLaunchCooperativeKernel_t)(ze_command_list_handle_t, ze_kernel_handle_t,
                                                                                  const ze_group_count_t *, ze_event_handle_t, uint32_t,
                                                                                  ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListAppendLaunchKernelIndirect_t)(ze_command_list_handle_t, ze_kernel_handle_t,
                                                                               const ze_group_count_t *, ze_event_handle_t, uint32_t,
                                                                               ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListAppendLaunchMultipleKernelsIndirect_t)(ze_command_list_handle_t, uint32_t,
                                                                                        ze_kernel_handle_t *, const uint32_t *,
                                                                                        const ze_group_count_t *, ze_event_handle_t,
                                                                                        uint32_t, ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnCommandListAppendImageCopyToMemoryExt_t)(ze_command_list_handle_t, void *, ze_image_handle_t,
                                                                               const ze_image_region_t *, uint32_t, uint32_t,
                                                                               ze_event_handle_t, uint32_t, ze_event_handle_t *);

typedef struct {
    ze_pfnCommandListCreate_t pfnCreate;
    ze_pfnCommandListCreateImmediate_t pfnCreateImmediate;
    ze_pfnCommandListDestroy_t pfnDestroy;
    void *pfnClose;
    ze_pfnCommandListReset_t pfnReset;
    void *pfnAppendWriteGlobalTimestamp, *pfnAppendBarrier, *pfnAppendMemoryRangesBarrier;
    ze_pfnCommandListAppendMemoryCopy_t pfnAppendMemoryCopy;
    void *pfnAppendMemoryFill;
    ze_pfnCommandListAppendMemoryCopyRegion_t pfnAppendMemoryCopyRegion;
    ze_pfnCommandListAppendMemoryCopyFromContext_t pfnAppendMemoryCopyFromContext;
    void *pfnAppendImageCopy, *pfnAppendImageCopyRegion;
    ze_pfnCommandListAppendImageCopyToMemory_t pfnAppendImageCopyToMemory;
    void *pfnAppendImageCopyFromMemory, *pfnAppendMemoryPrefetch, *pfnAppendMemAdvise, *pfnAppendSignalEvent, *pfnAppendWaitOnEvents,
         *pfnAppendEventReset, *pfnAppendQueryKernelTimestamps;
    ze_pfnCommandListAppendLaunchKernel_t pfnAppendLaunchKernel;
    ze_pfnCommandListAppendLaunchCooperativeKernel_t pfnAppendLaunchCooperativeKernel;
    ze_pfnCommandListAppendLaunchKernelIndirect_t pfnAppendLaunchKernelIndirect;
    ze_pfnCommandListAppendLaunchMultipleKernelsIndirect_t pfnAppendLaunchMultipleKernelsIndirect;
    ze_pfnCommandListAppendImageCopyToMemoryExt_t pfnAppendImageCopyToMemoryExt;
    void *pfnAppendImageCopyFromMemoryExt;
} ze_command_list_dditable_t;

typedef ze_result_t(ZE_APICALL *ze_pfnImageCreate_t)(ze_context_handle_t, ze_device_handle_t, const ze_image_desc_t *, ze_image_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnImageDestroy_t)(ze_image_handle_t);

typedef struct {
    void *pfnGetProperties;
    ze_pfnImageCreate_t pfnCreate;
    ze_pfnImageDestroy_t pfnDestroy;
    void *pfnGetAllocPropertiesExt;
} ze_image_dditable_t;

typedef ze_result_t(ZE_APICALL *ze_pfnModuleCreate_t)(ze_context_handle_t, ze_device_handle_t, const ze_module_desc_t *,
                                                      ze_module_handle_t *, ze_module_build_log_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnModuleDestroy_t)(ze_module_handle_t);
typedef ze_result_t(ZE_APICALL *ze_pfnModuleDynamicLink_t)(uint32_t, ze_module_handle_t *, ze_module_build_log_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnModuleGetNativeBinary_t)(ze_module_handle_t, size_t *, uint8_t *);

typedef struct {
    ze_pfnModuleCreate_t pfnCreate;
    ze_pfnModuleDestroy_t pfnDestroy;
    ze_pfnModuleDynamicLink_t pfnDynamicLink;
    void *pfnGetNativeBinary, *pfnGetGlobalPointer, *pfnGetKernelNames, *pfnGetProperties, *pfnGetFunctionPointer, *pfnInspectLinkageExt;
} ze_module_dditable_t;

typedef ze_result_t(ZE_APICALL *ze_pfnModuleBuildLogDestroy_t)(ze_module_build_log_handle_t);
typedef ze_result_t(ZE_APICALL *ze_pfnModuleBuildLogGetString_t)(ze_module_build_log_handle_t, size_t *, char *);
typedef ze_result_t(ZE_APICALL *ze_pfnKernelCreate_t)(ze_module_handle_t, const ze_kernel_desc_t *, ze_kernel_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnKernelDestroy_t)(ze_kernel_handle_t);
typedef ze_result_t(ZE_APICALL *ze_pfnKernelSetGroupSize_t)(ze_kernel_handle_t, uint32_t, uint32_t, uint32_t);
typedef ze_result_t(ZE_APICALL *ze_pfnKernelSetArgumentValue_t)(ze_kernel_handle_t, uint32_t, size_t, const void *);
typedef uint32_t ze_kernel_indirect_access_flags_t;
typedef ze_result_t(ZE_APICALL *ze_pfnKernelSetIndirectAccess_t)(ze_kernel_handle_t, ze_kernel_indirect_access_flags_t);
typedef ze_result_t(ZE_APICALL *ze_pfnKernelGetProperties_t)(ze_kernel_handle_t, ze_kernel_properties_t *);

typedef struct {
    ze_pfnKernelCreate_t pfnCreate;
    ze_pfnKernelDestroy_t pfnDestroy;
    void *pfnSetCacheConfig;
    ze_pfnKernelSetGroupSize_t pfnSetGroupSize;
    void *pfnSuggestGroupSize, *pfnSuggestMaxCooperativeGroupCount;
    ze_pfnKernelSetArgumentValue_t pfnSetArgumentValue;
    ze_pfnKernelSetIndirectAccess_t pfnSetIndirectAccess;
    void *pfnGetIndirectAccess, *pfnGetSourceAttributes, *pfnGetProperties, *pfnGetName;
} ze_kernel_dditable_t;

typedef ze_result_t(ZE_APICALL *ze_pfnKernelSetGlobalOffsetExp_t)(ze_kernel_handle_t, uint32_t, uint32_t, uint32_t);

typedef struct {
    ze_pfnKernelSetGlobalOffsetExp_t pfnSetGlobalOffsetExp;
    void *pfnSchedulingHintExp;
} ze_kernel_exp_dditable_t;

typedef ze_result_t(ZE_APICALL *ze_pfnSamplerCreate_t)(ze_context_handle_t, ze_device_handle_t, const ze_sampler_desc_t *,
                                                       ze_sampler_handle_t *);
typedef ze_result_t(ZE_APICALL *ze_pfnSamplerDestroy_t)(ze_sampler_handle_t);

typedef struct {
    ze_pfnSamplerCreate_t pfnCreate;
    ze_pfnSamplerDestroy_t pfnDestroy;
} ze_sampler_dditable_t;

typedef ze_result_t(ZE_APICALL *ze_pfnMemAllocShared_t)(ze_context_handle_t, const ze_device_mem_alloc_desc_t *,
                                                        const ze_host_mem_alloc_desc_t *, size_t, size_t, ze_device_handle_t, void **);
typedef ze_result_t(ZE_APICALL *ze_pfnMemAllocHost_t)(ze_context_handle_t, const ze_host_mem_alloc_desc_t *, size_t, size_t, void **);
typedef ze_result_t(ZE_APICALL *ze_pfnMemAllocDevice_t)(ze_context_handle_t, const ze_device_mem_alloc_desc_t *, size_t, size_t,
                                                        ze_device_handle_t, void **);
typedef ze_result_t(ZE_APICALL *ze_pfnMemFree_t)(ze_context_handle_t, void *);
typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t freePolicy;
} ze_memory_free_ext_desc_t;
typedef ze_result_t(ZE_APICALL *ze_pfnMemFreeExt_t)(ze_context_handle_t, const ze_memory_free_ext_desc_t *, void *);
typedef ze_result_t(ZE_APICALL *ze_pfnMemGetAllocProperties_t)(ze_context_handle_t, const void *, ze_memory_allocation_properties_t *,
                                                               ze_device_handle_t *);

typedef struct {
    ze_pfnMemAllocShared_t pfnAllocShared;
    ze_pfnMemAllocDevice_t pfnAllocDevice;
    ze_pfnMemAllocHost_t pfnAllocHost;
    ze_pfnMemFree_t pfnFree;
    void *pfnGetAllocProperties, *pfnGetAddressRange, *pfnGetIpcHandle, *pfnOpenIpcHandle, *pfnCloseIpcHandle;
    ze_pfnMemFreeExt_t pfnFreeExt;
} ze_mem_dditable_t;

typedef ze_module_handle_t zet_module_handle_t;

typedef enum {
    ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF = 0,
    ZET_MODULE_DEBUG_INFO_FORMAT_FORCE_UINT32 = 0x7fffffff,
} zet_module_debug_info_format_t;

typedef ze_result_t(ZE_APICALL *zet_pfnModuleGetDebugInfo_t)(zet_module_handle_t, zet_module_debug_info_format_t, size_t *, uint8_t *);

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetCommandListProcAddrTable(ze_api_version_t version, ze_command_list_dditable_t *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetCommandQueueProcAddrTable(ze_api_version_t version, ze_command_queue_dditable_t *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetContextProcAddrTable(ze_api_version_t version, ze_context_dditable_t *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetDriverProcAddrTable(ze_api_version_t version, ze_driver_dditable_t *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetImageProcAddrTable(ze_api_version_t version, ze_image_dditable_t *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetKernelExpProcAddrTable(ze_api_version_t version, ze_kernel_exp_dditable_t *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetKernelProcAddrTable(ze_api_version_t version, ze_kernel_dditable_t *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetMemProcAddrTable(ze_api_version_t version, ze_mem_dditable_t *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetModuleProcAddrTable(ze_api_version_t version, ze_module_dditable_t *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetSamplerProcAddrTable(ze_api_version_t version, ze_sampler_dditable_t *table);

#endif
