"""The frame descriptions of edited code: where they begin, how much code they are for, and the places within it.

Source: DWARF version 5 (and 4), section 6.4 "Call Frame Information", 7.24.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernlens.formats.dwarf.debug_copy import DebugCopy
from kernlens.formats.dwarf.forms import malformed, read_initial_length, read_string, read_unsigned
from kernlens.model.code_moves import CodeMoves

_FRAME = ".debug_frame"
_NOP, _SET_LOC, _ADVANCE_1, _ADVANCE_2, _ADVANCE_4 = range(5)
#: Opcode -> its operands: u an LEB128 number, b a block.
_OPERANDS = {
    0x05: "uu", 0x06: "u", 0x07: "u", 0x08: "u", 0x09: "uu", 0x0A: "", 0x0B: "", 0x0C: "uu", 0x0D: "u", 0x0E: "u",
    0x0F: "b", 0x10: "ub", 0x11: "uu", 0x12: "uu", 0x13: "u", 0x14: "uu", 0x15: "uu", 0x16: "ub",
}  # fmt: skip


class FrameEntry(NamedTuple):
    """An entry of .debug_frame, of code: where its address stands, its size in bytes, where its instructions begin and end,
    how many bytes its unit of code has, and the symbol of its address (None without one)."""

    start: int
    address_at: int
    address_size: int
    instructions: int
    end: int
    factor: int
    symbol: int | None


def frame_entries(copy: DebugCopy) -> list[FrameEntry]:
    """Return the entries of code, in order. Raises FormatError for damaged ones."""
    try:
        return list(_entries(copy))
    except (IndexError, struct.error):
        raise malformed("the section ends within an entry", _FRAME) from None


def _entries(copy: DebugCopy) -> Iterator[FrameEntry]:
    buffer = bytes(copy.contents.get(_FRAME, b""))
    position = 0
    while position < len(buffer):
        length, offset_size, body = read_initial_length(buffer, position)
        end = body + length
        if length == 0:
            position = end
            continue
        if end > len(buffer):
            raise malformed("an entry reaches beyond the section's end", _FRAME, position)
        pointer = copy.number(_FRAME, body, offset_size)
        if pointer != (1 << 8 * offset_size) - 1:
            address_size, factor = _common(buffer, pointer)
            at = body + offset_size
            symbol = copy.symbol_at(_FRAME, at)
            if at + 2 * address_size > end:
                raise malformed("an entry is too short", _FRAME, position)
            yield FrameEntry(position, at, address_size, at + 2 * address_size, end, factor, symbol)
        position = end


def _common(buffer: bytes, position: int) -> tuple[int, int]:
    """Return the size of addresses, and the code alignment factor, of the common entry at ``position``."""
    _, offset_size, body = read_initial_length(buffer, position)
    version = buffer[body + offset_size]
    augmentation, at = read_string(buffer, body + offset_size + 1, _FRAME)
    if augmentation:
        raise malformed(f"an entry with the augmentation {augmentation!r} cannot be moved", _FRAME, position)
    size = 8
    if version >= 4:
        size = buffer[at]
        at += 2
    factor, _ = read_unsigned(buffer, at)
    if size not in (4, 8) or factor == 0:
        raise malformed("an entry has no addresses that code can have", _FRAME, position)
    return size, factor


def move_frames(copy: DebugCopy, entries: Sequence[FrameEntry]) -> None:
    """Move these entries, which describe the edited code. Raises FormatError for a damaged one, or unknown operations."""
    growths: list[tuple[int, int]] = []
    for entry in reversed(entries):  # So that the offsets of those before stay.
        size, moves = entry.address_size, copy.moves
        low = copy.number(_FRAME, entry.address_at, size)
        length = copy.number(_FRAME, entry.address_at + size, size)
        try:
            instructions = _moved(copy, entry, low)
        except IndexError:
            raise malformed("an entry ends within an operation", _FRAME, entry.start) from None
        copy.store(_FRAME, entry.address_at, size, moves.boundary(low))
        copy.store(_FRAME, entry.address_at + size, size, moves.boundary(low + length) - moves.boundary(low))
        room = entry.end - entry.instructions
        more = max(0, len(instructions) - room)
        padded = instructions + bytes([_NOP]) * ((room + -(-more // size) * size) - len(instructions))
        if padded != bytes(copy.contents[_FRAME][entry.instructions : entry.end]):
            grown = copy.splice(_FRAME, entry.instructions, entry.end, padded, [])
            if grown:
                _lengthen(copy, entry.start, grown)
                growths.append((entry.end, grown))
    if growths:
        _move_pointers(copy, growths)


def _lengthen(copy: DebugCopy, start: int, grown: int) -> None:
    content = copy.contents[_FRAME]
    length, size, behind = read_initial_length(bytes(content[start : start + 12]), 0)
    at = start + behind - size
    content[at : at + size] = (length + grown).to_bytes(size, "little")


def _move_pointers(copy: DebugCopy, growths: Sequence[tuple[int, int]]) -> None:
    """Let the entries of code point to where their common entries are now. ``growths``: old ends, and by how much they grew."""
    buffer = bytes(copy.contents[_FRAME])
    position = 0
    while position < len(buffer):
        length, size, body = read_initial_length(buffer, position)
        pointer = copy.number(_FRAME, body, size) if length else (1 << 8 * size) - 1
        if pointer != (1 << 8 * size) - 1:
            moved = pointer + sum(grown for end, grown in growths if end <= pointer)
            if moved != pointer:
                copy.store(_FRAME, body, size, moved)
        position = body + length


def _moved(copy: DebugCopy, entry: FrameEntry, low: int) -> bytes:
    """Return an entry's operations for the edited code."""
    buffer = bytes(copy.contents[_FRAME][: entry.end])
    position, place, moves = entry.instructions, low, copy.moves
    result = bytearray()
    while position < entry.end:
        opcode = buffer[position]
        start, position = position, position + 1
        advance = None
        if opcode & 0xC0 == 0x40:
            advance = opcode & 0x3F
        elif opcode in (_ADVANCE_1, _ADVANCE_2, _ADVANCE_4):
            size = 1 << (opcode - _ADVANCE_1)
            advance = int.from_bytes(buffer[position : position + size], "little")
            position += size
        elif opcode & 0xC0 == 0x80:
            _, position = read_unsigned(buffer, position)
        elif opcode == _SET_LOC:
            raise malformed("an entry with DW_CFA_set_loc cannot be moved", _FRAME, start)
        elif opcode == _NOP:
            continue  # There are as many at the end as it takes.
        elif opcode & 0xC0 == 0:
            position = _behind_operands(buffer, position, opcode, start)
        if advance is None:
            result += buffer[start:position]
        else:
            after = place + advance * entry.factor
            result += _advance(moves, place, after, entry.factor)
            place = after
    return bytes(result)


def _behind_operands(buffer: bytes, position: int, opcode: int, start: int) -> int:
    operands = _OPERANDS.get(opcode)
    if operands is None:
        raise malformed(f"operation {opcode:#x} of an entry cannot be moved", _FRAME, start)
    for operand in operands:
        number, position = read_unsigned(buffer, position)
        position += number if operand == "b" else 0
    return position


def _advance(moves: CodeMoves, before: int, after: int, factor: int) -> bytes:
    amount = (moves.boundary(after) - moves.boundary(before)) // factor
    if amount < 0x40:
        return bytes([0x40 | amount]) if amount else b""
    for opcode, size in ((_ADVANCE_1, 1), (_ADVANCE_2, 2), (_ADVANCE_4, 4)):
        if amount < 1 << 8 * size:
            return bytes([opcode]) + amount.to_bytes(size, "little")
    raise malformed("an entry of more code than 32 bits count", _FRAME)
