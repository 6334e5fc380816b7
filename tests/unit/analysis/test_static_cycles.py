"""The cycles in which rows issue, and whom they wait for, on records made by hand."""

from __future__ import annotations

import pytest

from kernlens.analysis.costs import cycles_of
from kernlens.analysis.flow.static_cycles import block_starts, waits_of
from kernlens.isa.devices import DEVICES, device
from kernlens.isa.intel.latencies import timings_of, unknown_reason
from kernlens.model.instruction_record import NO_REGION
from kernlens.model.intel_instructions import (
    DESCRIPTOR_IMMEDIATE,
    END_OF_THREAD,
    LABEL,
    SEND,
    SHARED_FUNCTIONS,
    IntelInstructions,
)
from kernlens.model.operand import type_number
from kernlens.model.waits import READ, TAKEN, WRITTEN, Timings, Wait
from tests.limits import processor_time
from tests.writers.instruction_records import DIRECT, IMMEDIATE, INDIRECT, NO_OPERAND, Operand, record
from tests.writers.instruction_records import LABEL as LABEL_OPERAND

MNEMONICS = ("", "mov", "add", "math", "send", "dpas", "goto", "join", "sync", "nop", "ret", "and", "mad")
_USES = {"": 1, "src": 2, "dst": 3}
PACKED, SCALAR, ADDRESSED, NONE = (
    bytes((8, 8, 1)),
    bytes((0, 1, 0)),
    bytes((31, 1, 0)),
    bytes((NO_REGION, NO_REGION, NO_REGION)),
)


def token(text: str) -> int:
    """``$3``, ``$3.dst``, ``$3.src``: as the decoder packs it."""
    number, _, use = text.removeprefix("$").partition(".")
    return _USES[use] << 12 | int(number) << 16 if text else 0


def code(*rows: bytes, regions: bytes | None = None) -> IntelInstructions:
    return IntelInstructions(b"".join(rows), MNEMONICS, list, find_regions=lambda: regions)


def row(number: int, mnemonic: str = "mov", scoreboard: str = "", target: int | None = None, flags: int = 0) -> bytes:
    sources: tuple[Operand, ...] = () if target is None else ((0, 0, LABEL_OPERAND, 0, 0),)
    return record(
        offset=16 * number,
        opcode=MNEMONICS.index(mnemonic),
        swsb=token(scoreboard),
        flags=flags | (0 if target is None else LABEL),
        sources=sources,
        targets=() if target is None else (16 * target,),
    )


def operand(kind: int, name: str) -> Operand:
    return 2, 0, kind, 18, type_number(name)


def test_a_row_waits_for_the_holder_of_its_token() -> None:
    instructions = code(
        row(0, "send", "$3"), row(1), row(2, "mov", "$3.src"), row(3, "mov", "$3.dst"), row(4, "mov", "$3.dst"),
        row(5, "send", "$3"), row(6, "send", "$3"), row(7, "mov", "$9.dst"),
    )  # fmt: skip
    timings = Timings(bytes([1, 2, 1, 1, 1, 1, 1, 1]), {0: 50, 5: 30, 6: 30}, {0: 10, 5: 10, 6: 10})
    waits = waits_of(instructions, timings, [0])
    assert waits.starts.tolist() == [0, 1, 10, 50, 51, 52, 82, 83]
    assert dict(waits.waits) == {
        2: Wait(2, 0, 7, READ),
        3: Wait(3, 0, 39, WRITTEN),  # Then the token is free, for row 4 and row 5.
        6: Wait(6, 5, 29, TAKEN),
    }
    assert (waits.issue_cycles, waits.wait_cycles, waits.wait_share) == (9, 75, 90)
    assert cycles_of(waits) == {"issue_cycles": timings.issue, "wait_cycles": [0, 0, 7, 39, 0, 0, 29, 0]}


def test_nothing_is_waited_for_at_the_start_of_a_block() -> None:
    instructions = code(row(0, "send", "$3"), row(1), row(2, "mov", "$3.dst"))
    waits = waits_of(instructions, Timings(bytes([1, 1, 1]), {0: 50}, {0: 10}), [0, 2])
    assert (waits.starts.tolist(), dict(waits.waits)) == ([0, 1, 0], {})
    assert waits.cycles == waits.issue_cycles == 3


def test_a_kernel_without_instructions_has_no_cycles() -> None:
    waits = waits_of(code(), Timings(b"", {}, {}), [])
    assert (waits.cycles, waits.wait_share, block_starts(code())) == (0, 0, [])


@pytest.mark.parametrize(
    ("rows", "starts"),
    [
        ([row(0), row(1, "goto", target=3), row(2), row(3, "join", target=4), row(4)], [0, 2, 3]),
        ([row(0), row(1, "join", target=3), row(2), row(3)], [0]),
        ([row(0), row(1, "ret"), row(2)], [0, 2]),
        ([row(0), row(1, "goto", target=99)], [0]),
        ([row(0, "nop"), row(1, "nop"), row(2), row(3, "send", flags=SEND | END_OF_THREAD)], [0, 2]),
        ([row(0), row(1, "send", flags=SEND | END_OF_THREAD), row(2, "nop"), row(3)], [0]),
    ],
)
def test_blocks_start_at_labels_and_behind_branches(rows: list[bytes], starts: list[int]) -> None:
    assert block_starts(code(*rows)) == starts


def test_functions_and_the_end_of_the_prologue_begin_blocks() -> None:
    assert block_starts(code(*map(row, range(9))), 32, [80, 96]) == [0, 2, 5, 6]


def test_many_blocks_and_tokens_are_counted_in_time() -> None:
    content = [row(number, "send", f"${number % 16}") for number in range(2000)] * 50
    instructions = code(*content)
    timings = Timings(bytes([1]) * len(content), dict.fromkeys(range(len(content)), 99), {})
    with processor_time(5):
        assert len(waits_of(instructions, timings, range(0, len(content), 2)).starts) == len(content)


@pytest.mark.parametrize(
    ("mnemonic", "lanes", "types", "kinds", "shape", "cycles"),
    [
        ("mov", 8, "f f", (DIRECT,), PACKED, 1),
        ("mov", 16, "f f", (DIRECT,), PACKED, 2),
        ("mov", 32, "f f", (DIRECT,), PACKED, 4),
        ("mov", 4, "q d", (DIRECT,), PACKED, 1),
        ("mov", 16, "df f", (DIRECT,), PACKED, 2),
        ("math", 16, "f f", (DIRECT,), PACKED, 8),
        ("math", 16, "hf hf", (DIRECT,), PACKED, 8),
        ("add", 16, "hf hf hf", (DIRECT, DIRECT), PACKED, 1),
        ("add", 32, "f hf hf", (DIRECT, IMMEDIATE), PACKED, 2),
        ("add", 8, "hf hf hf", (DIRECT, DIRECT), PACKED, 1),
        ("add", 16, "hf hf f", (DIRECT, DIRECT), PACKED, 2),
        ("add", 16, "hf hf hf", (DIRECT, DIRECT), SCALAR, 2),
        ("mov", 8, "f f", (INDIRECT,), ADDRESSED, 8),
        ("mov", 8, "f f", (INDIRECT,), PACKED, 1),
        ("add", 8, "f f", (INDIRECT,), ADDRESSED, 1),
    ],
)
def test_how_long_an_instruction_occupies_its_pipe(
    mnemonic: str, lanes: int, types: str, kinds: tuple[int, ...], shape: bytes, cycles: int
) -> None:
    destination, *sources = types.split()
    operands = tuple(operand(kind, name) for kind, name in zip(kinds, sources, strict=True))
    content = record(
        opcode=MNEMONICS.index(mnemonic),
        execution_size=lanes,
        destination=operand(DIRECT, destination),
        sources=operands,
    )
    instructions = code(content, regions=PACKED + shape * len(operands) + NONE * (3 - len(operands)))
    assert timings_of(instructions, device("dg2")).issue == bytes([cycles])


@pytest.mark.parametrize(
    ("target", "descriptor", "lanes", "name", "cycles"),
    [
        ("smpl", 0, 16, "dg2", 214),
        ("dc1", 0x03, 16, "tgllp", 146),
        ("dc0", 0xFE, 16, "tgllp", 28),
        ("dc0", 7 << 14 | 0xFE, 16, "tgllp", 23),
        ("dcro", 0xFE, 16, "tgllp", 146),
        ("slm", 0, 16, "dg2", 28),
        ("slm", 0, 32, "pvc", 45),
        ("slm", 0x1F, 1, "dg2", 23),
        ("ugm", 0, 16, "dg2", 200),
        ("ugm", 4 << 17, 16, "dg2", 45),  # cached in L1
        ("ugm", 4 << 17 | 4, 16, "dg2", 200),  # a store
        ("ugm", 6 << 16, 16, "bmg", 45),
        ("ugm", 3 << 17, 16, "dg2", 45),
        ("ugm", 10 << 16, 16, "bmg", 200),  # streamed
        ("ugm", 0x1F, 1, "dg2", 35),
        ("tgm", 0x1F, 1, "dg2", 35),
        ("gtwy", 4, 1, "dg2", 30),
        ("gtwy", 0, 1, "dg2", 50),
        ("rc", 0, 16, "dg2", 50),
    ],
)
def test_how_long_a_message_takes(target: str, descriptor: int, lanes: int, name: str, cycles: int) -> None:
    content = record(
        opcode=MNEMONICS.index("send"),
        flags=SEND,
        execution_size=lanes,
        sfid=SHARED_FUNCTIONS.index(target),
        descriptor_flags=DESCRIPTOR_IMMEDIATE,
        descriptor=descriptor,
        swsb=token("$1"),
        lengths=4 | 2 << 5 | 3 << 10,
    )
    timings = timings_of(code(content), device(name))
    assert (timings.written, timings.read) == ({0: cycles}, {0: 8 + 2 + 3})


@pytest.mark.parametrize(
    ("name", "by_repeat"),
    [
        ("xe-hp-sdv", {1: 21, 8: 28}), ("dg2", {1: 21, 2: 22, 8: 32}), ("pvc", {1: 22, 8: 29}),
        ("pvc-xl-a0p", {1: 21, 8: 28}), ("arl-h", {1: 21, 2: 22, 8: 46}), ("bmg", {1: 22, 2: 23, 8: 33}),
        ("ptl", {1: 22, 2: 23, 8: 33}),
    ],
)  # fmt: skip
def test_how_long_the_systolic_array_takes(name: str, by_repeat: dict[int, int]) -> None:
    for repeat, cycles in by_repeat.items():
        content = record(opcode=MNEMONICS.index("dpas"), function=8 << 8 | repeat, swsb=token("$1"))
        assert timings_of(code(content), device(name)).written == {0: cycles}


@pytest.mark.parametrize(
    ("mnemonic", "lanes", "file", "condition", "cycles"),
    [
        ("math", 8, 18, 0, 17), ("math", 16, 18, 0, 21), ("math", 32, 18, 0, 29),
        ("mad", 8, 18, 0, 10), ("mad", 16, 18, 0, 11), ("mad", 16, 3, 0, 7), ("mad", 16, 18, 1, 16), ("mov", 16, 18, 0, 10),
    ],
)  # fmt: skip
def test_how_long_out_of_order_arithmetic_takes(
    mnemonic: str, lanes: int, file: int, condition: int, cycles: int
) -> None:
    destination = (2, 0, DIRECT, file, type_number("df"))
    content = record(
        opcode=MNEMONICS.index(mnemonic),
        execution_size=lanes,
        condition=condition,
        destination=destination,
        sources=(NO_OPERAND,),
        swsb=token("$1"),
    )
    timings = timings_of(code(content), device("mtl"))
    assert timings.written == {0: cycles}
    assert timings.read == {0: timings.issue[0]}


def test_the_devices_whose_cycles_are_not_known() -> None:
    unknown = [each.name for each in DEVICES if unknown_reason(each)]
    assert unknown == [
        *("bdw", "skl", "kbl", "cfl", "apl", "glk", "whl", "aml", "cml", "icllp", "lkf", "ehl"),
        *("nvl-p", "cri"),
    ]
    assert unknown_reason(None) == "waits are unknown: kernlens does not support the device of this binary"
