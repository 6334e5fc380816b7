"""What a file is, by its first bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kernlens import load
from kernlens.errors import FormatError, KernlensError
from kernlens.loading.identify import identify, unknown_input


def elf(file_type: int, machine: int) -> bytes:
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", file_type, machine)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"!<arch>\n", "ar"),
        (elf(0xFF04, 0), "neo-elf"),
        (elf(1, 205), "zebin"),
        (elf(2, 205), "zebin-debug"),
        (elf(1, 182), "kernel-debug-elf"),
        (elf(3, 62), "host-elf"),
        (b"\x03\x02\x23\x07" + bytes(16), "spirv"),
        (b"\x07\x23\x02\x03" + bytes(16), "spirv"),
        (b"BC\xc0\xde", "llvm-bitcode"),
        (b"SQLite format 3\x00", "recording"),
        (b"CTNI" + struct.pack("<6I", 1081, 0xC07, 8, 3, 0, 0), "patch-tokens"),
        (b"CTNI" + struct.pack("<6I", 1081, 0, 0xC07, 0, 0, 3), "debug-data"),
        (b"hello", None),
        (b"", None),
    ],
)
def test_kind_follows_from_the_first_bytes(content: bytes, kind: str | None) -> None:
    assert identify(memoryview(content)) == kind


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01", b"CTNI\x00\x00"])
def test_a_header_cut_short_is_an_error(content: bytes) -> None:
    with pytest.raises(FormatError, match=f"ends after {len(content)} bytes"):
        identify(memoryview(content))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"__kernel void f() {}\n", "a text file"),
        ("größe\n".encode() * 900, "a text file"),
        (bytes(range(256)), "--device"),
    ],
)
def test_unknown_content_gets_a_sentence_that_helps(content: bytes, words: str) -> None:
    assert words in str(unknown_input("x.bin", memoryview(content)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"__kernel void f() {}\n", "a text file"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"\x1f\x8b" + bytes(30), None),  # Two bytes can be an instruction's.
        (bytes(range(256)), None),
    ],
)
def test_what_cannot_be_instructions_is_not_shown_as_some(content: bytes, words: str | None, tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(content)
    if words is None:
        assert [program.format for program in load(path, device="dg2")] == ["raw"]
    else:
        with pytest.raises(KernlensError, match=words):
            load(path, device="dg2")


def test_a_folder_of_sources_says_what_to_do_with_them(tmp_path: Path) -> None:
    (tmp_path / "a.cl").write_text("kernel void k() {}\n")
    with pytest.raises(
        KernlensError, match=r"contains sources only; name these sources, or .* kernlens compile .*/\*\.cl "
    ):
        load(tmp_path)
    (tmp_path / "a.cl").rename(tmp_path / "a.txt")
    with pytest.raises(KernlensError, match="contains no GPU binary, SPIR-V or recording"):
        load(tmp_path)
