"""Zebins whose debug data costs far more to read than its size tells: each is a shape that took seconds or gigabytes."""

from __future__ import annotations

import struct
import zlib

from tests.writers.dwarf import Row, UnitWriter, debug_zebin, encode, line_unit_4, sleb, uleb
from tests.writers.elf import ElfWriter

_ROWS: list[Row] = [(0, 1, 1, 1, True), (16, 1, 2, 1, True), (48, 1, 3, 1, True)]
_LINE = line_unit_4(encode(_ROWS, 64))
#: Where a line program's first address stands, counted from the end: what ``encode`` writes behind the header.
_ADDRESS_AT = len(_LINE) - len(encode(_ROWS, 64)) + 3
SHF_COMPRESSED = 0x800
#: Instructions of dg2: no operation, and the message that ends a thread.
_NOP, _END = bytes.fromhex("60" + "00" * 15), bytes.fromhex("31090080040000000c7f203000000000")


def runnable(size: int) -> bytes:
    """Return so many bytes of code for dg2 that a compiler may have left: debug data of other code is not read."""
    return _NOP * (size // 16 - 1) + _END


def compressed_sections() -> bytes:
    """Return 590 KB: nine debug sections, each of which unpacks to 64 MB."""
    size = 64 << 20
    packer = zlib.compressobj(9)
    packed = packer.compress(bytes(size)) + packer.flush()
    writer = ElfWriter()
    writer.add(".text.k", bytes(64), flags=6)
    names = ("line", "info", "abbrev", "str", "line_str", "ranges", "addr", "str_offsets", "rnglists")
    content = struct.pack("<IIQQ", 1, 0, size, 1) + packed
    for name in names:
        writer.add(f".debug_{name}", content, flags=SHF_COMPRESSED)
    return bytes(writer.build())


def zero_size_attributes() -> bytes:
    """Return 17 KB: 8,000 entries of one byte, whose abbreviation has 4,000 attributes that take no byte at all."""
    attributes = b"".join(uleb(0x2000 + number) + b"\x19" for number in range(4000))
    abbreviations = (
        b"\x01\x11\x01\x03\x08\x11\x01\x10\x17\x1b\x08\x00\x00" + b"\x02\x34\x00" + attributes + b"\x00\x00" + b"\x00"
    )
    return plain_unit(b"\x02" * 5000, abbreviations)


def implicit_constants() -> bytes:
    """Return the same with constants that stand in the abbreviation."""
    attributes = b"".join(uleb(0x2000 + number) + b"\x21" + sleb(1) for number in range(4000))
    abbreviations = (
        b"\x01\x11\x01\x03\x08\x11\x01\x10\x17\x1b\x08\x00\x00" + b"\x02\x34\x00" + attributes + b"\x00\x00" + b"\x00"
    )
    return plain_unit(b"\x02" * 10_000, abbreviations)


def plain_unit(entries: bytes, abbreviations: bytes, ranges: bytes = b"") -> bytes:
    """Make a zebin of one kernel ``k`` and one unit of it with these entries; nothing is relocated."""
    unit = b"\x01k.cl\0" + struct.pack("<QI", 0, 0) + b"/work\0" + entries + b"\0"
    body = struct.pack("<HIB", 4, 0, 8) + unit
    writer = ElfWriter()
    writer.add(".text.k", runnable(64), flags=6)
    # The kernel's subprogram comes first, so that the unit is known to be the kernel's.
    writer.add(".debug_info", struct.pack("<I", len(body)) + body)
    writer.add(".debug_abbrev", abbreviations)
    writer.add(".debug_line", _LINE)
    writer.add(".debug_ranges", ranges)
    return bytes(writer.build())


def shared_range_list(entries: int = 1500, ranges: int = 1500, step: int = 0) -> bytes:
    """Return 48 KB: 1,500 inlined calls that all name one list of 1,500 ranges, each ``step`` ranges further in it."""
    listed = b"".join(struct.pack("<QQ", 2 * number, 2 * number + 1) for number in range(ranges)) + bytes(16)
    unit = UnitWriter("k", 0)
    origin = unit.abstract("f")
    unit.subprogram("k", 0, 64)
    for number in range(entries):
        unit.inlined_ranges(origin, 16 * (step * number % ranges), (1, 2, 3))
        unit.close()
    unit.close()
    writer = debug_zebin(["k"], [unit], _LINE, [(_ADDRESS_AT, "k", 0)], ranges=listed)
    writer.sections[0].data = runnable(64)
    return bytes(writer.build())


def overlapping_range_lists() -> bytes:
    """Return what ``shared_range_list`` does, but each call names another place in the one list."""
    return shared_range_list(step=1)


def many_kernels(count: int = 1000, calls: int = 10) -> bytes:
    """Return 1.2 MB, as an honest compiler may write it: kernels with ten inlined calls each."""
    units, names, lines, sites = [], [], b"", []
    for number in range(count):
        name = f"kernel_{number}"
        names.append(name)
        sites.append((len(lines) + _ADDRESS_AT, name, 0))
        unit = UnitWriter(name, len(lines))
        lines += _LINE
        origins = [unit.abstract(f"function_{call}") for call in range(calls)]
        unit.subprogram(name, 0, 64)
        for call, origin in enumerate(origins):
            unit.inlined(origin, 4 * call, 4, (1, call + 1, 3))
            unit.close()
        unit.close()
        units.append(unit)
    return bytes(debug_zebin(names, units, lines, sites).build())


def deep_inlining(depth: int = 500, instructions: int = 60_000) -> bytes:
    """Return 1 MB: one kernel, all of whose instructions lie within 500 inlined calls, one in the other."""
    size = 16 * instructions
    rows: list[Row] = [(16 * number, 1, number % 1000 + 1, 1, True) for number in range(instructions)]
    program = encode(rows, size)
    line = line_unit_4(program)
    unit = UnitWriter("k", 0, size=size)
    origins = [unit.abstract(f"f{level}") for level in range(depth)]
    unit.subprogram("k", 0, size)
    for level, origin in enumerate(origins):
        unit.inlined(origin, 0, size, (1, level % 200 + 1, 3))
    for _ in origins:
        unit.close()
    unit.close()
    writer = debug_zebin(["k"], [unit], line, [(len(line) - len(program) + 3, "k", 0)])
    writer.sections[0].data = runnable(size)
    return bytes(writer.build())
