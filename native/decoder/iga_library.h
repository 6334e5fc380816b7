/* libiga64, Intel's public assembler and disassembler library, opened at run time.
 *
 * Declarations follow iga.h and kv.h of intel-graphics-compiler (visa/iga/IGALibrary/api). The functions used here
 * have the same binary interface in libiga64.so.1 (IGC 1.0.12504) and libiga64.so.2 (IGC 2.40): enumerations are
 * 32-bit integers, kv_create's last parameter (the scoreboard mode) is 0 for the platform's own.
 */
#ifndef KERNLENS_IGA_LIBRARY_H
#define KERNLENS_IGA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kv_t kv_t;
typedef const char *(*iga_labeler)(int32_t offset, void *environment);

enum {
    IGA_SUCCESS = 0,
    KV_SUCCESS = 0,
    KV_NON_SEND_INSTRUCTION = 20,
    KV_OPGROUP_SEND_EOT = 6,
    KV_INVALID_REG = 0xFF,
    KV_MAX_TARGETS = 3,
    IGA_FIRST_XE = 0x1000000, /* platforms from here on carry software scoreboard fields */
};

/* iga::SWSB of iga_types_swsb.hpp, as kv_get_swsb_info fills it. */
typedef struct {
    uint32_t distance_type, token_type, distance, token, special;
} iga_swsb;

/* The library's functions, name by name; X(return type, name, parameters). */
#define IGA_FUNCTIONS(X)                                                                                             \
    X(const char *, iga_version_string, (void))                                                                      \
    X(int, iga_platforms_list, (size_t capacity, uint32_t * platforms, size_t * needed))                             \
    X(int, iga_opspec_enumerate, (uint32_t platform, const void **ops, size_t *length))                              \
    X(int, iga_opspec_mnemonic, (const void *op, char *text, size_t *length))                                        \
    X(int, iga_opspec_op, (const void *op, uint32_t *number))                                                        \
    X(kv_t *, kv_create, (uint32_t platform, const void *code, size_t size, int *status, char *errors,               \
                          size_t capacity, uint32_t swsb_mode))                                                      \
    X(void, kv_delete, (kv_t *))                                                                                     \
    X(size_t, kv_get_inst_syntax, (const kv_t *, int32_t offset, char *text, size_t capacity, uint32_t options,      \
                                   iga_labeler, void *environment))                                                  \
    X(uint32_t, kv_get_inst_targets, (const kv_t *, int32_t offset, int32_t *targets))                               \
    X(int32_t, kv_get_opgroup, (const kv_t *, int32_t offset))                                                       \
    X(uint32_t, kv_get_send_descs, (const kv_t *, int32_t offset, uint32_t *extended, uint32_t *descriptor))         \
    X(void, kv_get_send_indirect_descs, (const kv_t *, int32_t offset, uint8_t *extended, uint8_t *extended_sub,     \
                                         uint8_t *descriptor, uint8_t *descriptor_sub))                              \
    X(uint32_t, kv_get_message_len, (const kv_t *, int32_t offset, uint32_t *addresses, uint32_t *data,              \
                                     uint32_t *answer))                                                              \
    X(int, kv_get_message_sfid, (const kv_t *, int32_t offset, int32_t *sfid))                                       \
    X(uint32_t, kv_get_execution_size, (const kv_t *, int32_t offset))                                               \
    X(bool, kv_get_swsb_info, (const kv_t *, int32_t offset, uint32_t mode, iga_swsb *swsb))                         \
    X(int32_t, kv_get_number_sources, (const kv_t *, int32_t offset))                                                \
    X(uint32_t, kv_get_opcode, (const kv_t *, int32_t offset))                                                       \
    X(int, kv_get_subfunction, (const kv_t *, int32_t offset, uint32_t *function))                                   \
    X(int32_t, kv_get_has_destination, (const kv_t *, int32_t offset))                                               \
    X(int32_t, kv_get_destination_register, (const kv_t *, int32_t offset))                                          \
    X(int32_t, kv_get_destination_sub_register, (const kv_t *, int32_t offset))                                      \
    X(uint32_t, kv_get_destination_data_type, (const kv_t *, int32_t offset))                                        \
    X(uint32_t, kv_get_destination_register_type, (const kv_t *, int32_t offset))                                    \
    X(uint32_t, kv_get_destination_register_kind, (const kv_t *, int32_t offset))                                    \
    X(int32_t, kv_get_destination_region, (const kv_t *, int32_t offset, uint32_t *horizontal))                      \
    X(int32_t, kv_get_source_region, (const kv_t *, int32_t offset, uint32_t source, uint32_t *vertical,             \
                                      uint32_t *width, uint32_t *horizontal))                                        \
    X(int32_t, kv_get_source_register, (const kv_t *, int32_t offset, uint32_t source))                              \
    X(int32_t, kv_get_source_sub_register, (const kv_t *, int32_t offset, uint32_t source))                          \
    X(uint32_t, kv_get_source_data_type, (const kv_t *, int32_t offset, uint32_t source))                            \
    X(uint32_t, kv_get_source_register_type, (const kv_t *, int32_t offset, uint32_t source))                        \
    X(uint32_t, kv_get_source_register_kind, (const kv_t *, int32_t offset, uint32_t source))                        \
    X(int32_t, kv_get_source_immediate, (const kv_t *, int32_t offset, uint32_t source, uint64_t *value))            \
    X(uint32_t, kv_get_channel_offset, (const kv_t *, int32_t offset))                                               \
    X(uint32_t, kv_get_mask_control, (const kv_t *, int32_t offset))                                                 \
    X(uint32_t, kv_get_flag_modifier, (const kv_t *, int32_t offset))                                                \
    X(int32_t, kv_get_flag_register, (const kv_t *, int32_t offset))                                                 \
    X(int32_t, kv_get_flag_sub_register, (const kv_t *, int32_t offset))                                             \
    X(uint32_t, kv_get_predicate, (const kv_t *, int32_t offset))                                                    \
    X(uint32_t, kv_get_is_inverse_predicate, (const kv_t *, int32_t offset))

/* Functions that libiga64.so.1 does not have; they are NULL then. */
#define IGA_LATER_FUNCTIONS(X)                                                                                       \
    X(int, kv_get_sendg_ind_desc0, (const kv_t *, int32_t offset, uint32_t *present, uint32_t *byte))                \
    X(int, kv_get_sendg_ind_desc1, (const kv_t *, int32_t offset, uint32_t *present, uint32_t *byte))

#define IGA_MEMBER(type, name, parameters) type(*name) parameters;

typedef struct {
    void *handle;
    IGA_FUNCTIONS(IGA_MEMBER)
    IGA_LATER_FUNCTIONS(IGA_MEMBER)
    /* Register files from this number on moved up by one when the scalar register file was added (IGC 2). */
    bool has_scalar_file;
    char file[4096]; /* where the library was found; empty if the system does not tell */
} iga_library;

#define IGA_MAX_OPS 256      /* iga::Op has about a hundred values */
#define IGA_MNEMONIC_SIZE 24 /* with the terminating zero */

typedef struct {
    char mnemonics[IGA_MAX_OPS][IGA_MNEMONIC_SIZE]; /* by op number; empty where the platform has no such op */
    uint32_t illegal;                               /* the op of what cannot be decoded */
    uint32_t absolute_call;                         /* calla, the one branch whose target is not relative */
} iga_ops;

/* Opens the library; false: `error` says why, one sentence. A library once opened is never closed. */
bool iga_library_open(iga_library *library, const char *path, char *error, size_t error_capacity);

/* The platform's op table; false if the library does not know the platform. */
bool iga_ops_read(const iga_library *library, uint32_t platform, iga_ops *ops);

#endif
