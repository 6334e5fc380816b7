"""In-order pipes, and whom distances wait for, on records made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kernlens.analysis.flow.distance_waits import distance_waits
from kernlens.isa.intel.device_table import GEN11, XE2, XE3, XE3P, XE_HP, XE_HPC, XE_HPG, XE_LP
from kernlens.isa.intel.effect_reader import effects_of
from kernlens.isa.intel.pipe_rules import pipes_of
from kernlens.model.instruction_record import RECORD_SIZE, REGIONS_SIZE
from kernlens.model.intel_instructions import END_OF_THREAD, LABEL, SEND, IntelInstructions
from kernlens.model.operand import type_number
from tests.limits import processor_time
from tests.writers.instruction_records import DIRECT, IMMEDIATE, NO_OPERAND, Operand, record
from tests.writers.instruction_records import LABEL as LABEL_OPERAND

MNEMONICS = (
    "",
    "mov",
    "add",
    "math",
    "send",
    "dpas",
    "goto",
    "join",
    "sync",
    "nop",
    "halt",
    "call",
    "ret",
    "srnd",
    "jmpi",
)
GENERAL, SCALAR = 18, 9
LETTERS = ("", "", "A", "F", "I", "L", "M", "S")
GENERATIONS = (XE_LP, XE_HP, XE_HPG, XE_HPC, XE2, XE3, XE3P)


def operand(name: str) -> Operand:
    """``f`` is a register of that type, ``#f`` an immediate, ``s:f`` the scalar register; empty: none."""
    if not name:
        return NO_OPERAND
    kind = IMMEDIATE if name[0] == "#" else DIRECT
    return 2, 0, kind, SCALAR if name.startswith("s:") else GENERAL, type_number(name.lstrip("#s:"))


def swsb(text: str) -> int:
    letter, _, distance = text.partition("@")
    return (LETTERS.index(letter, 1) | int(distance) << 4) if distance else 0


def written(code: str) -> list[bytes]:
    """``add f d f I@2``: a mnemonic, the types of destination and sources, a distance; ``goto >3``: to row 3; ``!``: the
    end of the thread."""
    records = []
    for row, line in enumerate(code.split(";")):
        mnemonic, *words = line.split()
        distance = next((word for word in words if "@" in word), "")
        target = next((int(word[1:]) for word in words if word[0] == ">"), None)
        types = [word for word in words if word[0] not in ">!?" and "@" not in word]
        destination, *sources = [operand(word) for word in types] or [NO_OPERAND]
        if target is not None:
            sources.append((0, 0, LABEL_OPERAND, 0, 0))
        flags = (LABEL if target is not None else 0) | (END_OF_THREAD if "!" in words else 0)
        flags |= SEND if mnemonic == "send" else 0
        records.append(
            record(
                offset=16 * row,
                opcode=MNEMONICS.index(mnemonic),
                flags=flags,
                predicate=int("?" in words),
                flag_register=0 if "?" in words else 0xFF,
                swsb=swsb(distance),
                destination=destination,
                sources=tuple(sources),
                targets=() if target is None else (16 * target,),
            )
        )
    return records


def instructions_of(records: Sequence[bytes], platform: int = XE_HPG) -> IntelInstructions:
    content = b"".join(records)
    regions = bytes(len(content) // RECORD_SIZE * REGIONS_SIZE)
    return IntelInstructions(
        content,
        MNEMONICS,
        list,
        find_effects=lambda: effects_of(content, regions, MNEMONICS, platform),
        find_pipes=lambda: pipes_of(memoryview(content), MNEMONICS, platform),
    )


@pytest.mark.parametrize(
    ("line", "pipes"),  # on Xe-LP, Xe-HP, Xe-HPG, Xe-HPC, Xe2, Xe3, Xe3P
    [
        ("mov f f", "A F F F F F F"),
        ("mov f d", "A F F F F F I"),
        ("mov d f", "A I I I I I I"),
        ("add hf f", "A F F F F F F"),
        ("add d #d", "A I I I I I I"),
        ("add q d", "A L L I I I I"),
        ("add d q", "A L L I I I I"),
        ("add f uq", "A L L F F F F"),
        ("add df f", "A L - L L L L"),
        ("add f df", "A L - F F F F"),
        ("mov df d", "A L - L L L L"),
        ("math f f", "- - - M M M M"),
        ("srnd hf f", "A F F F F F I"),
        ("mov s:ud #ud", "A I I I I S S"),
        ("mov s:ud ud", "A I I I I I I"),
        ("add s:ud #ud", "A I I I I I I"),
        ("goto >0", "A I I I I I I"),
        ("join >0", "A I I I I I I"),
        ("call ud >0", "A I I I I I I"),
        ("send ud ud", "- - - - - - -"),
        ("dpas f f bf bf", "- - - - - - -"),
        ("sync", "- - - - - - -"),
        ("nop", "- - - - - - -"),
        ("halt >0", "- - - - - - -"),
    ],
)
def test_instructions_issue_to_the_pipes_of_their_generation(line: str, pipes: str) -> None:
    result = (instructions_of(written(line), platform).pipes for platform in GENERATIONS)
    assert " ".join(item.own[0] or "-" for item in result if item is not None) == pipes


def test_pipes_that_a_distance_counts_in() -> None:
    def awaited(line: str) -> list[str]:
        result = (instructions_of(written(line), platform).pipes for platform in GENERATIONS)
        return [item.distances[0].pipes for item in result if item is not None]

    assert awaited("add f f A@1") == ["A", "FIL", "FIL", "FILM", "FILM", "FILMS", "FILMS"]
    assert awaited("add f f I@1") == ["A", *["I"] * 6]
    # Without a letter: those of what it reads from registers.
    assert awaited("add d f #d @1") == ["A", *["F"] * 6]
    assert awaited("add f q f @1") == ["A", "LF", "LF", "IF", "IF", "IF", "IF"]
    assert awaited("add f df @1") == ["A", *["L"] * 6]


def waits(code: str, platform: int = XE_HPG) -> dict[int, list[int]]:
    """The rows that wait for rows, and for which."""
    pairs = distance_waits(instructions_of(written(code), platform))
    return {wait.waiter: list(wait.producers) for wait in pairs if wait.producers}


def test_who_is_waited_for() -> None:
    code = "mov f f; mov d d; send ud ud; math f f; sync; mov f f"
    code += "; add f f F@2; add d d I@1; add f d A@1; add q q A@2; add f f @1"
    assert waits(code) == {6: [0], 7: [1], 8: [7, 6], 9: [6, 1], 10: [8]}
    assert waits(code, XE_LP) == {6: [1], 7: [6], 8: [7], 9: [7], 10: [9]}
    # An instruction does not wait for itself; where there are too few rows before, none is told, but that it waits is.
    assert waits("add f f F@1; add f f F@2; add f f L@1") == {}
    assert list(distance_waits(instructions_of(written("nop; add f f F@1; nop; add f f A@1")))) == [(1, []), (3, [1])]


def test_nothing_is_told_over_a_place_that_control_comes_to_from_elsewhere() -> None:
    # Row 3 is a target, of a lane or of the thread; row 2, behind a branch that may be passed, is none.
    assert waits("mov f f; goto ? >3; add f f F@1; add f f F@1; add f f F@1") == {2: [0], 4: [3]}
    # Behind a call its function ran; behind an end and an unconditional branch nothing falls through.
    for leaving in ("call ud >0", "ret ud", "goto >0", "send ud ud !"):
        assert waits(f"nop; mov f f; {leaving}; add f f F@1; add f f F@1") == {4: [3]}
    # A branch to wherever a register says.
    assert waits("mov f f; add f f F@1; jmpi ud") == {}


def test_nothing_is_told_where_nothing_is_known() -> None:
    assert waits("mov f f; add f f", GEN11) == {}
    assert instructions_of(written("mov f f"), GEN11).pipes is None
    assert list(distance_waits(IntelInstructions(record(), MNEMONICS, list))) == []
    assert instructions_of(written("mov f f; add f f F@1"))[:1].pipes is None


def test_time_is_linear() -> None:
    first, second = written("mov f f; add d f F@7")
    with processor_time(2):
        assert (
            sum(len(wait.producers) for wait in distance_waits(instructions_of([first, second] * 20_000))) == 20_000 - 6
        )


def test_what_the_compiler_inserts_after_it_has_counted_does_not_count() -> None:
    """IGC 2 on Xe-HPC: ``mov null 0x30433 {$8.src}``, ``mov null r2``, ``sync.nop {I@1}``, before what would overwrite r2."""
    null = (0, 0, DIRECT, 1, type_number("ud"))
    integer = operand("ud")

    def move(
        row: int, *, source: Operand, immediate: int = 0, destination: Operand = null, distance: str = ""
    ) -> bytes:
        return record(
            offset=16 * row,
            opcode=MNEMONICS.index("mov"),
            destination=destination,
            sources=(source,),
            immediate=immediate,
            swsb=swsb(distance),
        )

    def waits(platform: int, constant: int) -> dict[int, list[int]]:
        rows = [
            move(0, destination=integer, source=integer),
            move(1, destination=integer, source=integer),
            move(2, source=operand("#ud"), immediate=constant),
            move(3, source=integer),
            record(offset=64, opcode=MNEMONICS.index("sync"), swsb=swsb("I@1")),
            move(5, destination=integer, source=integer, distance="I@2"),
            # A move to nowhere that stands elsewhere is as any other.
            move(6, source=integer),
            move(7, destination=integer, source=integer, distance="I@1"),
        ]
        return {wait.waiter: list(wait.producers) for wait in distance_waits(instructions_of(rows, platform))}

    assert waits(XE_HPC, 0x30433) == {4: [3], 5: [0], 7: [6]}
    assert waits(XE_HPC, 0x1234) == {4: [3], 5: [2], 7: [6]}
    assert waits(XE2, 0x30433) == {4: [3], 5: [2], 7: [6]}
