"""Files that cost far more to read than their size tells: each is a shape that took seconds or gigabytes."""

from __future__ import annotations

import hashlib
import random
import sqlite3
import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import zstandard

from kernlens.model.build import Build, HeldParts, Source
from kernlens.recording.writer import RecordingWriter
from tests.writers import slow_debug_data
from tests.writers.dense_files import DENSE
from tests.writers.elf import ElfWriter
from tests.writers.recordings import CHAIN, holding, snapshot

SHT_ZEBIN_ZEINFO = 0xFF000011
_ZE_INFO = "version: '1.20'\nkernels:\n  - name: k\n    execution_env:\n      simd_size: 16\n"


def zebin(ze_info: str = _ZE_INFO) -> ElfWriter:
    """Make the start of a zebin with the kernel ``k``."""
    writer = ElfWriter()
    writer.add(".text.k", bytes(64), flags=6)
    writer.add(".ze_info", ze_info.encode(), type=SHT_ZEBIN_ZEINFO)
    return writer


def overlapping_sections() -> bytes:
    """Return 1.2 MB: 2,400 sections that all hold the same megabyte."""
    writer = zebin()
    shared = writer.add("blob", bytes(1 << 20))
    place = 64
    for section in writer.sections[: shared - 1]:
        place += -place % 8 + len(section.data)
    place += -place % 8
    for number in range(2400):
        writer.add(f"s{number}", size=1 << 20, offset=place)
    return bytes(writer.build())


def same_named_sections(count: int = 3000) -> bytes:
    """Return sections of one name, each of which becomes a file of its own."""
    writer = zebin()
    for _ in range(count):
        writer.add("same", b"x")
    return bytes(writer.build())


def many_symbols(count: int = 120_000) -> bytes:
    """Return 4 MB of symbols, all exported."""
    writer = zebin()
    writer.add(".data.global", bytes(64))
    names = bytearray(1)
    table = bytearray(24)
    for number in range(count):
        table += struct.pack("<IBBHQQ", len(names), 0x11, 0, 3, number, 4)
        names += b"v%x\0" % number
    writer.add(".symtab", bytes(table), type=2, entry_size=24, link=5)
    writer.add(".strtab", bytes(names), type=3)
    return bytes(writer.build())


def spaces_in_a_name() -> bytes:
    """Return a ze_info key with 100,000 spaces behind it, and no colon."""
    return bytes(zebin(_ZE_INFO + "name" + " " * 100_000 + "x\n").build())


def spaces_everywhere() -> bytes:
    """Return ze_info lines in which spaces stand before, behind and between everything."""
    spaces = " " * 50_000
    lines = [
        spaces + "a",
        "- " + spaces + "b" + spaces,
        "a:" + spaces,
        "-" + spaces + "-" + spaces + "x",
        "a " + spaces,
    ]
    return bytes(zebin(_ZE_INFO + "\n".join(lines * 4)).build())


def digits() -> bytes:
    """Return a ze_info value of 1 MB of digits, with what makes it look like a number and none at once."""
    return bytes(zebin(_ZE_INFO + "x: " + "1" * 1_000_000 + "y\n").build())


def digits_with_a_fraction() -> bytes:
    """Return digits, a point, digits, and an exponent that is none."""
    return bytes(zebin(_ZE_INFO + "x: " + "1" * 500_000 + "." + "1" * 500_000 + "e\n").build())


def quotes() -> bytes:
    """Return a ze_info flow sequence of quotes and brackets."""
    return bytes(zebin(_ZE_INFO + "x: [" + "'a', \"b\", " * 100_000 + "]\n" + "y: ['" + "''" * 200_000 + "]\n").build())


def shared_blob(path: Path, size: int = 90 << 20) -> None:
    """Write 98 KB: 50 sources of a program that are all the one blob of 90 MB."""
    text = "x" * size
    sources = tuple(Source(f"/src/{number}.cl", "") for number in range(50))
    with RecordingWriter(path) as writer:
        writer.add(replace(_build("k"), parts=HeldParts(binary=bytes(zebin().build()), sources=sources)))
        writer.add(replace(_build("big"), ok=False, parts=HeldParts(log="y" + text[:100])))
    _share(path, text.encode())


def smaller_shared_blob(path: Path) -> None:
    """Write what ``shared_blob`` does, with a blob of 8 MB: one would do, and 50 are too much."""
    shared_blob(path, 8 << 20)


def _share(path: Path, content: bytes) -> None:
    """Make one blob of ``content``, packed as small as readers accept, the content of every source."""
    packed = zstandard.ZstdCompressor(level=1).compress(content)
    # A skippable frame behind it makes the packed form as large as readers ask for.
    missing = len(content) // 1000 - len(packed)
    if missing > 0:
        packed += struct.pack("<II", 0x184D2A50, missing) + bytes(missing)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(
        "INSERT INTO blob (sha256, size, coding, content) VALUES (?, ?, 'zstd', ?)",
        (hashlib.sha256(content).digest(), len(content), packed),
    )
    connection.execute("UPDATE part SET blob = (SELECT max(id) FROM blob) WHERE role = 'source'")
    connection.close()


def many_snapshots(path: Path, programs: int = 800) -> None:
    """Write 800 programs, each with a few snapshots of its own."""
    binary = bytes(zebin().build())
    with RecordingWriter(path) as writer:
        for number in range(programs):
            snapshots = tuple(
                snapshot(stage, ".ll", f"; {stage} of {number}\n".encode(), attempt=1)
                for stage in ("llvm", "llvm-codegen")
            )
            writer.add(replace(_build(f"p{number}"), parts=HeldParts(binary=binary, snapshots=snapshots)))


def many_sources(path: Path, count: int = 10_000) -> None:
    """Write one program with 10,000 sources."""
    sources = tuple(Source(f"/src/{number}.cl", f"// {number}\n") for number in range(count))
    with RecordingWriter(path) as writer:
        writer.add(replace(_build("k"), parts=HeldParts(binary=bytes(zebin().build()), sources=sources)))


def same_named_programs(path: Path, count: int = 1000) -> None:
    """Write programs that all have one name and one binary."""
    with RecordingWriter(path) as writer:
        for _ in range(count):
            writer.add(holding("same", bytes(zebin().build())))


def dense_builds(path: Path, count: int = 60_000) -> None:
    """Write 5 MB: builds that all have the one binary."""
    with RecordingWriter(path) as writer:
        writer.add(holding("k", bytes(zebin().build())))
    _repeat_program(path, count)


def dense_failed_builds(path: Path, count: int = 150_000) -> None:
    """Write 10 MB: builds that yielded nothing."""
    with RecordingWriter(path) as writer:
        writer.add(replace(_build("k"), ok=False, reason="no"))
    _repeat_program(path, count)


def _repeat_program(path: Path, count: int) -> None:
    """Make copies of the one program: to add them one by one would take minutes."""
    connection = sqlite3.connect(path)
    numbers = "WITH RECURSIVE number (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number LIMIT ?)"
    connection.execute(
        f"INSERT INTO program {numbers} SELECT n, name || n, device, toolchain, options, status, reason, seconds, command,"
        " created FROM program, number",
        (count - 1,),
    )
    connection.execute(
        f"INSERT INTO part {numbers} SELECT n, position, role, path, blob FROM part, number", (count - 1,)
    )
    connection.commit()
    connection.close()


def _listing(path: Path, stage: str, ending: str, text: str) -> None:
    """Write a program with one snapshot, packed to a few kilobytes."""
    with RecordingWriter(path) as writer:
        parts = HeldParts(
            binary=bytes(zebin().build()), snapshots=(snapshot(stage, ending, text.encode(), kernel="k"),)
        )
        writer.add(replace(_build("k"), parts=parts))


def _letters(count: int) -> Iterable[str]:
    """Return any letters: what is the same everywhere is packed to less than readers accept."""
    chance = random.Random("letters")
    return map(chr, chance.choices(range(97, 123), k=count))


def dense_gen_assembly(path: Path, count: int = 15_000_000) -> None:
    """Write 9 MB: a listing of 30 MB of instructions of one letter."""
    _listing(path, "gen-assembly", ".asm", "//.kernel k\n// File: /a.cl\n// Line 1: x\n" + "\n".join(_letters(count)))


def dense_visa(path: Path, count: int = 4_000_000) -> None:
    """Write 2 MB: vISA of 32 MB, each instruction with a mark of its own."""
    _listing(
        path,
        "visa",
        ".visaasm",
        '.kernel "k"\nFILE "/a.cl"\n' + "".join(f"LOC 1\n{letter}\n" for letter in _letters(count)),
    )


def _build(name: str) -> Build:
    return Build(name, "dg2", CHAIN)


#: Name -> the bytes of the file.
BINARIES: dict[str, Callable[..., bytes]] = {
    maker.__name__: maker
    for maker in (
        overlapping_sections,
        same_named_sections,
        many_symbols,
        spaces_in_a_name,
        spaces_everywhere,
        digits,
        digits_with_a_fraction,
        quotes,
        slow_debug_data.compressed_sections,
        slow_debug_data.zero_size_attributes,
        slow_debug_data.implicit_constants,
        slow_debug_data.shared_range_list,
        slow_debug_data.overlapping_range_lists,
        slow_debug_data.many_kernels,
        slow_debug_data.deep_inlining,
    )
} | DENSE
#: Name -> what writes the recording.
RECORDINGS: dict[str, Callable[..., None]] = {
    maker.__name__: maker
    for maker in (
        shared_blob,
        smaller_shared_blob,
        many_snapshots,
        many_sources,
        same_named_programs,
        dense_builds,
        dense_failed_builds,
        dense_gen_assembly,
        dense_visa,
    )
}
