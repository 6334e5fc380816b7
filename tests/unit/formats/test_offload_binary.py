"""Clang's offload binaries: images with maps of strings, in the section of an object."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kernlens.errors import FormatError
from kernlens.formats.offload_binary import read_offload_binaries
from kernlens.model.allowance import Allowance
from tests.unit.conftest import Kernlens
from tests.writers.elf import ElfWriter
from tests.writers.programs import spirv

SYCL, SPIRV = 8, 6
OPTIONS = {"triple": "spir64-unknown-unknown", "arch": "generic", "compile-opts": "-O1 -x", "link-opts": "-y"}


def binary(image: bytes, strings: dict[str, str], version: int = 2, kind: int = SYCL, image_kind: int = SPIRV) -> bytes:
    """An offload binary of one entry."""
    count = 1 if version == 2 else 40
    texts = b"".join(f"{key}\0{value}\0".encode() for key, value in strings.items())
    size_of_string = 24 if version == 2 else 16
    texts_at = 72 + size_of_string * len(strings)
    image_at = texts_at + len(texts) + -(texts_at + len(texts)) % 8
    table, at = b"", texts_at
    for key, value in strings.items():
        table += struct.pack("<QQ", at, at + len(key) + 1) + (struct.pack("<Q", len(value)) if version == 2 else b"")
        at += len(key) + len(value) + 2
    size = image_at + len(image)
    head = struct.pack("<4sIQQQ", b"\x10\xff\x10\xad", version, size, 32, count)
    entry = struct.pack("<HHIQQQQ", image_kind, kind, 0, 72, len(strings), image_at, len(image))
    content = (head + entry + table + texts).ljust(image_at, b"\0") + image
    return content.ljust(size + -size % 8, b"\0")


@pytest.mark.parametrize("version", [1, 2])
def test_entries_of_binaries_one_after_the_other(version: int) -> None:
    data = binary(b"first", OPTIONS, version) + bytes(8) + binary(b"second", {"triple": "amdgcn"}, version, kind=4)
    first, second = read_offload_binaries(memoryview(data), Allowance(len(data)))
    assert (bytes(first.data), first.strings, first.name) == (b"first", OPTIONS, "spir64-unknown-unknown-generic")
    assert bytes(data[first.offset : first.offset + 5]) == b"first"
    described = first.described
    assert described is not None
    assert (described.target, described.compile_options, described.link_options) == ("spir64", "-O1 -x", "-y")
    assert (bytes(second.data), second.described, second.name) == (b"second", None, "amdgcn")


@pytest.mark.parametrize("place", range(0, 120, 4))
@pytest.mark.parametrize("word", [0, 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_damaged_binaries(place: int, word: int) -> None:
    data = bytearray(binary(b"content" * 10, OPTIONS))
    struct.pack_into("<I", data, place, word)
    try:
        entries = list(read_offload_binaries(memoryview(bytes(data)), Allowance(len(data))))
    except FormatError:
        return
    assert all(len(entry.data) <= len(data) for entry in entries)


def test_a_cut_binary_says_where() -> None:
    with pytest.raises(FormatError, match=r"it claims 269 bytes; there are 200"):
        list(read_offload_binaries(memoryview(binary(b"content" * 3, OPTIONS)[:200]), Allowance(200)))


def test_an_object_with_offload_binaries(kernlens: Kernlens, tmp_path: Path) -> None:
    writer = ElfWriter(machine=62)
    writer.add(".llvm.offloading", binary(bytes(spirv()), OPTIONS))
    path = tmp_path / "object.o"
    path.write_bytes(writer.build())
    done = kernlens("inspect", path, "--device", "dg2")
    for words in ("offload binary .llvm.offloading", "SYCL image: target spir64, format SPIR-V", "options: -O1 -x"):
        assert words in done.out, words
    document = kernlens("inspect", path, "--json").document
    assert document["containers"][0]["containers"][0]["containers"][0]["kind"] == "spirv"
    assert document["programs"][0]["sycl_image"]["compile_options"] == "-O1 -x"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (16, "entries at 0xffffffffff do not fit"),
        (40, "strings at 0xffffffffff do not fit"),
        (48, "strings at 0x48 do not fit"),
        (56, "its image of 70 bytes at 0xffffffffff reaches beyond its end"),
        (64, "its image of 1,099,511,627,775 bytes"),
        (72, "string 0 reaches beyond its end"),
        (88, "string 0 reaches beyond its end"),
    ],
)
def test_what_reaches_beyond_a_binary_is_refused(place: int, message: str) -> None:
    data = bytearray(binary(b"content" * 10, OPTIONS))
    struct.pack_into("<Q", data, place, 0xFFFFFFFFFF)
    with pytest.raises(FormatError, match=message):
        list(read_offload_binaries(memoryview(bytes(data)), Allowance(len(data))))
