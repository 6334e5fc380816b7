"""Fat binaries, LZ4 blocks, and entries of the compute cache."""

from __future__ import annotations

import struct

import pytest
import zstandard

from kernlens.errors import FormatError
from kernlens.formats.compute_cache import HEADER_SIZE, is_cache_entry, read_cache_entry
from kernlens.formats.fatbin import MAGIC, read_fatbin
from kernlens.formats.lz4_block import unpack_block
from kernlens.formats.ptx.ptx_text import read_ptx
from tests.limits import memory
from tests.nvidia_files import LINES_ENTRY, PLAIN_ENTRY, SOURCE_ENTRY, entry, opencl, triton

LZ4, ZSTD = 0x2000, 0x8000


def fat_entry(
    stored: bytes, *, kind: int = 2, number: int = 90, flags: int = 0, unpacked: int = 0, packed: int = 0
) -> bytes:
    padded = stored + bytes(-len(stored) % 8)
    fields = kind, 0x101, 64, len(padded), packed, 0, 0, 7, number, 0, 0, flags, 0, unpacked
    return struct.pack("<HHIQIIHHIIIQQQ", *fields) + padded


def fatbin(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<4sHHQ", MAGIC, 1, 16, len(body)) + body


def test_images_of_all_packings() -> None:
    cubin, ptx = triton(".cubin"), triton(".ptx")
    # Literals alone are a block: a token, the count's rest in bytes of 255, the bytes.
    rest = len(ptx) - 15
    block = b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255]) + ptx
    frame = zstandard.compress(cubin)
    content = fatbin(
        fat_entry(cubin),
        fat_entry(block, kind=1, flags=LZ4, unpacked=len(ptx), packed=len(block)),
        fat_entry(frame, number=120, flags=ZSTD, unpacked=len(cubin), packed=len(frame)),
    ) + bytes(8) + fatbin(fat_entry(cubin))  # fmt: skip
    images = read_fatbin(memoryview(content))
    assert [image.name for image in images] == ["cubin.sm_90.0", "ptx.sm_90.0", "cubin.sm_120.0", "cubin.sm_90.1"]
    assert [bytes(image.read()) for image in images] == [cubin, ptx, cubin, cubin]
    assert content[images[0].offset :].startswith(cubin)


def test_matches_of_lz4_blocks() -> None:
    # Two literals, then 4 + 10 bytes from 2 back: a match may overlap what it makes; then the last literals.
    assert unpack_block(memoryview(b"\x2aab\x02\x00\x30xyz"), 19) == b"ab" * 8 + b"xyz"
    # A match from further back than it is long.
    assert unpack_block(memoryview(b"\x80abcdefgh\x08\x00\x10!"), 13) == b"abcdefghabcd!"


@pytest.mark.parametrize(
    ("block", "size", "message"),
    [
        (b"\x20a", 2, "literals reach beyond"),
        (b"\x10a\x02\x00", 9, "a match begins 2 bytes back"),
        (b"\x10a\x00\x00", 9, "a match begins 0 bytes back"),
        (b"\x1fa\x01\x00\xff\xff\x00", 9, "more than the 9 bytes"),
        (b"\x10a", 9, "cut off"),
        (b"\x10a", 1 << 30, "cannot hold"),
    ],
)
def test_damaged_lz4_blocks(block: bytes, size: int, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        unpack_block(memoryview(block), size)


def test_images_that_promise_too_much() -> None:
    frame = zstandard.compress(bytes(1 << 20))
    content = fatbin(
        fat_entry(b"\xf0" * 64, flags=LZ4, unpacked=1 << 40, packed=64),
        fat_entry(frame, flags=ZSTD, unpacked=1 << 33, packed=len(frame)),
    )
    with memory(1 << 20):
        for image in read_fatbin(memoryview(content)):
            assert image.unreadable is not None
            with pytest.raises(FormatError):
                image.read()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (fatbin(fat_entry(b"x" * 8))[:-4], "does not fit"),
        (MAGIC + struct.pack("<HHQ", 1, 16, 8) + bytes(8), "too few for an entry's header"),
        (MAGIC + struct.pack("<HHQ", 1, 16, 64) + struct.pack("<HHIQ", 2, 0, 64, 99) + bytes(48), "beyond its region"),
        (fatbin() + b"here begins no region", "no region of a fat binary"),
    ],
)
def test_damaged_fat_binaries(content: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_fatbin(memoryview(content))


def test_the_entry_of_a_program_holds_its_ptx() -> None:
    """The driver's PTX is the key of the machine code that it made of it, but for its second NUL."""
    for name, ptx in ((PLAIN_ENTRY, "program.ptx"), (LINES_ENTRY, "program_with_nv_line_info.ptx")):
        read = entry(name)
        assert read.holds_code
        assert read.ptx == opencl(ptx).rstrip(b"\0")
        assert (read.architecture, read.compiler) == ("sm_90", "Apr 29 2026 17:12:06")
        assert bytes(read.result[:4]) == b"\x7fELF"
        assert opencl(name)[read.result_offset :] == bytes(read.result)
    assert read.options == "--reserve-null-pointer   -pic=false"


def test_the_entry_of_a_source_holds_ptx_alone() -> None:
    read = entry(SOURCE_ENTRY)
    assert not read.holds_code
    assert b"__kernel void saxpy" in bytes(read.key)
    assert read_ptx(read.result).target == "sm_90"


def test_an_entry_that_does_not_add_up() -> None:
    content = opencl(PLAIN_ENTRY)
    assert is_cache_entry(content[:HEADER_SIZE], len(content))
    assert not is_cache_entry(content[:HEADER_SIZE], len(content) - 1)
    assert not is_cache_entry(content[:10], 10)
    with pytest.raises(FormatError, match="not those of the file"):
        read_cache_entry(memoryview(content[:-1]))
