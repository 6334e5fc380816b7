"""What packed records say of registers, and of control flow."""

from __future__ import annotations

import re

import pytest

from kernlens.isa.intel.device_table import GEN9, XE2, XE3, XE3P
from kernlens.isa.intel.effect_reader import effects_of
from kernlens.model.effects import (
    ACCUMULATORS,
    ADDRESSES,
    FLAGS,
    GENERAL,
    SCALARS,
    Effect,
    Effects,
    Route,
    registers_in,
)
from kernlens.model.instruction_record import NO_REGION, REGIONS_SIZE
from kernlens.model.intel_instructions import (
    DESCRIPTOR_IMMEDIATE,
    DESCRIPTOR_SCALAR,
    EXTENDED_IMMEDIATE,
    EXTENDED_REGISTER,
    EXTENDED_SCALAR,
    LABEL,
    SEND,
)
from tests.corpus.oracles.register_texts import said_of_registers
from tests.tree import ROOT
from tests.writers.instruction_records import DIRECT, IMMEDIATE, INDIRECT, NO_OPERAND, Operand, record

MNEMONICS = (
    "", "mov", "add", "mad", "sel", "cmp", "send", "dpas", "call", "ret", "goto", "if", "else", "endif", "while", "break",
    "cont", "join", "mach", "math", "csel", "mullh",
)  # fmt: skip
NUMBER = {name: number for number, name in enumerate(MNEMONICS)}
GENERAL_FILE, ACCUMULATOR_FILE, ADDRESS_FILE, FLAG_FILE, SCALAR_FILE = 18, 3, 2, 5, 9
BYTE, WORD, DWORD, QWORD, HALF, FLOAT = 7, 8, 10, 12, 14, 20
UGM, DC0 = 15, 10

#: vertical, width, horizontal
SCALAR, CONTIGUOUS = (0, 1, 0), (1, 1, 0)
NOTHING = (NO_REGION,) * 3


def r(number: int, subregister: int = 0, type: int = DWORD) -> Operand:
    return number, subregister, DIRECT, GENERAL_FILE, type


def effects(*instructions: tuple[bytes, tuple[tuple[int, int, int], ...]], platform: int = XE2) -> Effects:
    regions = b"".join(
        bytes(sum((*instruction, *[NOTHING] * (4 - len(instruction))), ())) for _, instruction in instructions
    )
    return effects_of(b"".join(instruction for instruction, _ in instructions), regions, MNEMONICS, platform)


def effect(name: str, *regions: tuple[int, int, int], platform: int = XE2, **fields: object) -> Effect:
    (result,) = effects((record(opcode=NUMBER[name], **fields), regions), platform=platform).effects  # type: ignore[arg-type]
    return result


def registers(accesses: tuple[tuple[int, int], ...], register_bytes: int = 64) -> list[tuple[int, int, int]]:
    """Of each access the register, the first byte and the number of bytes."""
    numbers = []
    for start, pattern in accesses:
        assert start >= GENERAL
        numbers.append((*divmod(start - GENERAL, register_bytes), pattern.bit_count()))
    return numbers


def test_the_size_of_the_regions_is_the_decoders() -> None:
    header = (ROOT / "native/decoder/record.h").read_text()
    assert f"sizeof(instruction_regions) == {REGIONS_SIZE}," in header
    assert re.findall(r"uint8_t vertical, width, horizontal;", header)
    assert f"enum {{ NO_REGION = 0x{NO_REGION:X} }};" in header


def test_plain_operands() -> None:
    result = effect("add", (NO_REGION, NO_REGION, 2), SCALAR, (4, 2, 1), execution_size=4,
                   destination=r(5, type=WORD), sources=(r(1, 3), r(2, 0, BYTE)))  # fmt: skip
    assert registers(result.writes) == [(5, 0, 8)]
    assert result.writes[0][1] == 0x3333
    assert registers(result.reads) == [(1, 12, 4), (2, 0, 4)]
    assert result.reads[1][1] == 0b110011
    assert not result.is_partial
    assert not result.is_lower_bound


def test_ternary_regions_leave_their_width_out() -> None:
    stride = (NO_REGION, NO_REGION, 1)
    result = effect("mad", stride, (8, NO_REGION, 1), (0, NO_REGION, 0), (NO_REGION, NO_REGION, 2), execution_size=16,
                   destination=r(9), sources=(r(1), r(2, 1), r(3, 0, WORD)))  # fmt: skip
    assert registers(result.reads) == [(1, 0, 64), (2, 4, 4), (3, 0, 32)]
    assert result.reads[2][1].bit_length() == 62


def test_predicates_and_conditions_are_flags_of_the_channels() -> None:
    result = effect("cmp", predicate=1, flag_register=0x21, condition=1, execution_size=8, channel_offset=2)
    assert result.reads == result.writes == ((FLAGS + 2 * 32 + 16 + 8, 0xFF),)
    assert result.is_partial
    whole = effect("mov", predicate=10, flag_register=0x00, execution_size=8, channel_offset=2)  # any16h
    assert whole.reads == ((FLAGS, 0xFFFF),)


def test_a_select_writes_all_lanes_and_no_flag() -> None:
    result = effect("sel", CONTIGUOUS, predicate=1, flag_register=0, destination=r(4))
    assert (result.is_partial, result.reads) == (False, ((FLAGS, 0xFF),))
    assert effect("sel", condition=4, flag_register=0).writes == ()
    assert effect("csel", condition=4, flag_register=0).writes == ()


def test_other_register_files() -> None:
    def of(file: int, number: int = 0, subregister: int = 0, type: int = DWORD) -> tuple[tuple[int, int], ...]:
        operand = (number, subregister, DIRECT, file, type)
        return effect("mov", execution_size=1, destination=operand).writes

    assert of(ADDRESS_FILE, subregister=2) == ((ADDRESSES + 8, 0xF),)
    assert of(FLAG_FILE, 1, 1, WORD) == ((FLAGS + 48, 0xFFFF),)
    assert of(SCALAR_FILE, subregister=1, type=QWORD) == ((SCALARS + 8, 0xFF),)
    assert of(ACCUMULATOR_FILE, 3) == ((ACCUMULATORS + 2 * 64, (1 << 128) - 1),)
    assert of(GENERAL_FILE, 60000) == of(1) == ()


def test_indirect_operands_are_a_lower_bound() -> None:
    result = effect("mov", CONTIGUOUS, (31, 1, 0), execution_size=8, destination=r(1),
                   sources=((0, 2, INDIRECT, ADDRESS_FILE, DWORD),))  # fmt: skip
    assert result.is_lower_bound
    assert result.reads == ((ADDRESSES + 4, (1 << 16) - 1),)


def test_calls_keep_two_dwords_whatever_their_size() -> None:
    assert registers(effect("call", CONTIGUOUS, destination=r(1, 8), execution_size=16).writes) == [(1, 32, 8)]
    assert registers(effect("ret", NOTHING, CONTIGUOUS, sources=(r(1, 8),), execution_size=16).reads) == [(1, 32, 8)]


def test_implicit_accumulators() -> None:
    result = effect("mach", CONTIGUOUS, destination=r(1))
    assert [start for start, _ in result.reads] == [ACCUMULATORS]
    assert [start >= GENERAL for start, _ in result.writes] == [True, False]


def test_systolic_instructions_read_and_write_whole_blocks() -> None:
    fields = {"execution_size": 16, "function": 8 << 8 | 4}
    result = effect("dpas", destination=r(10, 0, FLOAT), sources=(r(20, 0, FLOAT), r(30, 0, HALF), r(50, 0, HALF)),
                   **fields)  # fmt: skip
    assert registers(result.writes) == [(10, 0, 4 * 64)]
    assert registers(result.reads) == [(20, 0, 4 * 64), (30, 0, 8 * 64), (50, 0, 4 * 8 * 4)]


def lengths(answer: int, addresses: int, data: int) -> int:
    return answer | addresses << 5 | data << 10


def message(descriptor: int, sizes: tuple[int, int, int], platform: int = XE2, **fields: object) -> Effect:
    fields_: dict[str, object] = {
        "sfid": UGM,
        "flags": SEND,
        "descriptor": descriptor,
        "descriptor_flags": DESCRIPTOR_IMMEDIATE | EXTENDED_IMMEDIATE,
        "lengths": lengths(*sizes),
        "destination": r(10) if sizes[0] else NO_OPERAND,
        "sources": (r(20), r(30)),
        **fields,
    }
    return effect("send", platform=platform, **fields_)


def lsc(operation: int, address: int = 3, data: int = 2, vector: int = 0, transposed: int = 0) -> int:
    return operation | address << 7 | data << 9 | vector << 12 | transposed << 15


def test_a_payload_is_lanes_times_size() -> None:
    # SIMD8 on registers of 64 bytes: two vectors of dwords from addresses of 64 bits.
    result = message(lsc(0, vector=1), (2, 1, 0), execution_size=8)
    assert registers(result.writes) == [(10, 0, 64)]
    assert result.writes[0][1] == ((1 << 32) - 1) * (1 | 1 << 64)
    assert registers(result.reads) == [(20, 0, 64)]
    # SIMD32: each slice takes two registers.
    assert registers(message(lsc(0, vector=1), (4, 4, 0), execution_size=32).writes) == [(10, 0, 256)]


def test_a_block_has_one_address() -> None:
    result = message(lsc(0, vector=4, transposed=1), (1, 1, 0), execution_size=1)
    assert (registers(result.writes), registers(result.reads)) == ([(10, 0, 32)], [(20, 0, 8)])
    stored = message(lsc(4, vector=4, transposed=1), (0, 1, 1), execution_size=1)
    assert (registers(stored.writes), registers(stored.reads)) == ([], [(20, 0, 8), (30, 0, 32)])


def test_narrow_elements_take_dwords_in_registers() -> None:
    assert registers(message(lsc(0, data=4), (1, 2, 0), execution_size=16).writes) == [(10, 0, 64)]


def test_what_a_register_says_is_a_lower_bound() -> None:
    result = message(0, (0x1F, 0x1F, 0x1F), descriptor_flags=EXTENDED_REGISTER, extended=2)
    assert result.is_lower_bound
    assert result.reads[0] == (ADDRESSES + 8, 0xF)


def test_descriptors_in_the_scalar_register() -> None:
    result = message(
        16, (1, 1, 0), XE3P, extended=24, descriptor_flags=DESCRIPTOR_SCALAR | EXTENDED_SCALAR, execution_size=16
    )
    assert result.reads[:2] == ((SCALARS + 16, 0xFF), (SCALARS + 24, 0xFF))
    assert not result.is_lower_bound


def test_both_halves_of_a_product() -> None:
    result = effect("mullh", CONTIGUOUS, CONTIGUOUS, execution_size=1, destination=r(5), sources=(r(7), r(8)))
    assert registers(result.writes) == [(5, 0, 4), (6, 0, 4)]


def test_scratch_blocks_of_the_data_cache() -> None:
    # A header, and two registers of 32 bytes in one block.
    result = message(1 << 18 | 1 << 12, (2, 1, 0), platform=GEN9, sfid=DC0, execution_size=16)
    assert registers(result.writes, 32) == [(10, 0, 64)]
    assert registers(result.reads, 32) == [(20, 0, 32)]


def gathered(value: int, *between: bytes, platform: int = XE3) -> Effect:
    scalar = (0, 0, DIRECT, SCALAR_FILE, QWORD)
    setting = record(
        offset=0,
        opcode=NUMBER["mov"],
        execution_size=1,
        destination=scalar,
        sources=((value & 0xFFFF, 0, IMMEDIATE, 0, QWORD),),
        immediate=value,
    )
    sending = record(
        offset=32,
        opcode=NUMBER["send"],
        flags=SEND,
        sfid=UGM,
        execution_size=16,
        descriptor=lsc(4, address=3, data=2),
        descriptor_flags=DESCRIPTOR_IMMEDIATE | EXTENDED_IMMEDIATE,
        lengths=lengths(0, 3, 0),
        sources=((0, 0, INDIRECT, SCALAR_FILE, DWORD),),
    )
    return effects(*((entry, ()) for entry in (setting, *between, sending)), platform=platform).effects[-1]


def test_gather_sends_take_the_registers_that_the_scalar_register_names() -> None:
    result = gathered(0x00_00_00_07_05_63)
    assert [number for number, _, _ in registers(result.reads[1:])] == [0x63, 0x05, 0x07]
    assert result.reads[0] == (SCALARS, 0b111)
    assert not result.is_lower_bound


def test_a_gather_send_that_other_lanes_reach_is_a_lower_bound() -> None:
    back = record(offset=16, opcode=NUMBER["goto"], flags=LABEL, targets=(32, 32), predicate=1, flag_register=0)
    assert gathered(0x070563, back).is_lower_bound


def routes(*names: str, targets: dict[int, tuple[int, ...]], predicated: tuple[int, ...] = ()) -> dict[int, Route]:
    records = [
        record(
            offset=16 * index,
            opcode=NUMBER[name],
            flags=LABEL if index in targets else 0,
            targets=tuple(16 * target for target in targets.get(index, ())),
            predicate=index in predicated,
            flag_register=0,
        )
        for index, name in enumerate(names)
    ]
    return effects(*((record, ()) for record in records)).routes


def test_lanes_follow_the_second_target_of_a_goto() -> None:
    assert routes("goto", "join", "join", targets={0: (1, 2)}) == {0: Route(False, (2,))}
    assert routes("goto", "join", "join", targets={0: (1, 2)}, predicated=(0,)) == {0: Route(True, (2,))}


def test_if_and_else() -> None:
    result = routes("if", "mov", "else", "mov", "endif", targets={0: (2, 4), 2: (4, 4)}, predicated=(0,))
    assert result == {0: Route(True, (3,)), 2: Route(False, (4,))}


def test_routes_of_a_loop_lead_through_its_parts() -> None:
    result = routes(
        "mov", "break", "cont", "while", "mov", targets={1: (3, 3), 2: (3, 3), 3: (0,)}, predicated=(1, 2, 3)
    )
    assert result == {1: Route(True, (4,)), 2: Route(True, (3,)), 3: Route(True, (0,))}


def test_calls_and_returns() -> None:
    result = routes("call", "mov", "ret", targets={0: (2,)})
    assert result == {0: Route(True, (2,), is_call=True), 2: Route(False, returns=True)}
    assert routes("call", "mov", targets={0: (7,)}) == {0: Route(True, (), is_call=True)}


@pytest.mark.parametrize("name", ["goto", "if", "while", "break"])
def test_targets_outside_are_none(name: str) -> None:
    assert routes(name, "mov", targets={0: (99, 99)}, predicated=(0,)) == {0: Route(True, ())}


def test_the_oracle_reads_early_out_conditions() -> None:
    """Those of division and roots in double precision, which no program of the corpus has."""
    text = "        math.invm (4|M0) (eo)f0.1  r2.mme0:df  r36.nomme:df      r32.nomme:df    "
    text_effect = said_of_registers(text, 32)
    registers = [list(registers_in(places, 32)) for places in (text_effect.reads, text_effect.writes)]
    assert (registers, text_effect.is_predicated) == ([[32, 36], [2]], False)
    assert text_effect.writes & (1 << ADDRESSES) - 1 == 0b1111 << 16
