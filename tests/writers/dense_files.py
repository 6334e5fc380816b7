"""Files of up to 10 MB that are nothing but entries of one kind: each byte of them costs as much as a reader can make it."""

from __future__ import annotations

import struct

import zstandard

from tests.writers import patch_tokens, spirv
from tests.writers.ar import archive, member
from tests.writers.dwarf import Row, UnitWriter, debug_zebin, encode, line_unit_4
from tests.writers.elf import ElfWriter
from tests.writers.slow_debug_data import plain_unit, runnable
from tests.writers.spirv import instruction, literal

SHT_ZEBIN_ZEINFO = 0xFF000011
_ENTRY = "  - name: k{0}\n    execution_env:\n      simd_size: 16\n"


def _zebin() -> ElfWriter:
    writer = ElfWriter()
    writer.add(".text.k", bytes(64), flags=6)
    writer.add(".ze_info", f"version: '1.20'\nkernels:\n{_ENTRY.format('')}".encode(), type=SHT_ZEBIN_ZEINFO)
    writer.add(".data.global", bytes(64))
    return writer


def million_symbols(count: int = 1_000_000) -> bytes:
    """Return 32 MB: a million symbols of a global variable of 64 bytes."""
    writer = _zebin()
    names = b"\0" + b"".join(b"v%x\0" % number for number in range(count))
    table = bytearray(24)
    place = 1
    for number in range(count):
        table += struct.pack("<IBBHQQ", place, 0x11, 0, 3, number, 4)
        place += len(b"v%x\0" % number)
    writer.add(".symtab", bytes(table), type=2, entry_size=24, link=5)
    writer.add(".strtab", names, type=3)
    return bytes(writer.build())


def dense_symbols() -> bytes:
    """Return 10 MB: 320,000 symbols."""
    return million_symbols(320_000)


def dense_relocations(count: int = 600_000) -> bytes:
    """Return 9.6 MB: 600,000 relocations of the one kernel."""
    writer = _zebin()
    writer.add(".symtab", bytes(24) + struct.pack("<IBBHQQ", 1, 0x10, 0, 0, 0, 0), type=2, entry_size=24, link=5)
    writer.add(".strtab", b"\0far\0", type=3)
    entries = struct.pack("<QII", 8, 2, 1) * count
    writer.add(".rel.text.k", entries, type=9, entry_size=16, link=4, info=1)
    return bytes(writer.build())


def dense_sections(count: int = 60_000) -> bytes:
    """Return 4 MB: sections without content, as many as ELF can count in 16 bits."""
    writer = _zebin()
    for _ in range(count):
        writer.add("", b"")
    return bytes(writer.build())


def dense_kernels(count: int = 60_000) -> bytes:
    """Return 9 MB: 60,000 kernels of one instruction each."""
    writer = ElfWriter()
    for number in range(count):
        writer.add(f".text.k{number}", bytes(16), flags=6)
    text = "version: '1.20'\nkernels:\n" + "".join(_ENTRY.format(number) for number in range(count))
    writer.add(".ze_info", text.encode(), type=SHT_ZEBIN_ZEINFO)
    return bytes(writer.build())


def dense_entries(count: int = 9_000_000) -> bytes:
    """Return 9 MB of debug entries of one byte."""
    abbreviations = b"\x01\x11\x01\x03\x08\x11\x01\x10\x17\x1b\x08\x00\x00" + b"\x02\x34\x00\x00\x00" + b"\x00"
    return plain_unit(b"\x02" * count, abbreviations)


def dense_inlined_calls(count: int = 200_000) -> bytes:
    """Return 9 MB: inlined calls of one kernel, one beside the other, of one byte of code each."""
    rows: list[Row] = [(0, 1, 1, 1, True), (16, 1, 2, 1, True), (48, 1, 3, 1, True)]
    program = encode(rows, count)
    line = line_unit_4(program)
    unit = UnitWriter("k", 0, size=count)
    origin = unit.abstract("f")
    unit.subprogram("k", 0, count)
    for number in range(count):
        unit.inlined(origin, number, 1, (1, 2, 3))
        unit.close()
    unit.close()
    writer = debug_zebin(["k"], [unit], line, [(len(line) - len(program) + 3, "k", 0)])
    writer.sections[0].data = runnable(count)
    return bytes(writer.build())


def dense_spirv(count: int = 220_000) -> bytes:
    """Return 10 MB: SPIR-V of exported functions without a body."""
    words: list[int] = []
    for number in range(count):
        words += instruction(spirv.DECORATE, number + 10, spirv.LINKAGE, *literal(f"f{number:x}"), spirv.EXPORT)
    for number in range(count):
        words += instruction(54, 1, number + 10, 0, 2)
    return bytes(spirv.SpirvWriter(0x00010000, 0, count + 20, words).build("<"))


def dense_names(count: int = 600_000) -> bytes:
    """Return 10 MB: SPIR-V of nothing but names."""
    words: list[int] = []
    for number in range(count):
        words += instruction(5, number + 10, *literal(f"n{number:x}"))
    return bytes(spirv.SpirvWriter(0x00010000, 0, count + 20, words).build("<"))


def dense_members(count: int = 90_000) -> bytes:
    """Return 7 MB: an archive of modules that hold nothing."""
    empty = bytes(spirv.module())
    return bytes(archive([member("m", empty)] * count))


def dense_code(size: int = 10_000_000) -> bytes:
    """Return 10 MB of machine code."""
    writer = _zebin()
    writer.sections[0].data = bytes(size)
    return bytes(writer.build())


def dense_rows(count: int = 9_000_000) -> bytes:
    """Return 9 MB: a line program of one row per byte."""
    line = line_unit_4(encode([(0, 1, 1, 1, True)], 8)[:-3] + b"\x12" * count + b"\0\x01\x01")
    unit = UnitWriter("k", 0)
    unit.subprogram("k", 0, 64)
    unit.close()
    return bytes(debug_zebin(["k"], [unit], line, []).build())


def dense_patch_token_kernels(count: int = 180_000) -> bytes:
    """Return 9 MB: a patch-token program of 180,000 kernels without code."""
    return patch_tokens.program([patch_tokens.KernelToWrite(f"k{number:x}", b"") for number in range(count)])


def dense_patch_tokens(count: int = 1_200_000) -> bytes:
    """Return 10 MB: a kernel with 1,200,000 tokens of no known number."""
    return patch_tokens.program([patch_tokens.KernelToWrite("k", tokens=[patch_tokens.token(999)] * count)])


def dense_program_tokens(count: int = 1_200_000) -> bytes:
    """Return 10 MB: 1,200,000 tokens of the program itself."""
    return patch_tokens.program(tokens=[patch_tokens.token(999)] * count)


def dense_debug_kernels(count: int = 500_000) -> bytes:
    """Return 8 MB: debug data of 500,000 kernels that have none."""
    return patch_tokens.debug_data([("k", b"", b"")] * count)


def dense_arguments(count: int = 190_000) -> bytes:
    """Return 10 MB: a kernel with as many arguments as fit."""
    described = [patch_tokens.argument_description(number, "", "", "", "", "") for number in range(count)]
    return patch_tokens.program([patch_tokens.KernelToWrite("k", tokens=described)])


def dense_patch_token_symbols(count: int = 9_000) -> bytes:
    """Return 9 MB: a table of symbols, whose entries each have 1,024 bytes for a name."""
    table = patch_tokens.symbol_table(*((2, number, 4, f"f{number}") for number in range(count)))
    return patch_tokens.program([patch_tokens.KernelToWrite("k", tokens=[table])])


def _library(entries: bytes, images: bytes) -> bytes:
    writer = ElfWriter(machine=62, type=3)
    writer.add("__CLANG_OFFLOAD_BUNDLE__sycl-spir64", images, flags=2, address=0x100000)
    writer.add(".tgtimg", entries, flags=3, address=0x100000 + len(images))
    return bytes(writer.build())


def dense_images(count: int = 600_000) -> bytes:
    """Return 10 MB: a host library whose table lists empty images."""
    return _library(struct.pack("<QQ", 0x100000, 0) * count, b"none")


def dense_unreadable_images(count: int = 600_000) -> bytes:
    """Return 10 MB: a host library whose table lists images that lie nowhere."""
    return _library(struct.pack("<QQ", 1, 1) * count, b"none")


def dense_frames(count: int = 250_000) -> bytes:
    """Return 10 MB: a host library of images of nothing, each packed."""
    frame = zstandard.ZstdCompressor().compress(b"")
    places = range(0x100000, 0x100000 + count * len(frame), len(frame))
    return _library(b"".join(struct.pack("<QQ", place, 5) for place in places), frame * count)


def dense_packed_images(count: int = 5_000, size: int = 1 << 20) -> bytes:
    """Return a host library of images of a megabyte, each packed to some 50 bytes."""
    frame = zstandard.ZstdCompressor().compress(bytes(size))
    places = range(0x100000, 0x100000 + count * len(frame), len(frame))
    return _library(b"".join(struct.pack("<QQ", place, size) for place in places), frame * count)


#: Name -> the bytes of the file.
DENSE = {
    maker.__name__: maker
    for maker in (
        dense_symbols,
        dense_relocations,
        dense_sections,
        dense_kernels,
        dense_entries,
        dense_inlined_calls,
        dense_spirv,
        dense_names,
        dense_members,
        dense_rows,
        dense_code,
        dense_patch_token_kernels,
        dense_patch_tokens,
        dense_program_tokens,
        dense_debug_kernels,
        dense_arguments,
        dense_patch_token_symbols,
        dense_images,
        dense_unreadable_images,
        dense_frames,
        dense_packed_images,
    )
}
