/* One decoded instruction, packed; the only definition of the layout. model/instruction_record.py mirrors it,
 * a test compares. */
#ifndef KERNLENS_RECORD_H
#define KERNLENS_RECORD_H

#include "decoder/iga_library.h"

enum {
    RECORD_ILLEGAL = 1 << 0,          /* the library could not decode it */
    RECORD_COMPACTED = 1 << 1,        /* 8 bytes, not 16 */
    RECORD_SEND = 1 << 2,             /* a message to a shared function */
    RECORD_LABEL = 1 << 3,            /* an operand is a branch target */
    RECORD_END_OF_THREAD = 1 << 4,    /* {EOT} */
    RECORD_PREDICATE_INVERTED = 1 << 5,
    RECORD_NO_MASK = 1 << 6,          /* (W): runs whatever the execution mask says */
    RECORD_ABSOLUTE_TARGET = 1 << 7,  /* the target is not relative to the instruction */
};

enum {
    DESCRIPTOR_IMMEDIATE = 1 << 0,
    DESCRIPTOR_REGISTER = 1 << 1, /* the value is register << 8 | subregister */
    EXTENDED_IMMEDIATE = 1 << 2,
    EXTENDED_REGISTER = 1 << 3,
    DESCRIPTOR_SCALAR = 1 << 4, /* the value is the first of eight bytes of s0 */
    EXTENDED_SCALAR = 1 << 5,
};

enum {
    NO_FLAG_REGISTER = 0xFF,
    NO_SFID = 0xFF,
    NO_FUNCTION = 0xFFFF,
    NO_LENGTH = 0x1F, /* a register holds it, or it does not fit */
    NO_TARGET = INT32_MIN,
    RECORD_SOURCES = 3,
};

enum { KIND_NONE, KIND_DIRECT, KIND_MACRO, KIND_INDIRECT, KIND_IMMEDIATE, KIND_LABEL }; /* iga::Kind */

typedef struct {
    uint16_t number;     /* register number; for an immediate its low 16 bits */
    uint8_t subregister; /* in units of the type */
    uint8_t kind;        /* iga::Kind */
    uint8_t file;        /* iga::RegName of IGC 2 */
    uint8_t type;        /* iga::Type */
} operand_record;

typedef struct {
    uint32_t offset; /* bytes from the kernel's start */
    uint8_t size;    /* 8 or 16 */
    uint8_t flags;   /* RECORD_... */
    uint16_t opcode; /* iga::Op of this library; its mnemonic is in iga_ops */
    uint8_t execution_size;
    uint8_t predicate;      /* iga::PredCtrl */
    uint8_t flag_register;  /* number << 4 | subregister, of the predicate and of the condition */
    uint8_t condition;      /* iga::FlagModifier */
    uint8_t channel_offset; /* first channel / 4 */
    uint8_t source_count;
    uint8_t sfid;             /* iga::SFID */
    uint8_t descriptor_flags; /* DESCRIPTOR_..., EXTENDED_... */
    uint32_t swsb; /* distance type 4 bits, distance 8, token type 4, token 8, special 8, from the lowest bit up */
    uint32_t descriptor;
    uint32_t extended_descriptor;
    uint16_t function; /* math and sync function, bfn's table, ...: the subfunction's number */
    uint16_t lengths;  /* of a message, in registers: answer, addresses, data, 5 bits each from the lowest up */
    operand_record operands[1 + RECORD_SOURCES]; /* destination, sources */
    uint64_t immediate;                          /* of the last immediate source */
    int32_t targets[2];                          /* offsets in the kernel */
} instruction_record;

_Static_assert(sizeof(instruction_record) == 72, "the layout must have no padding");

/* How an operand's elements lie in the register file: iga::Region. A destination has only a horizontal stride; what the
 * instruction does not state is NO_REGION. */
typedef struct {
    uint8_t vertical, width, horizontal;
} operand_region;

/* The regions of one instruction's destination and sources: read on request, few need them. model/instruction_record.py
 * mirrors it. */
typedef struct {
    operand_region operands[1 + RECORD_SOURCES];
} instruction_regions;

enum { NO_REGION = 0xFF };

_Static_assert(sizeof(instruction_regions) == 12, "the layout must have no padding");

/* Fills all but `offset` from the instruction at `place` of `view`. Targets stay relative to the instruction, unless
 * RECORD_ABSOLUTE_TARGET is set. */
void record_fill(instruction_record *record, const iga_library *library, const iga_ops *ops, uint32_t platform,
                 const kv_t *view, int32_t place, uint8_t size);

void regions_fill(instruction_regions *regions, const iga_library *library, const kv_t *view, int32_t place);

/* What stands for an instruction that the library refuses to decode at all. */
void record_fill_illegal(instruction_record *record, const iga_ops *ops, uint8_t size);

#endif
