"""A line program for edited code: each instruction that stayed keeps its row, wherever it is now.

Source: DWARF version 5, section 6.2.5 "The Line Number Program"; its opcodes are those of versions 3 and 4.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernlens.formats.dwarf.debug_copy import DebugCopy, signed, unsigned
from kernlens.formats.dwarf.forms import malformed, read_initial_length, read_signed, read_unsigned
from kernlens.formats.dwarf.line_header import LineHeader
from kernlens.model.code_moves import CodeMoves

_LINE = ".debug_line"
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN, _NEGATE, _BLOCK, _CONST_ADD, _FIXED_ADVANCE = range(1, 10)
_PROLOGUE_END, _EPILOGUE_BEGIN, _SET_ISA = 10, 11, 12
_END_SEQUENCE, _SET_ADDRESS, _DEFINE_FILE, _SET_DISCRIMINATOR = 1, 2, 3, 4


class _Row(NamedTuple):
    """A row: its address, what it says of it, and the marks that hold for this row alone."""

    address: int
    file: int
    line: int
    column: int
    is_stmt: bool
    isa: int
    discriminator: int
    marks: tuple[int, ...]

    @property
    def place(self) -> tuple[int, int, int, bool, int, int]:
        return self[1:7]


class _Sequence(NamedTuple):
    """The rows up to an end of sequence. ``operand`` is where its first address stands in the section, None for none."""

    rows: list[_Row]
    end: int
    operand: int | None


def move_line_program(copy: DebugCopy, start: int, header: LineHeader) -> int:
    """Put another program in the place of the one that begins at ``start`` of .debug_line, for the edited code. Returns by
    how many bytes what follows it has moved. Raises FormatError for a damaged one, or opcodes that are unknown."""
    buffer = copy.contents[_LINE]
    try:
        sequences = list(_run(copy, header))
    except IndexError:
        raise malformed("the line program ends within an opcode", _LINE, header.program) from None
    program = bytearray()
    sites: list[tuple[int, int]] = []
    values: list[tuple[int, int]] = []
    for sequence in sequences:
        content, address = _written(sequence, copy.moves, header)
        if sequence.operand is not None:
            # The operand stands behind the zero, the size and the opcode.
            sites.append((sequence.operand, len(program) + 3))
            values.append((len(program) + 3, address))
        program += content
    grown = copy.splice(_LINE, header.program, header.end, bytes(program), sites)
    for position, address in values:
        copy.store(_LINE, header.program + position, header.address_size, address)
    length, offset_size, behind = read_initial_length(bytes(buffer[start : start + 12]), 0)
    at = start + behind - offset_size
    copy.contents[_LINE][at : at + offset_size] = (length + grown).to_bytes(offset_size, "little")
    return grown


def _run(copy: DebugCopy, header: LineHeader) -> Iterator[_Sequence]:
    """Yield the sequences of a program."""
    buffer = bytes(copy.contents[_LINE])
    position = header.program
    fresh = _Row(0, 1, 1, 0, header.default_is_stmt, 0, 0, ())
    row, rows, operand = fresh, list[_Row](), None
    while position < header.end:
        opcode = buffer[position]
        position += 1
        if opcode >= header.opcode_base or opcode == _COPY:
            row = row if opcode == _COPY else _stepped(row, opcode, header)
            rows.append(row)
            row = row._replace(discriminator=0, marks=())
        elif opcode == 0:
            length, position = read_unsigned(buffer, position)
            end = position + length
            if length == 0 or end > header.end:
                raise malformed("an extended opcode reaches beyond the line program", _LINE, position)
            kind = buffer[position]
            if kind == _END_SEQUENCE:
                yield _Sequence(rows, row.address, operand)
                row, rows, operand = fresh, [], None
            elif kind == _SET_ADDRESS and length - 1 == header.address_size:
                operand = position + 1 if operand is None else operand
                row = row._replace(address=copy.number(_LINE, position + 1, length - 1))
            elif kind == _SET_DISCRIMINATOR:
                row = row._replace(discriminator=read_unsigned(buffer, position + 1)[0])
            else:
                raise malformed(f"extended opcode {kind} of a line program cannot be moved", _LINE, position)
            position = end
        else:
            row, position = _after_standard(row, opcode, buffer, position, header)
    if rows:
        raise malformed("the line program ends within a sequence", _LINE, header.end)


def _stepped(row: _Row, opcode: int, header: LineHeader) -> _Row:
    """Return the row behind a special opcode."""
    steps, line = divmod(opcode - header.opcode_base, header.line_range)
    address = row.address + steps * header.minimum_instruction_length
    return row._replace(address=address, line=row.line + header.line_base + line)


def _after_standard(row: _Row, opcode: int, buffer: bytes, position: int, header: LineHeader) -> tuple[_Row, int]:
    """Return the row behind a standard opcode that makes none, whose operands are at the position, and what follows these."""
    if opcode == _NEGATE:
        return row._replace(is_stmt=not row.is_stmt), position
    if opcode == _CONST_ADD:
        return row._replace(address=_stepped(row, 255, header).address), position
    if opcode == _FIXED_ADVANCE:
        amount = int.from_bytes(buffer[position : position + 2], "little")
        return row._replace(address=row.address + amount), position + 2
    if opcode in (_BLOCK, _PROLOGUE_END, _EPILOGUE_BEGIN):
        return row if opcode in row.marks else row._replace(marks=(*row.marks, opcode)), position
    if opcode == _ADVANCE_LINE:
        amount, position = read_signed(buffer, position)
        return row._replace(line=row.line + amount), position
    if opcode == _ADVANCE_PC:
        amount, position = read_unsigned(buffer, position)
        return row._replace(address=row.address + amount * header.minimum_instruction_length), position
    if opcode not in (_SET_FILE, _SET_COLUMN, _SET_ISA):
        raise malformed(f"opcode {opcode} of a line program cannot be moved", _LINE, position - 1)
    number, position = read_unsigned(buffer, position)
    if opcode == _SET_FILE:
        return row._replace(file=number), position
    return (row._replace(column=number) if opcode == _SET_COLUMN else row._replace(isa=number)), position


def _written(sequence: _Sequence, moves: CodeMoves, header: LineHeader) -> tuple[bytes, int]:
    """Return a sequence for the edited code, and the address that it begins at."""
    first = sequence.rows[0].address if sequence.rows else sequence.end
    begin, end = moves.boundary(first), moves.boundary(sequence.end)
    writer = _Writer(header, begin, sequence.operand is not None)
    for row in _moved_rows(sequence, moves, begin, end):
        writer.row(row)
    writer.end(end)
    return bytes(writer.program), begin


def _moved_rows(sequence: _Sequence, moves: CodeMoves, begin: int, end: int) -> Iterator[_Row]:
    """Yield the rows of the instructions from ``begin`` to ``end``, in their new order; what is new has line 0."""
    addresses = [row.address for row in sequence.rows]
    if any(before > after for before, after in itertools.pairwise(addresses)):
        raise malformed("the rows of a sequence go backwards", _LINE)
    latest: tuple[int, int, int, bool, int, int] | None = None
    for new, origin in enumerate(moves.origins):
        offset = moves.new_offsets[new]
        if not begin <= offset < end:
            continue
        own = [] if origin is None else _rows_of(sequence.rows, addresses, moves.old_offsets[origin], sequence.end)
        if origin is not None and own:
            size = moves.new_offsets[new + 1] - offset
            starts = moves.old_offsets[origin]
            for row in own:
                is_begun_here = row.address >= starts
                if is_begun_here or row.place != latest:
                    inside = min(max(0, row.address - starts), size - 1)
                    yield row._replace(address=offset + inside, marks=row.marks if is_begun_here else ())
                    latest = row.place
        elif latest is not None and latest[1] != 0:
            file, _, _, is_stmt, isa, _ = latest
            latest = file, 0, 0, is_stmt, isa, 0
            yield _Row(offset, *latest, marks=())


def _rows_of(rows: Sequence[_Row], addresses: Sequence[int], offset: int, end: int) -> Sequence[_Row]:
    """Return the rows that begin at an old instruction; without any, the one that holds there."""
    if not addresses or offset >= end:
        return ()
    after = bisect_right(addresses, offset)
    at = after
    while at > 0 and addresses[at - 1] == offset:
        at -= 1
    return rows[at:after] if at < after else rows[max(0, after - 1) : after]


class _Writer:
    """The writer of a sequence."""

    def __init__(self, header: LineHeader, begin: int, has_address: bool) -> None:
        self._header = header
        self._row = _Row(begin, 1, 1, 0, header.default_is_stmt, 0, 0, ())
        self.program = bytearray()
        if has_address:
            size = header.address_size
            self.program += b"\0" + unsigned(size + 1) + bytes([_SET_ADDRESS]) + begin.to_bytes(size, "little")

    def row(self, row: _Row) -> None:
        """Add a row."""
        before, program = self._row, self.program
        self._advance(row.address)
        for opcode, old, new in (
            (_SET_FILE, before.file, row.file),
            (_SET_COLUMN, before.column, row.column),
            (_SET_ISA, before.isa, row.isa),
        ):
            if old != new:
                program += bytes([opcode]) + unsigned(new)
        if row.line != before.line:
            program += bytes([_ADVANCE_LINE]) + signed(row.line - before.line)
        if row.is_stmt != before.is_stmt:
            program.append(_NEGATE)
        if row.discriminator:
            number = unsigned(row.discriminator)
            program += b"\0" + unsigned(len(number) + 1) + bytes([_SET_DISCRIMINATOR]) + number
        program += bytes(row.marks)
        program.append(_COPY)
        self._row = row

    def end(self, address: int) -> None:
        """End the sequence at ``address``."""
        self._advance(address)
        self.program += bytes((0, 1, _END_SEQUENCE))

    def _advance(self, address: int) -> None:
        amount, step = address - self._row.address, self._header.minimum_instruction_length
        if amount:
            self.program += bytes([_ADVANCE_PC]) + unsigned(amount // step)
            self._row = self._row._replace(address=address)
