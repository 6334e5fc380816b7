"""The writer of DWARF line programs and compile units in memory, so that a test shows the bytes it is about."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.writers.elf import ElfWriter, rela

LINE_BASE, LINE_RANGE, OPCODE_BASE = -5, 14, 13
OPERAND_COUNTS = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
R_ADDRESS, R_ADDRESS_32 = 1, 2

Row = tuple[int, int, int, int, bool]
"""(offset, file, line, column, is_stmt)"""


def uleb(value: int) -> bytes:
    """Encode unsigned LEB128."""
    encoded = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        encoded.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(encoded)


def sleb(value: int) -> bytes:
    """Encode signed LEB128."""
    encoded = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        done = (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40)
        encoded.append(byte | (0 if done else 0x80))
        if done:
            return bytes(encoded)


def set_address(address: int) -> bytes:
    """Return DW_LNE_set_address; the address begins 3 bytes in."""
    return b"\x00\x09\x02" + struct.pack("<Q", address)


END_SEQUENCE = b"\x00\x01\x01"


def special(steps: int, line: int) -> bytes:
    """Make the special opcode that adds ``steps`` to the address and ``line`` to the line."""
    opcode = (line - LINE_BASE) + LINE_RANGE * steps + OPCODE_BASE
    assert OPCODE_BASE <= opcode <= 255
    return bytes((opcode,))


def encode(rows: Sequence[Row], end: int, special_opcodes: bool = True) -> bytes:
    """Make a program that emits ``rows`` and then an end of sequence at ``end``; offsets ascend."""
    program = bytearray(set_address(rows[0][0] if rows else 0))
    address, file, line, column, stmt = rows[0][0] if rows else 0, 1, 1, 0, True
    for row in rows:
        if row[1] != file:
            program += b"\x04" + uleb(row[1])
        if row[3] != column:
            program += b"\x05" + uleb(row[3])
        if row[4] != stmt:
            program += b"\x06"
        steps, lines = row[0] - address, row[2] - line
        if special_opcodes and LINE_BASE <= lines < LINE_BASE + LINE_RANGE:
            if steps > 17:
                program += b"\x02" + uleb(steps)
                steps = 0
            elif lines - LINE_BASE + LINE_RANGE * steps + OPCODE_BASE > 255:
                program += b"\x08"  # adds what opcode 255 adds: 17
                if steps < 17:
                    program[-1:] = b"\x02" + uleb(steps)
                steps = max(steps - 17, 0) if program[-1] == 8 else 0
            program += special(steps, lines)
        else:
            program += b"\x03" + sleb(lines) + b"\x02" + uleb(steps) + b"\x01"
        address, file, line, column, stmt = row
    return bytes(program) + b"\x02" + uleb(end - address) + END_SEQUENCE


def line_unit_4(
    program: bytes,
    files: Sequence[tuple[str, int]] = (("k.cl", 0),),
    directories: Sequence[str] = (),
    minimum_length: int = 1,
    version: int = 4,
) -> bytes:
    """Make a line program of version 4 (2 and 3 lack one byte): ``files`` are (name, directory)."""
    tables = b"".join(name.encode() + b"\0" for name in directories) + b"\0"
    tables += b"".join(name.encode() + b"\0" + uleb(directory) + b"\0\0" for name, directory in files) + b"\0"
    operations = b"\x01" if version >= 4 else b""
    header = bytes((minimum_length,)) + operations + struct.pack("<BbBB", 1, LINE_BASE, LINE_RANGE, OPCODE_BASE)
    header += OPERAND_COUNTS + tables
    body = struct.pack("<HI", version, len(header)) + header + program
    return struct.pack("<I", len(body)) + body


def line_unit_5(
    program: bytes,
    directory_format: Sequence[tuple[int, int]],
    directories: Iterable[bytes],
    file_format: Sequence[tuple[int, int]],
    files: Iterable[bytes],
    offset_size: int = 4,
) -> bytes:
    """Make a line program of version 5: formats are (content type, form), entries are their bytes."""
    tables = bytearray()
    for entry_format, entries in ((directory_format, list(directories)), (file_format, list(files))):
        tables += bytes((len(entry_format),)) + b"".join(uleb(kind) + uleb(form) for kind, form in entry_format)
        tables += uleb(len(entries)) + b"".join(entries)
    header = bytes((1, 1)) + struct.pack("<BbBB", 1, LINE_BASE, LINE_RANGE, OPCODE_BASE) + OPERAND_COUNTS + tables
    size = "<I" if offset_size == 4 else "<Q"
    body = struct.pack("<HBB", 5, 8, 0) + struct.pack(size, len(header)) + header + program
    return (b"" if offset_size == 4 else b"\xff\xff\xff\xff") + struct.pack(size, len(body)) + body


#: One abbreviation table: 1 a unit with name, low_pc, stmt_list, comp_dir; 2 a subprogram with name, low_pc, high_pc;
#: 3 one that is inlined only; 4 an inlined call with low_pc and size; 5 one with ranges; 6 an instance of another entry.
ABBREVIATIONS = bytes.fromhex(
    "01 11 01 03 08 11 01 12 01 10 17 1b 08 00 00"
    "02 2e 01 03 08 11 01 12 01 00 00"
    "03 2e 00 03 08 20 0b 00 00"
    "04 1d 01 31 13 11 01 12 06 58 0b 59 0b 57 0b 00 00"
    "05 1d 01 31 13 55 17 58 0b 59 0b 57 0b 00 00"
    "00"
)


@dataclass
class UnitWriter:
    """One compile unit of version 4, of ``size`` bytes of code, whose addresses and section offsets are left to relocations.

    ``sites`` collects (offset in the unit, symbol, type, addend); symbols are named by words until ``zebin`` numbers
    them: the kernel's name, or ``line``, ``abbrev``, ``ranges``.
    """

    kernel: str
    line_offset: int
    directory: str = "/work"
    body: bytearray = field(default_factory=bytearray)
    sites: list[tuple[int, str, int, int]] = field(default_factory=list)
    abbreviations: int = 0
    size: int = 64

    HEADER = 11

    def __post_init__(self) -> None:
        self.sites.append((6, "abbrev", R_ADDRESS_32, self.abbreviations))
        self.body += b"\x01k.cl\0"
        self.address(0)
        self.address(self.size)
        self._site("line", R_ADDRESS_32, self.line_offset, 4)
        self.body += self.directory.encode() + b"\0"

    def _site(self, symbol: str, type: int, addend: int, size: int) -> None:
        self.sites.append((self.HEADER + len(self.body), symbol, type, addend))
        self.body += bytes(size)

    def address(self, offset: int) -> None:
        """Add a DW_FORM_addr that the relocation makes ``offset``."""
        self._site(self.kernel, R_ADDRESS, offset, 8)

    def subprogram(self, name: str, low: int, high: int) -> None:
        """Open a subprogram with code."""
        self.body += b"\x02" + name.encode() + b"\0"
        self.address(low)
        self.address(high)

    def abstract(self, name: str) -> int:
        """Add a subprogram that is only inlined. Returns the offset that refers to it."""
        offset = self.HEADER + len(self.body)
        self.body += b"\x03" + name.encode() + b"\0\x01"
        return offset

    def inlined(self, origin: int, low: int, size: int, call: tuple[int, int, int]) -> None:
        """Open an inlined call: ``call`` is (file, line, column)."""
        self.body += b"\x04" + struct.pack("<I", origin)
        self.address(low)
        self.body += struct.pack("<IBBB", size, *call)

    def inlined_ranges(self, origin: int, ranges: int, call: tuple[int, int, int]) -> None:
        """Open an inlined call whose code is the list at ``ranges`` of .debug_ranges."""
        self.body += b"\x05" + struct.pack("<I", origin)
        self._site("ranges", R_ADDRESS_32, ranges, 4)
        self.body += bytes(call)

    def close(self) -> None:
        """End the children of the entry that was opened last."""
        self.body += b"\0"

    def build(self) -> bytes:
        """Make the unit; DW_TAG_compile_unit's own children end here."""
        body = struct.pack("<HIB", 4, 0, 8) + self.body + b"\0"
        return struct.pack("<I", len(body)) + body


def debug_zebin(
    kernels: Sequence[str],
    units: Sequence[UnitWriter],
    line: bytes,
    line_sites: Sequence[tuple[int, str, int]],
    *,
    ranges: bytes = b"",
    load_addresses: Sequence[int] = (),
    relocate: bool = True,
    named: Sequence[str] = (),
    functions: Mapping[str, int] | None = None,
) -> ElfWriter:
    """Return a zebin as Intel's compiler writes it: symbols that lie in the debug section, and RELA tables.

    ``line_sites`` are (offset in .debug_line, kernel, addend). With ``load_addresses`` it is a loaded module's debug
    ELF, whose symbols and code sections carry them. ``relocate`` False leaves the tables out: the units' addresses are load
    addresses. The symbols of the kernels in ``named`` have the names of their code sections, the others have lost them.
    ``functions`` are kernels with function symbols, and the sizes of these.
    """
    writer = ElfWriter(type=2 if load_addresses else 1)
    addresses = dict(zip(kernels, load_addresses or [0] * len(kernels), strict=True))
    for kernel in kernels:
        writer.add(".text." + kernel, bytes(64), flags=6, address=addresses[kernel])
    info, bases = bytearray(), []
    for unit in units:
        bases.append(len(info))
        content = bytearray(unit.build())
        for site, symbol, type, addend in unit.sites:
            if type == R_ADDRESS and not relocate:
                struct.pack_into("<Q", content, site, addresses[symbol] + addend)
        info += content
    info_index = writer.add(".debug_info", bytes(info))
    writer.add(".debug_abbrev", ABBREVIATIONS)
    line_index = writer.add(".debug_line", line)
    writer.add(".debug_ranges", ranges)
    symbols = [
        # A symbol that lost its name lost its load address with it.
        (f".text.{kernel}", addresses[kernel], 0, 0, 1, info_index) if kernel in named else ("", 0, 0, 0, 1, info_index)
        for kernel in kernels
    ]
    symbols.append(("", 0, 0, 0, 1, info_index))
    for index, kernel in enumerate(kernels, 1):
        if kernel in (functions or {}):
            symbols.append((kernel, addresses[kernel], (functions or {})[kernel], 0, 2, index))
    number = {kernel: index + 1 for index, kernel in enumerate(kernels)}
    table = writer.add_symbols(symbols)
    if relocate:
        sites = [
            (base + site, number.get(symbol, len(kernels) + 1), type, addend)
            for base, unit in zip(bases, units, strict=True)
            for site, symbol, type, addend in unit.sites
        ]
        writer.add(".rela.debug_info", rela(*sites), type=4, entry_size=24, link=table, info=info_index)
        line_entries = [(site, number[kernel], R_ADDRESS, addend) for site, kernel, addend in line_sites]
        writer.add(".rela.debug_line", rela(*line_entries), type=4, entry_size=24, link=table, info=line_index)
    return writer
