"""CTNI debug data: header, the two parts of each kernel, damage."""

from __future__ import annotations

import random

import pytest

from kernlens.errors import FormatError
from kernlens.formats.patch_tokens.debug_data import read_debug_data
from kernlens.model.device import DeviceId
from tests.writers.patch_tokens import debug_data, words

ELF = b"\x7fELF" + bytes(60)


def test_kernels_and_the_part_that_is_an_elf() -> None:
    data = memoryview(debug_data([("first", ELF, b""), ("a_longer_name", b"visa", ELF + b"!"), ("bare", b"", b"")]))
    read = read_debug_data(data)
    first, second, bare = read.kernels
    assert (read.version, read.device) == (1081, DeviceId(render_core=12, stepping=9))
    assert (read.declared_size, read.pointer_size, read.size) == (0, 0, len(data))
    assert [kernel.name for kernel in read.kernels] == ["first", "a_longer_name", "bare"]
    assert (bytes(first.elf), bytes(first.visa), bytes(first.gen_isa)) == (ELF, ELF, b"")
    assert (bytes(second.visa), bytes(second.gen_isa), bytes(second.elf)) == (b"visa", ELF + b"!", ELF + b"!")
    assert (bytes(bare.visa), bytes(bare.elf)) == (b"", b"")
    for kernel in (first, second):
        assert data[kernel.elf_offset : kernel.elf_offset + len(kernel.elf)] == kernel.elf
    assert first.elf_offset == 28 + 12 + len("first\0\0\0")
    assert read.kernel("bare") is bare
    assert read.kernel("none") is None


def test_every_cut_is_noticed() -> None:
    written = debug_data([("first", ELF, b""), ("k", b"visa", ELF)])
    for size in range(len(written)):
        with pytest.raises(FormatError):
            read_debug_data(memoryview(written)[:size])


def test_what_is_no_debug_data() -> None:
    for data in (b"", b"\x7fELF" + bytes(60), b"CTNI"):
        with pytest.raises(FormatError):
            read_debug_data(memoryview(data))


@pytest.mark.parametrize("place", [28, 32, 36])
def test_sizes_beyond_the_end(place: int) -> None:
    written = bytearray(debug_data([("k", ELF, b"")]))
    written[place : place + 4] = words(0xFFFFFFFF)
    with pytest.raises(FormatError, match="kernel 1 of 1 would end at"):
        read_debug_data(memoryview(written))


def test_a_huge_number_of_kernels_fails_at_once() -> None:
    written = bytearray(debug_data([("k", ELF, b"")]))
    written[24:28] = words(0xFFFFFFFF)
    with pytest.raises(FormatError, match="header 2 of 4294967295"):
        read_debug_data(memoryview(written))


def test_mutations_raise_nothing_but_format_errors() -> None:
    chosen = random.Random(4)
    good = debug_data([("first", ELF, b""), ("k", b"visa", ELF)])
    refused = 0
    for _round in range(2000):
        damaged = bytearray(good)
        place = chosen.randrange(len(good))
        damaged[place : place + 4] = words(chosen.choice((0, 1, 40, 2**31, 2**32 - 1)))
        try:
            read_debug_data(memoryview(damaged))
        except FormatError:
            refused += 1
    assert 200 < refused < 2000
