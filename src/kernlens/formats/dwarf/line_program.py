"""The run of a line-number program: opcodes in, the columns of its rows out.

Source: DWARF version 5, section 6.2.5 "The Line Number Program"; its opcodes are those of versions 3 and 4. ``_run``
is one of the tool's hot loops: it is one function with local names on purpose, its cases ordered by how often an opcode
occurs, with opcodes as plain numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from operator import length_hint

from kernlens.dataclass import NamedTuple
from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.dwarf.line_header import LineHeader, read_file_4
from kernlens.model.line_table import END_SEQUENCE, IS_STMT, PROLOGUE_END, SourceFile

_LINE = ".debug_line"
_MASK = 0xFFFFFFFFFFFFFFFF
#: A longer LEB128 number is padding without end.
_MOST_BITS = 112
#: Opcodes that are run at a time: rows are packed before they take much memory.
_PIECE = 1 << 16
#: Rows that one program may make: a kernel has fewer rows than instructions, and 16 MB of code for so many.
_MOST_ROWS = 1_000_000

DW_LNE_END_SEQUENCE = 1
DW_LNE_SET_ADDRESS = 2
DW_LNE_DEFINE_FILE = 3
#: NVIDIA's: the rows behind it were inlined, see ``formats/cubin/inlined_rows.py``.
DW_LNE_INLINED_CALL = 0x90

#: The number of operands that the specification gives each standard opcode.
_KNOWN_LENGTHS = (0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)


class LineColumns(NamedTuple):
    """The rows of one program, one array per column, and the files that the program itself defined (DWARF 4).

    ``inlined_calls`` are the operands of DW_LNE_INLINED_CALL, each with the first row behind it."""

    offsets: array[int]
    files_of: array[int]
    lines: array[int]
    columns: array[int]
    flags: array[int]
    defined_files: tuple[SourceFile, ...]
    inlined_calls: tuple[tuple[int, int, int], ...] = ()


@lru_cache(maxsize=64)
def _advances(opcode_base: int, line_base: int, line_range: int, minimum_length: int) -> tuple[list[int], list[int]]:
    """Return what each special opcode adds to the address and to the line, by opcode; 0 for the others."""
    addresses, lines = [0] * 256, [0] * 256
    for opcode in range(opcode_base, 256):
        steps, line = divmod(opcode - opcode_base, line_range)
        addresses[opcode], lines[opcode] = steps * minimum_length, line_base + line
    return addresses, lines


def run_line_program(buffer: bytes, header: LineHeader, code_offset: Callable[[int], int]) -> LineColumns:
    """Run the program that ``header`` describes; ``code_offset`` turns an address into an offset in the kernel. Raises
    FormatError for a program that ends within an opcode and for rows outside what 32 bits can hold."""
    if header.standard_opcode_lengths[: len(_KNOWN_LENGTHS)] != _KNOWN_LENGTHS[: header.opcode_base]:
        raise malformed("standard opcodes with other operands than the specification gives", _LINE, header.program)
    try:
        return _run(buffer[header.program : header.end], header, code_offset)
    except StopIteration:
        raise malformed("the line program ends within an opcode", _LINE, header.end) from None
    except OverflowError:
        raise malformed("a row's address or line has more than 32 bits", _LINE, header.program) from None


def _run(program: bytes, header: LineHeader, code_offset: Callable[[int], int]) -> LineColumns:
    opcode_base, minimum_length = header.opcode_base, header.minimum_instruction_length
    address_advance, line_advance = _advances(opcode_base, header.line_base, header.line_range, minimum_length)
    constant_advance = (255 - opcode_base) // header.line_range * minimum_length
    initial_flags = IS_STMT if header.default_is_stmt else 0
    rows = _Rows(header.program)
    row_values: list[int] = []
    emit = row_values.extend
    address, file, line, column, flags = 0, 1, 1, 0, initial_flags
    # An iterator costs less than an index: opcodes are taken by the loop, their operands by next().
    rest = iter(program)
    while length_hint(rest):
        for opcode in islice(rest, _PIECE):
            if opcode >= opcode_base:
                address += address_advance[opcode]
                line += line_advance[opcode]
                emit((address, file, line, column, flags))
            elif opcode == 5:  # DW_LNS_set_column
                column = next(rest)
                if column >= 0x80:
                    column = _unsigned(column, rest)
            elif opcode == 6:  # DW_LNS_negate_stmt
                flags ^= IS_STMT
            elif opcode == 8:  # DW_LNS_const_add_pc
                address += constant_advance
            elif opcode == 3:  # DW_LNS_advance_line
                advance = next(rest)
                if advance >= 0x80:
                    advance = _signed(advance, rest)
                elif advance >= 0x40:
                    advance -= 0x80
                line = line + advance & 0xFFFFFFFF
            elif opcode == 2:  # DW_LNS_advance_pc
                advance = next(rest)
                if advance >= 0x80:
                    advance = _unsigned(advance, rest)
                address = address + advance * minimum_length & _MASK
            elif opcode == 1:  # DW_LNS_copy
                emit((address, file, line, column, flags))
            elif opcode == 4:  # DW_LNS_set_file
                file = _unsigned(next(rest), rest)
            elif opcode == 10:  # DW_LNS_set_prologue_end
                rows.mark_prologue_end(len(row_values))
            elif opcode == 0:
                extended = _extended(program, header, rest)
                kind = extended[0] if extended else 0
                if kind == DW_LNE_END_SEQUENCE:
                    emit((address, file, line, column, flags | END_SEQUENCE))
                    address, file, line, column, flags = 0, 1, 1, 0, initial_flags
                elif kind == DW_LNE_SET_ADDRESS:
                    address = code_offset(int.from_bytes(extended[1:9], "little"))
                else:
                    rows.note(kind, extended, len(row_values))
            elif opcode == 9:  # DW_LNS_fixed_advance_pc
                address += next(rest) | next(rest) << 8
            else:  # basic block, epilogue, isa, and opcodes of later versions: rows keep nothing of them
                for _ in range(header.standard_opcode_lengths[opcode]):
                    _unsigned(next(rest), rest)
        rows.pack(row_values)
    return rows.columns()


def _unsigned(first: int, rest: Iterator[int]) -> int:
    """Return an unsigned LEB128 number that begins with the byte ``first``."""
    return _number(first, rest)[0]


def _signed(first: int, rest: Iterator[int]) -> int:
    """Return a signed LEB128 number that begins with the byte ``first``, which is not its last."""
    value, bits = _number(first, rest)
    return value - (1 << bits) if value >> bits - 1 else value


def _number(first: int, rest: Iterator[int]) -> tuple[int, int]:
    """Return the number without sign, and how many bits it has."""
    value, shift, byte = first & 0x7F, 7, first
    while byte >= 0x80:
        byte = next(rest)
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > _MOST_BITS:
            raise malformed("a LEB128 number has too many bytes", _LINE)
    return value, shift


def _extended(program: bytes, header: LineHeader, rest: Iterator[int]) -> bytes:
    """Return the bytes of an extended opcode: the opcode and its operands."""
    length = _unsigned(next(rest), rest)
    left = length_hint(rest)
    if length > left:
        offset = header.program + len(program) - left
        raise malformed("an extended opcode reaches beyond the line program", _LINE, offset)
    return bytes(islice(rest, length))


class _Rows:
    """The collector of rows, five numbers each, into columns."""

    def __init__(self, program: int) -> None:
        self._program = program
        self._columns = (array("I"), array("I"), array("I"), array("I"), array("B"))
        self._prologue_ends: list[int] = []
        self.defined_files: list[SourceFile] = []
        self._inlined_calls: list[tuple[int, int, int]] = []

    def mark_prologue_end(self, pending: int) -> None:
        """Let the next row end the prologue; ``pending`` numbers are not packed yet."""
        self._prologue_ends.append(len(self._columns[0]) + pending // 5)

    def note(self, kind: int, extended: bytes, pending: int) -> None:
        """Note what an extended opcode says that changes no row."""
        if kind == DW_LNE_DEFINE_FILE:
            self._define_file(extended)
        elif kind == DW_LNE_INLINED_CALL:
            self._mark_inlined_call(extended, pending)

    def _define_file(self, extended: bytes) -> None:
        """Add the file of DW_LNE_define_file: a file entry of version 4 behind the opcode's own byte."""
        try:
            self.defined_files.append(read_file_4(extended, 1, [""])[0])
        except IndexError:
            raise malformed("a file's definition is cut off", _LINE) from None

    def _mark_inlined_call(self, extended: bytes, pending: int) -> None:
        """Note the two operands of DW_LNE_INLINED_CALL, for the rows from the next one on."""
        operands = iter(extended[1:])
        try:
            context = _unsigned(next(operands), operands)
            name = _unsigned(next(operands), operands)
        except StopIteration:
            raise malformed("an inlined call's operands are cut off", _LINE) from None
        self._inlined_calls.append((len(self._columns[0]) + pending // 5, context, name))

    def pack(self, values: list[int]) -> None:
        packed = array("I", values)
        for index in range(4):
            self._columns[index].extend(packed[index::5])
        self._columns[4].frombytes(bytes(values[4::5]))
        values.clear()
        if len(self._columns[0]) > _MOST_ROWS:
            raise malformed(f"the line program makes more than {_MOST_ROWS:,} rows", _LINE, self._program)

    def columns(self) -> LineColumns:
        offsets, files_of, lines, columns, flags = self._columns
        for row in self._prologue_ends:
            if row < len(flags):
                flags[row] |= PROLOGUE_END
        return LineColumns(
            offsets, files_of, lines, columns, flags, tuple(self.defined_files), tuple(self._inlined_calls)
        )
