"""The in-order pipe in which each instruction runs, and the pipe in which its scoreboard's distance counts.

Source: how Intel's compiler and assembler tell an instruction's pipe (IGC's ``visa/G4_IR.cpp``, ``RegDeps.cpp`` of
libiga64). They differ on ``nop`` and ``halt`` alone; here these run in no pipe, as for the compiler. What a distance
without a letter means: ``getDataTypePipeXe`` of ``SWSB_G4IR.cpp``, and Mesa's ``brw_lower_scoreboard.cpp``. What the
compiler inserts for Xe-HPC after it has counted: ``insertPVCWA`` of ``SWSB_G4IR.cpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kernlens.isa.intel.device_table import XE3, XE3P, XE_HP, XE_HPC, XE_HPG, XE_LP
from kernlens.isa.intel.operand_places import SCALAR_FILE
from kernlens.model.instruction_record import OPCODE_AT, RECORD_SIZE, TYPES_AT, read_operands, read_record, read_values
from kernlens.model.operand import FLOAT_TYPES, IMMEDIATE, Swsb, type_number
from kernlens.model.pipes import Distance, Pipes

_FLOAT, _INTEGER, _LONG, _MATH, _SCALAR = "FILMS"
#: Xe-LP has one pipe, and names none.
_ONLY = "A"

_OUT_OF_ORDER = ("send", "dpas", "bdpas")
_IN_NO_PIPE = frozenset({"sync", "nop", "halt", "wait", "illegal", ""})
_BRANCHES = frozenset(
    {"jmpi", "if", "else", "endif", "while", "break", "cont", "goto", "join", "brc", "brd", "call", "calla", "ret"}
)
_DOUBLE = type_number("df")
_LONG_INTEGERS = frozenset(map(type_number, ("q", "uq")))
_UNCONVERTED = frozenset(map(type_number, ("f", "hf", "bf")))
#: The number of the null register's file, and the constant of ``insertDummyImmMov``.
_NULL, _INSERTED = 1, 0x30433
_FILE_AT, _KIND_AT = TYPES_AT[0] - 1, TYPES_AT[1] - 2


def pipes_of(records: memoryview, mnemonics: Sequence[str], platform: int) -> Pipes | None:
    """Return the pipes of packed records; None before Xe, where the hardware alone knows who waits for whom."""
    if platform < XE_LP:
        return None

    @lru_cache(None)
    def own(opcode: int, file: int, kind: int, *types: int) -> str:
        return _pipe(mnemonics[opcode], platform, file == SCALAR_FILE and kind == IMMEDIATE, types)

    opcodes = records.cast("H")[OPCODE_AT // 2 :: RECORD_SIZE // 2].tolist()
    columns = (records[at::RECORD_SIZE].tolist() for at in (_FILE_AT, _KIND_AT, *TYPES_AT))
    distances = {
        index: Distance(swsb.distance, _awaited(swsb.pipe, records, index, platform))
        for index, swsb in enumerate(Swsb.of_records(records))
        if swsb is not None and swsb.distance
    }
    pipes = list(map(own, opcodes, *columns))
    uncounted = _uncounted(records, opcodes, mnemonics) if platform == XE_HPC else frozenset()
    return Pipes(pipes, distances, uncounted)


def _uncounted(records: memoryview, opcodes: Sequence[int], mnemonics: Sequence[str]) -> frozenset[int]:
    """Return the moves to nowhere by which Intel's compiler reads what the last messages read, once it has counted
    distances: one of its own constant, those of one or two registers, and a sync that waits for these."""
    files = records[_FILE_AT::RECORD_SIZE].tolist()
    rows: set[int] = set()
    for row, (opcode, file) in enumerate(zip(opcodes, files, strict=True)):
        if file == _NULL and mnemonics[opcode] == "mov":
            kind = records[row * RECORD_SIZE + _KIND_AT]
            is_first = kind == IMMEDIATE and read_values(records, row)[0] == _INSERTED
            if is_first or (kind != IMMEDIATE and row - 1 in rows):
                rows.add(row)
    return frozenset(rows)


def _pipe(mnemonic: str, platform: int, is_scalar: bool, types: tuple[int, ...]) -> str:
    """Return the letter of the pipe. ``types`` are those of the destination and the sources, 0 where there is none;
    ``is_scalar``: an immediate goes to the scalar register."""
    if mnemonic in _IN_NO_PIPE or mnemonic.startswith(_OUT_OF_ORDER):
        return ""
    if mnemonic == "math":
        return _MATH if platform >= XE_HPC else ""
    if platform < XE_HP:
        return _ONLY
    if mnemonic in _BRANCHES:
        return _INTEGER
    if platform < XE_HPC:
        if platform == XE_HPG and _DOUBLE in types:
            return ""  # Meteor Lake and Arrow Lake: their math unit does doubles, out of order. Arc has none.
        if _DOUBLE in types or not _LONG_INTEGERS.isdisjoint(types):
            return _LONG
    destination, first, *_ = types
    if platform >= XE3 and mnemonic == "mov" and is_scalar:
        return _SCALAR
    if platform >= XE3P and destination != _DOUBLE:  # Conversions are the integer pipe's.
        is_copy = destination == first and destination in _UNCONVERTED
        if mnemonic == "srnd" or (mnemonic == "mov" and not is_copy):
            return _INTEGER
    return _pipe_of_type(destination or first, platform)


def _pipe_of_type(number: int, platform: int) -> str:
    if number == _DOUBLE or (platform < XE_HPC and number in _LONG_INTEGERS):
        return _LONG
    return _FLOAT if number in FLOAT_TYPES else _INTEGER


def _awaited(letter: str, records: memoryview, index: int, platform: int) -> str:
    if platform < XE_HP:
        return _ONLY
    if letter == "A":
        every = _FLOAT + _INTEGER + _LONG
        return every + (_MATH if platform >= XE_HPC else "") + (_SCALAR if platform >= XE3 else "")
    if letter:
        return letter
    # Without a letter: those of the types that it reads from registers.
    sources = read_operands(records, index, 1 + read_record(records, index).source_count)[1:]
    pipes = (_pipe_of_type(source.type, platform) for source in sources if source.kind != IMMEDIATE)
    return "".join(dict.fromkeys(pipes))
