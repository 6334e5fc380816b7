/* What the specification has had since the headers of Debian 12 (1.4): from ze_api.h and ze_ddi.h of 1.17. */
#ifndef KERNLENS_NEWER_API_H
#define KERNLENS_NEWER_API_H

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

/* Entries of ze_command_list_dditable_t by their place, and the version that brought each. Tables only grow at their end. */
enum {
    LIST_HOST_SYNCHRONIZE = 28,
    LIST_HOST_SYNCHRONIZE_VERSION = ZE_MAKE_VERSION(1, 6),
    LIST_LAUNCH_WITH_PARAMETERS = 36,
    LIST_LAUNCH_WITH_ARGUMENTS = 37,
    LIST_LAUNCH_WITH_VERSION = ZE_MAKE_VERSION(1, 14),
    LIST_APPEND_LISTS_WITH_PARAMETERS = 40,
    LIST_APPEND_LISTS_WITH_VERSION = ZE_MAKE_VERSION(1, 16),
};

struct newer_group_size {
    uint32_t x, y, z;
};

typedef ze_result_t(ZE_APICALL *list_host_synchronize)(ze_command_list_handle_t, uint64_t);
typedef ze_result_t(ZE_APICALL *list_launch_with_parameters)(ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *,
                                                             const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *list_launch_with_arguments)(ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t,
                                                            struct newer_group_size, void **, const void *, ze_event_handle_t,
                                                            uint32_t, ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *list_append_lists_with_parameters)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t *,
                                                                   const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *list_append_lists)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t *,
                                                   ze_event_handle_t, uint32_t, ze_event_handle_t *);

/* zeGetCommandListExpProcAddrTable fills one of these (since 1.9). */
struct newer_list_table {
    void *create_clone;
    list_append_lists append_lists;
};
enum { LIST_TABLE_VERSION = ZE_MAKE_VERSION(1, 9) };

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetCommandListExpProcAddrTable(ze_api_version_t version, struct newer_list_table *table);

#endif
