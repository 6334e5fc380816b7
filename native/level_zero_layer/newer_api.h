/* What the specification has had since 1.4 (level_zero_api): from ze_api.h and ze_ddi.h of 1.17. Graphs and executable
 * graphs have no type of their own here. */
#ifndef KERNLENS_NEWER_API_H
#define KERNLENS_NEWER_API_H

#include "level_zero_api/ze_ddi.h"

/* Entries of ze_command_list_dditable_t by their place, and the version that brought each. Tables only grow at their end. */
enum {
    LIST_LAUNCH_WITH_PARAMETERS = 36,
    LIST_LAUNCH_WITH_ARGUMENTS = 37,
    LIST_LAUNCH_WITH_VERSION = ZE_MAKE_VERSION(1, 14),
    LIST_COPY_WITH_PARAMETERS = 38,
    LIST_COPY_WITH_VERSION = ZE_MAKE_VERSION(1, 16),
    LIST_APPEND_LISTS_WITH_PARAMETERS = 40,
    LIST_APPEND_LISTS_WITH_VERSION = ZE_MAKE_VERSION(1, 16),
    LIST_BEGIN_GRAPH = 45,
    LIST_BEGIN_INTO_GRAPH = 46,
    LIST_APPEND_GRAPH = 50,
    GRAPHS_VERSION = ZE_MAKE_VERSION(1, 17),
};

struct newer_group_size {
    uint32_t x, y, z;
};

typedef ze_result_t(ZE_APICALL *list_launch_with_parameters)(ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *,
                                                             const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *list_launch_with_arguments)(ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t,
                                                            struct newer_group_size, void **, const void *, ze_event_handle_t,
                                                            uint32_t, ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *list_copy_with_parameters)(ze_command_list_handle_t, void *, const void *, size_t, const void *,
                                                           ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *list_append_lists_with_parameters)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t *,
                                                                   const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *list_append_lists)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t *,
                                                   ze_event_handle_t, uint32_t, ze_event_handle_t *);

typedef ze_result_t(ZE_APICALL *list_create_clone)(ze_command_list_handle_t, ze_command_list_handle_t *);
typedef ze_result_t(ZE_APICALL *list_begin_graph)(ze_command_list_handle_t, const void *);
typedef ze_result_t(ZE_APICALL *list_begin_into_graph)(ze_command_list_handle_t, void *, const void *);
typedef ze_result_t(ZE_APICALL *list_get_graph)(ze_command_list_handle_t, void **);
typedef ze_result_t(ZE_APICALL *list_append_graph)(ze_command_list_handle_t, void *, const void *, ze_event_handle_t, uint32_t,
                                                   ze_event_handle_t *);
typedef ze_result_t(ZE_APICALL *list_update)(ze_command_list_handle_t, const void *);
typedef ze_result_t(ZE_APICALL *list_update_kernels)(ze_command_list_handle_t, uint32_t, uint64_t *, ze_kernel_handle_t *);
typedef ze_result_t(ZE_APICALL *graph_instantiate)(void *, const void *, void **);
typedef ze_result_t(ZE_APICALL *graph_instantiate_exp)(void *, void **, const void *);
typedef ze_result_t(ZE_APICALL *graph_destroy)(void *);

/* zeGetCommandListExpProcAddrTable fills one of these (since 1.9; the last two entries since 1.10). */
struct newer_list_table {
    list_create_clone create_clone;
    list_append_lists append_lists;
    void *next_command;
    list_update update;
    void *update_signal_event, *update_wait_events, *next_command_with_kernels;
    list_update_kernels update_kernels;
};
enum { LIST_TABLE_VERSION = ZE_MAKE_VERSION(1, 9), LIST_TABLE_WITH_KERNELS = ZE_MAKE_VERSION(1, 10) };

/* And these (since 1.17). */
struct graph_table {
    void *create, *get_list, *set_callback;
    graph_instantiate instantiate;
    void *is_empty, *dump;
    graph_destroy destroy;
};
struct executable_graph_table {
    void *get_graph;
    graph_destroy destroy;
};

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetCommandListExpProcAddrTable(ze_api_version_t version, struct newer_list_table *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetGraphProcAddrTable(ze_api_version_t version, struct graph_table *table);
ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetExecutableGraphProcAddrTable(ze_api_version_t version,
                                                                      struct executable_graph_table *table);

/* An entry that the headers' table does not have; NULL if this version's does not have it either. */
static inline void **newer_entry(void *table, int place, ze_api_version_t version, int since)
{
    return (int)version >= since ? (void **)table + place : NULL;
}

/* As PUT_IN_FRONT (driver.h), for such an entry. */
#define PUT_IN_FRONT_AT(entry, function, next, type)                                                                 \
    do {                                                                                                             \
        void **place = (entry);                                                                                      \
        if (place != NULL && *place != NULL && *place != (void *)(function)) {                                       \
            (next) = (type)*place;                                                                                   \
            *place = (void *)(function);                                                                             \
        }                                                                                                            \
    } while (0)

#endif
