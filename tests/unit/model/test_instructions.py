"""Instructions over packed records."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kernlens import _decoder
from kernlens.model.instruction_record import (
    FLAGS_AT,
    OPCODE_AT,
    PREDICATE_AT,
    RECORD_SIZE,
    SIZE_AT,
    InstructionRecord,
    OperandRecord,
    read_record,
)
from kernlens.model.intel_instructions import (
    COMPACTED,
    DESCRIPTOR_SCALAR,
    ILLEGAL,
    LABEL,
    NO_MASK,
    PREDICATE_INVERTED,
    SEND,
    IntelInstructions,
)
from kernlens.model.operand import Condition, Operand, Predicate, Swsb
from tests.tree import ROOT
from tests.writers.instruction_records import DIRECT, IMMEDIATE, INDIRECT, record
from tests.writers.instruction_records import LABEL as LABEL_OPERAND

MNEMONICS = ("", "mov", "add", "goto", "send", "illegal", "math", "call", "or")
MOV, ADD, GOTO, SEND_OP, ILLEGAL_OP, MATH, CALL, OR = range(1, 9)
CONTROL = 11
GENERAL, ACCUMULATOR, NULL, ADDRESS = 18, 3, 1, 2
FLOAT, WORD, DWORD = 20, 9, 11


def texts(count: int) -> list[str]:
    return [f"text {index}" for index in range(count)]


def instructions(*records: bytes) -> IntelInstructions:
    return IntelInstructions(b"".join(records), MNEMONICS, lambda: texts(len(records)))


def test_the_layout_is_the_decoders() -> None:
    assert RECORD_SIZE == _decoder.RECORD_SIZE == len(record())
    header = (ROOT / "native/decoder/record.h").read_text()
    operand, whole, *_ = re.findall(r"typedef struct \{\n(.*?)\n\}", header, re.DOTALL)
    names = [re.findall(r"^ +\w+ (\w+)[;\[]", fields, re.MULTILINE) for fields in (operand, whole)]
    assert names == [list(OperandRecord._fields), [*InstructionRecord._fields, "operands", "immediate", "targets"]]


def test_columns_stand_where_the_fields_do() -> None:
    content = bytes(range(RECORD_SIZE))
    fields = read_record(content, 0)
    assert (fields.size, fields.flags, fields.predicate) == (SIZE_AT, FLAGS_AT, PREDICATE_AT)
    assert fields.opcode == OPCODE_AT | OPCODE_AT + 1 << 8


def test_columns_hold_one_value_for_each_instruction() -> None:
    result = instructions(
        record(0, 16, opcode=MOV), record(16, 8, COMPACTED, ADD), record(24, 16, ILLEGAL, opcode=ILLEGAL_OP)
    )
    assert list(result.offsets) == [0, 16, 24]
    assert list(result.sizes) == [16, 8, 16]
    assert result.opcodes == ["mov", "add", "illegal"]
    assert list(result.flags) == [0, COMPACTED, ILLEGAL]
    assert result.size == 40
    assert [item.illegal for item in result] == [False, False, True]


def test_no_instructions_are_an_empty_sequence() -> None:
    result = instructions()
    assert (len(result), result.size, list(result), result.texts, result.targets) == (0, 0, [], [], ())
    assert result.at(0) is None


def test_operands_are_unpacked_from_a_record() -> None:
    result = instructions(
        record(
            opcode=ADD,
            execution_size=16,
            channel_offset=4,
            flags=NO_MASK,
            destination=(10, 0, DIRECT, GENERAL, FLOAT),
            sources=((6, 3, DIRECT, GENERAL, FLOAT), (0, 2, INDIRECT, ADDRESS, WORD), (7, 0, IMMEDIATE, 0, DWORD)),
            immediate=0x10007,
        ),
        record(opcode=MOV, destination=(0, 0, DIRECT, NULL, DWORD), sources=((0, 0, DIRECT, ACCUMULATOR, FLOAT),)),
    )
    first = result[0]
    assert first.destination == Operand("register", "r", 10, 0, "f")
    assert [str(source) for source in first.sources] == ["r6.3:f", "r[a0.2]:w", "0x10007:d"]
    assert (first.execution_size, first.channel_offset, first.no_mask) == (16, 16, True)
    assert str(result[1].destination) == "null:d"
    assert str(result[1].sources[0]) == "acc0.0:f"


def test_two_immediates_keep_their_own_values() -> None:
    sources = ((5, 0, IMMEDIATE, 0, WORD), (6, 0, DIRECT, GENERAL, WORD), (0xFFFF, 0, IMMEDIATE, 0, WORD))
    values = [source.value for source in instructions(record(sources=sources, immediate=0xFFFF))[0].sources]
    assert values == [5, None, 0xFFFF]


def test_predicate_and_condition() -> None:
    result = instructions(
        record(predicate=1, flag_register=0x11, flags=PREDICATE_INVERTED),
        record(predicate=15, flag_register=0x00, condition=5),
        record(condition=0xFF, flag_register=0x01),
        record(),
    )
    assert result[0].predicate == Predicate("f1.1", inverted=True)
    assert str(result[0].predicate) == "(~f1.1)"
    assert str(result[1].predicate) == "(f0.0.all)"
    assert result[1].condition == Condition("lt", "f0.0")
    assert result[2].condition == Condition("eo", "f0.1")
    assert (result[3].predicate, result[3].condition) == (None, None)


def test_messages_are_unpacked_from_a_record() -> None:
    result = instructions(
        record(opcode=SEND_OP, flags=SEND | 1 << 4, sfid=15, descriptor_flags=0b0101, descriptor=0x42, extended=7),
        record(opcode=SEND_OP, flags=SEND, sfid=0xFF, descriptor_flags=0b1010, descriptor=0x002, extended=0x004),
        record(opcode=MOV),
        record(opcode=SEND_OP, flags=SEND, descriptor_flags=DESCRIPTOR_SCALAR, descriptor=16),
    )
    first, second, third = result[0].message, result[1].message, result[3].message
    assert first is not None
    assert second is not None
    assert (first.target, first.descriptor, first.extended_descriptor, first.end_of_thread) == ("ugm", 0x42, 7, True)
    assert (first.descriptor_register, first.extended_register) == (None, None)
    assert (second.target, second.descriptor, second.extended_descriptor) == (None, None, None)
    assert (second.descriptor_register, second.extended_register) == ("a0.2", "a0.4")
    assert result[2].message is None
    assert third is not None
    assert (third.descriptor, third.extended_descriptor) == (None, None)
    assert (third.descriptor_register, third.extended_register) == ("s0.16", None)


def test_scoreboard_bits_read_as_assembly_has_them() -> None:
    assert Swsb.unpack(0) is None
    assert str(Swsb.unpack(3 | 2 << 4)) == "F@2"
    assert str(Swsb.unpack(1 | 1 << 4 | 3 << 12 | 5 << 16)) == "@1,$5.dst"
    assert str(Swsb.unpack(1 << 12 | 0 << 16)) == "$0"
    assert str(Swsb.unpack(1 << 24)) == "NoAccSBSet"


def test_branches_lead_to_their_targets() -> None:
    label = (0, 0, LABEL_OPERAND, 0, 0)
    result = instructions(
        record(0, opcode=GOTO, flags=LABEL, sources=(label, label), targets=(96, 32)),
        record(16, opcode=GOTO, flags=LABEL, sources=(label, label), targets=(32, 32)),
        record(32, opcode=MOV),
    )
    assert result[0].targets == (96, 32)
    assert result[1].targets == (32,)
    assert result[2].targets == ()
    assert result.targets == (32, 96)
    assert str(result[0].sources[0]) == "label"


def test_calls_show_where_functions_begin() -> None:
    result = instructions(
        record(0, 16, LABEL, CALL, targets=(64,)),
        record(16, 16, LABEL, GOTO, targets=(32, 48)),
        record(32, 16, LABEL, CALL, targets=(48,)),
        record(48, 16, opcode=CALL),
    )
    assert result.called == (48, 64)


def test_the_set_up_ends_where_the_control_register_is_written() -> None:
    control = record(32, 16, opcode=OR, destination=(0, 0, DIRECT, CONTROL, DWORD))
    before = record(0, 16, opcode=MOV), record(16, 16, opcode=OR, destination=(3, 0, DIRECT, GENERAL, DWORD))
    result = instructions(*before, control, record(48, 16, opcode=ADD))
    assert [result.set_up_end(start) for start in (0, 16, 32)] == [3, 3, 3]
    assert result.set_up_end(48) == 3, "what is behind the loads alone"
    assert instructions(*before).set_up_end(16) == 1
    branch = record(16, 16, LABEL, GOTO, targets=(32,))
    assert instructions(before[0], branch, control).set_up_end(0) == 0, "control may leave before it"


def test_texts_are_rendered_once_and_only_when_asked_for() -> None:
    calls: list[int] = []

    def render() -> list[str]:
        calls.append(1)
        return texts(2)

    result = IntelInstructions(record(0) + record(16), MNEMONICS, render)
    first = result[0]
    assert calls == []
    assert (first.text, result[1].text, result.texts) == ("text 0", "text 1", ["text 0", "text 1"])
    assert calls == [1]


def test_indexes_and_slices() -> None:
    result = instructions(*(record(16 * index, opcode=MOV) for index in range(6)))
    assert result[-1].offset == 80
    for wrong in (6, -7):
        with pytest.raises(IndexError):
            result[wrong]
    assert list(result[2:4].offsets) == [32, 48]
    assert result[2:4].texts == ["text 2", "text 3"]
    assert list(result[::-2].offsets) == [80, 48, 16]
    assert result[::-2].texts == ["text 5", "text 3", "text 1"]
    assert result[::-2][0].text == "text 5"
    assert len(result[4:2]) == 0


def test_at_an_offset() -> None:
    result = instructions(record(0, 16), record(16, 8, COMPACTED), record(24, 16))
    at = [result.at(offset) for offset in (0, 15, 16, 23, 24, 39, 40, -1)]
    assert [None if place is None else place.index for place in at] == [0, 0, 1, 1, 2, 2, None, None]


def test_a_torn_record_is_refused() -> None:
    with pytest.raises(ValueError, match="whole number"):
        IntelInstructions(record()[:-1], MNEMONICS, list)


def test_operands_are_read_only_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    code = instructions(record(0, 16, opcode=MOV), record(16, 8, COMPACTED, ADD))
    whole = [code[0], code[1]]
    assert [each.sources for each in whole] == [(), ()]

    def refuse(*words: object) -> None:
        raise AssertionError("nobody has asked for operands")

    monkeypatch.setattr("kernlens.model.intel_instructions.read_operands", refuse)
    plain = [code[0], code[1]]
    assert [(each.index, each.offset, each.size, each.opcode, each.text) for each in plain] == [
        (0, 0, 16, "mov", "text 0"),
        (1, 16, 8, "add", "text 1"),
    ]
    with pytest.raises(AssertionError, match="nobody has asked"):
        _ = plain[0].targets
    monkeypatch.undo()
    assert plain == whole
    assert hash(plain[1]) == hash(whole[1])
    assert replace(plain[0], offset=8).sources == ()
    assert [each.opcode for each in code] == ["mov", "add"]
    with pytest.raises(AttributeError, match="no attribute 'operand'"):
        _ = plain[0].operand  # type: ignore[attr-defined]
