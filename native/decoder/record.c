#include "decoder/record.h"

#include <string.h>

enum { SCALAR_FILE = 9 };

static uint8_t register_file(const iga_library *library, uint32_t file)
{
    return (uint8_t)(!library->has_scalar_file && file >= SCALAR_FILE ? file + 1 : file);
}

static uint8_t small(int32_t value)
{
    return value < 0 ? 0 : value > 0xFF ? 0xFF : (uint8_t)value;
}

static void fill_destination(operand_record *operand, const iga_library *library, const kv_t *view, int32_t place)
{
    if (library->kv_get_has_destination(view, place) != 1)
        return;
    operand->kind = (uint8_t)library->kv_get_destination_register_kind(view, place);
    if (operand->kind == KIND_NONE)
        return;
    operand->type = (uint8_t)library->kv_get_destination_data_type(view, place);
    operand->file = register_file(library, library->kv_get_destination_register_type(view, place));
    int32_t number = library->kv_get_destination_register(view, place);
    operand->number = number < 0 ? 0 : (uint16_t)number;
    operand->subregister = small(library->kv_get_destination_sub_register(view, place));
}

static void fill_source(instruction_record *record, uint32_t source, const iga_library *library, const kv_t *view,
                        int32_t place)
{
    operand_record *operand = &record->operands[1 + source];
    operand->kind = (uint8_t)library->kv_get_source_register_kind(view, place, source);
    switch (operand->kind) {
    case KIND_DIRECT:
    case KIND_MACRO:
    case KIND_INDIRECT: {
        operand->file = register_file(library, library->kv_get_source_register_type(view, place, source));
        int32_t number = library->kv_get_source_register(view, place, source);
        operand->number = number < 0 ? 0 : (uint16_t)number;
        operand->subregister = small(library->kv_get_source_sub_register(view, place, source));
        break;
    }
    case KIND_IMMEDIATE:
        library->kv_get_source_immediate(view, place, source, &record->immediate);
        operand->number = (uint16_t)record->immediate;
        break;
    case KIND_LABEL:
        record->flags |= RECORD_LABEL;
        return;
    default:
        return;
    }
    operand->type = (uint8_t)library->kv_get_source_data_type(view, place, source);
}

static uint16_t packed_lengths(const iga_library *library, const kv_t *view, int32_t place)
{
    uint32_t addresses = NO_LENGTH, data = NO_LENGTH, answer = NO_LENGTH;
    library->kv_get_message_len(view, place, &addresses, &data, &answer);
    uint32_t lengths[] = {answer, addresses, data};
    uint32_t packed = 0;
    for (int index = 0; index < 3; index++)
        packed |= (lengths[index] < NO_LENGTH ? lengths[index] : NO_LENGTH) << 5 * index;
    return (uint16_t)packed;
}

/* Whether the message is one of Xe3P, whose own descriptor has 64 bits and is not in the record: s0 holds up to two more. */
static bool fill_scalar_descriptors(instruction_record *record, const iga_library *library, const kv_t *view,
                                    int32_t place)
{
    uint32_t present = 0, other_present = 0;
    if (library->kv_get_sendg_ind_desc0 == NULL || library->kv_get_sendg_ind_desc1 == NULL ||
        library->kv_get_sendg_ind_desc0(view, place, &present, &record->descriptor) != KV_SUCCESS ||
        library->kv_get_sendg_ind_desc1(view, place, &other_present, &record->extended_descriptor) != KV_SUCCESS)
        return false;
    record->descriptor_flags = (uint8_t)((present ? DESCRIPTOR_SCALAR : 0) | (other_present ? EXTENDED_SCALAR : 0));
    return true;
}

static void fill_message(instruction_record *record, const iga_library *library, const kv_t *view, int32_t place)
{
    int32_t sfid = -1;
    int status = library->kv_get_message_sfid(view, place, &sfid);
    if (status == KV_NON_SEND_INSTRUCTION)
        return;
    record->flags |= RECORD_SEND;
    if (status == KV_SUCCESS && sfid >= 0 && sfid < NO_SFID)
        record->sfid = (uint8_t)sfid;
    if (library->kv_get_opgroup(view, place) == KV_OPGROUP_SEND_EOT)
        record->flags |= RECORD_END_OF_THREAD;
    record->lengths = packed_lengths(library, view, place);
    if (fill_scalar_descriptors(record, library, view, place))
        return;

    uint8_t extended = KV_INVALID_REG, extended_sub = 0, descriptor = KV_INVALID_REG, descriptor_sub = 0;
    library->kv_get_send_descs(view, place, &record->extended_descriptor, &record->descriptor);
    library->kv_get_send_indirect_descs(view, place, &extended, &extended_sub, &descriptor, &descriptor_sub);
    if (descriptor == KV_INVALID_REG) {
        record->descriptor_flags |= DESCRIPTOR_IMMEDIATE;
    } else {
        record->descriptor_flags |= DESCRIPTOR_REGISTER;
        record->descriptor = (uint32_t)descriptor << 8 | descriptor_sub;
    }
    if (extended == KV_INVALID_REG) {
        record->descriptor_flags |= EXTENDED_IMMEDIATE;
    } else {
        record->descriptor_flags |= EXTENDED_REGISTER;
        record->extended_descriptor = (uint32_t)extended << 8 | extended_sub;
    }
}

static uint32_t packed_swsb(const iga_library *library, const kv_t *view, int32_t place)
{
    /* The library writes five words; a later one may write more. */
    union {
        iga_swsb swsb;
        uint32_t room[16];
    } filled;
    memset(&filled, 0, sizeof filled);
    if (!library->kv_get_swsb_info(view, place, 0, &filled.swsb))
        return 0;
    const iga_swsb *swsb = &filled.swsb;
    return (swsb->distance_type & 0xF) | (swsb->distance & 0xFF) << 4 | (swsb->token_type & 0xF) << 12 |
           (swsb->token & 0xFF) << 16 | (swsb->special & 0xFF) << 24;
}

static void fill_predicate(instruction_record *record, const iga_library *library, const kv_t *view, int32_t place)
{
    record->predicate = (uint8_t)library->kv_get_predicate(view, place);
    record->condition = (uint8_t)library->kv_get_flag_modifier(view, place);
    if (record->predicate == 0 && record->condition == 0)
        return;
    if (library->kv_get_is_inverse_predicate(view, place))
        record->flags |= RECORD_PREDICATE_INVERTED;
    int32_t number = library->kv_get_flag_register(view, place);
    int32_t subregister = library->kv_get_flag_sub_register(view, place);
    if (number >= 0 && number < 15 && subregister >= 0 && subregister < 16)
        record->flag_register = (uint8_t)(number << 4 | subregister);
}

static void fill_targets(instruction_record *record, const iga_library *library, const kv_t *view, int32_t place)
{
    int32_t targets[KV_MAX_TARGETS];
    uint32_t count = library->kv_get_inst_targets(view, place, targets);
    bool absolute = (record->flags & RECORD_ABSOLUTE_TARGET) != 0;
    for (uint32_t index = 0; index < count && index < 2; index++)
        record->targets[index] = absolute ? targets[index] : (int32_t)((uint32_t)targets[index] - (uint32_t)place);
}

static void clear(instruction_record *record, uint8_t size)
{
    memset(record, 0, sizeof *record);
    record->size = size;
    record->flags = size == 8 ? RECORD_COMPACTED : 0;
    record->flag_register = NO_FLAG_REGISTER;
    record->sfid = NO_SFID;
    record->function = NO_FUNCTION;
    record->targets[0] = record->targets[1] = NO_TARGET;
}

void record_fill_illegal(instruction_record *record, const iga_ops *ops, uint8_t size)
{
    clear(record, size);
    record->flags |= RECORD_ILLEGAL;
    record->opcode = (uint16_t)ops->illegal;
}

void record_fill(instruction_record *record, const iga_library *library, const iga_ops *ops, uint32_t platform,
                 const kv_t *view, int32_t place, uint8_t size)
{
    uint32_t opcode = library->kv_get_opcode(view, place);
    if (opcode == 0 || opcode >= IGA_MAX_OPS || opcode == ops->illegal) {
        record_fill_illegal(record, ops, size);
        return;
    }
    clear(record, size);
    record->opcode = (uint16_t)opcode;
    if (opcode == ops->absolute_call)
        record->flags |= RECORD_ABSOLUTE_TARGET;
    record->execution_size = (uint8_t)library->kv_get_execution_size(view, place);
    record->channel_offset = (uint8_t)library->kv_get_channel_offset(view, place);
    if (library->kv_get_mask_control(view, place) != 0)
        record->flags |= RECORD_NO_MASK;
    fill_predicate(record, library, view, place);
    fill_destination(&record->operands[0], library, view, place);
    int32_t sources = library->kv_get_number_sources(view, place);
    record->source_count = small(sources);
    for (int32_t source = 0; source < sources && source < RECORD_SOURCES; source++)
        fill_source(record, (uint32_t)source, library, view, place);
    fill_message(record, library, view, place);
    if ((record->flags & RECORD_SEND) == 0) {
        uint32_t function = 0;
        if (library->kv_get_subfunction(view, place, &function) == KV_SUCCESS)
            record->function = (uint16_t)function;
    }
    if (platform >= IGA_FIRST_XE)
        record->swsb = packed_swsb(library, view, place);
    if (record->flags & RECORD_LABEL)
        fill_targets(record, library, view, place);
}

void regions_fill(instruction_regions *regions, const iga_library *library, const kv_t *view, int32_t place)
{
    /* iga::Region's own words for "not stated" */
    enum { NO_VERTICAL = 63, NO_WIDTH = 31, NO_HORIZONTAL = 15 };
    memset(regions, NO_REGION, sizeof *regions);
    uint32_t vertical = NO_VERTICAL, width = NO_WIDTH, horizontal = NO_HORIZONTAL;
    if (library->kv_get_destination_region(view, place, &horizontal) == 0 && horizontal != NO_HORIZONTAL)
        regions->operands[0].horizontal = (uint8_t)horizontal;
    int32_t sources = library->kv_get_number_sources(view, place);
    for (int32_t source = 0; source < sources && source < RECORD_SOURCES; source++) {
        operand_region *region = &regions->operands[1 + source];
        if (library->kv_get_source_region(view, place, (uint32_t)source, &vertical, &width, &horizontal) != 0)
            continue;
        region->vertical = vertical == NO_VERTICAL ? NO_REGION : (uint8_t)vertical;
        region->width = width == NO_WIDTH ? NO_REGION : (uint8_t)width;
        region->horizontal = horizontal == NO_HORIZONTAL ? NO_REGION : (uint8_t)horizontal;
    }
}
