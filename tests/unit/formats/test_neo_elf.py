"""NEO ELF: sections chosen by type; what is refused."""

from __future__ import annotations

import random

import pytest

from kernlens.errors import FormatError
from kernlens.formats.neo_elf import (
    BUILD_OPTIONS,
    DEVICE_BINARY,
    DEVICE_DEBUG,
    LLVM_BITCODE,
    NON_COHERENT_DEVICE_BINARY,
    SOURCE,
    SPEC_CONSTANT_IDS,
    SPIRV,
    is_neo_elf,
    read_neo_elf,
)
from tests.writers.patch_tokens import neo_elf

SECTIONS = [
    (BUILD_OPTIONS, b"-cl-std=CL2.0 -g\0"),
    (SPIRV, b"\x03\x02\x23\x07spirv"),
    (DEVICE_DEBUG, b"CTNIdebug"),
    (DEVICE_BINARY, b"CTNIprogram"),
    (SOURCE, b"kernel void k() {}"),
    (LLVM_BITCODE, b"BC\xc0\xde"),
    (SPEC_CONSTANT_IDS, b"\1\0\0\0"),
    (3, b"a string table"),
]


def test_parts_by_type_with_their_places() -> None:
    data = memoryview(neo_elf(SECTIONS))
    read = read_neo_elf(data)
    assert is_neo_elf(data)
    assert read.type == 0xFF04
    assert read.build_options == "-cl-std=CL2.0 -g"
    result = (read.device_binary, read.device_debug, read.spirv, read.source, read.part(LLVM_BITCODE))
    assert [bytes(part.data) for part in result if part] == [
        b"CTNIprogram",
        b"CTNIdebug",
        b"\x03\x02\x23\x07spirv",
        b"kernel void k() {}",
        b"BC\xc0\xde",
    ]
    assert [bytes(part.data) for part in read.parts] == [contents for _type, contents in SECTIONS[:-1]]
    for part in read.parts:
        assert data[part.offset : part.offset + len(part.data)] == part.data
    assert read.part(SPEC_CONSTANT_IDS) is not None


def test_absent_and_empty_parts_are_none() -> None:
    read = read_neo_elf(memoryview(neo_elf([(DEVICE_DEBUG, b""), (SPIRV, b"x")])))
    assert (read.device_binary, read.device_debug, read.build_options, read.source) == (None, None, None, None)


def test_a_non_coherent_binary_serves_when_there_is_no_other() -> None:
    read = read_neo_elf(memoryview(neo_elf([(NON_COHERENT_DEVICE_BINARY, b"n")])))
    assert read.device_binary is not None
    assert bytes(read.device_binary.data) == b"n"
    both = read_neo_elf(memoryview(neo_elf([(NON_COHERENT_DEVICE_BINARY, b"n"), (DEVICE_BINARY, b"d")])))
    assert both.device_binary is not None
    assert bytes(both.device_binary.data) == b"d"


@pytest.mark.parametrize(("type", "machine"), [(0xFF04, 205), (0xFF04, 62), (1, 0), (0xFF00, 0), (0xFF06, 0)])
def test_other_elfs_are_refused(type: int, machine: int) -> None:
    data = memoryview(neo_elf(SECTIONS, type=type, machine=machine))
    assert not is_neo_elf(data)
    with pytest.raises(FormatError, match="a NEO ELF has"):
        read_neo_elf(data)


def test_every_cut_is_noticed() -> None:
    written = neo_elf(SECTIONS)
    for size in range(len(written)):
        is_neo_elf(memoryview(written)[:size])
        with pytest.raises(FormatError):
            read_neo_elf(memoryview(written)[:size])


def test_mutations_raise_nothing_but_format_errors() -> None:
    chosen = random.Random(8)
    good = neo_elf(SECTIONS)
    refused = 0
    for _round in range(3000):
        damaged = bytearray(good)
        place = chosen.randrange(len(good))
        damaged[place : place + 8] = chosen.choice((0, 1, 64, 2**32 - 1, 2**63, 2**64 - 1)).to_bytes(8, "little")
        try:
            read = read_neo_elf(memoryview(damaged))
            _ = (read.build_options, read.device_binary)
        except FormatError:
            refused += 1
    assert 300 < refused < 3000
