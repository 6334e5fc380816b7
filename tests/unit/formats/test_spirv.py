"""SPIR-V modules written word by word and read back."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlens.errors import FormatError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.formats.spirv.spirv_module import read_spirv
from kernlens.model.spirv import SpirvEntryPoint, SpirvLine, SpirvLinkage, SpirvSource
from tests.writers.spirv import SpirvWriter

KERNEL, FUNCTION, TRIPLE, BUFFER, UNKNOWN = 40, 41, 42, 43, 44


def module() -> SpirvWriter:
    """A kernel, an exported function, an imported variable, sources, lines."""
    writer = SpirvWriter()
    writer.add(17, 4).add(17, 6).add(17, 9999)  # Addresses, Kernel, and a capability without a name
    writer.add(10, "SPV_KHR_expect_assume")
    writer.add(11, 1, "OpenCL.std").add(11, 2, "OpenCL.DebugInfo.100")
    writer.add(14, 2, 2)  # Physical64, OpenCL
    writer.add(15, 6, KERNEL, "vadd", 50)
    writer.add(7, 3, "/src/k.cl").add(7, 4, "/src/h.h").add(7, 5, "//__CSK_MD5:0123abcd")
    writer.add(3, 3, 102000, 3, "kernel void va").add(2, "dd() {}")
    writer.add(5, KERNEL, "vadd").add(5, 60, "out").add(5, 61, "count").add(5, 20, "struct.pair")
    writer.add(71, FUNCTION, 41, "scale", 0).add(71, TRIPLE, 41, "table", 1).add(71, BUFFER, 41, "pair", 2)
    writer.add(19, 10).add(22, 11, 32).add(21, 12, 32, 0).add(21, 13, 8, 0)  # void, float, int, char
    writer.add(32, 14, 5, 11)  # global float*
    writer.add(33, 15, 10, 14, 12).add(33, 16, 11, 11, 12)  # void(global float*, int), float(float, int)
    writer.add(43, 12, 17, 7).add(23, 18, 11, 3).add(28, 19, 18, 17).add(30, 20, 13, 11)  # 7, float3, float3[7], struct
    writer.add(32, 21, 5, 19).add(32, 22, 0, 20)
    writer.add(59, 21, TRIPLE, 5).add(59, 22, BUFFER, 0)
    writer.add(12, 10, 70, 2, 35, 4, 5)  # DebugSource of /src/h.h with a checksum
    writer.add(54, 10, KERNEL, 0, 15).add(55, 14, 60).add(55, 12, 61).add(248, 62)
    writer.add(8, 3, 7, 2).add(8, 4, 1, 1).add(317).add(253).add(56)
    writer.add(54, 11, FUNCTION, 0, 16).add(55, 11, 63).add(55, 12, 64).add(56)
    return writer


@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_a_whole_module_in_either_byte_order(byte_order: str) -> None:
    result = read_spirv(module().build(byte_order))
    assert (result.version, result.generator, result.bound) == ((1, 4), "Khronos LLVM/SPIR-V Translator", 100)
    assert result.big_endian == (byte_order == ">")
    assert result.capabilities == ("Addresses", "Kernel", "9999")
    assert result.extensions == ("SPV_KHR_expect_assume",)
    assert result.instruction_sets == ("OpenCL.std", "OpenCL.DebugInfo.100")
    assert (result.addressing_model, result.memory_model) == ("Physical64", "OpenCL")
    assert result.entry_points == (SpirvEntryPoint("Kernel", "vadd", KERNEL),)
    assert result.linkages == (
        SpirvLinkage("scale", "Export", FUNCTION, True, "float(float, int)", call_type="float(float, int)"),
        SpirvLinkage("table", "Import", TRIPLE, False, "float3[7]", "CrossWorkgroup", 7 * 16),
        SpirvLinkage("pair", "LinkOnceODR", BUFFER, False, "struct.pair", "UniformConstant", 8),
    )
    assert result.sources == (
        SpirvSource("OpenCL_C", 102000, "/src/k.cl", "kernel void vadd() {}"),
        SpirvSource(None, None, "/src/h.h", None, "0123abcd"),
    )
    assert result.strings[4] == "/src/h.h"
    assert result.names[KERNEL] == "vadd"


def test_lines_of_each_function() -> None:
    pairs = read_spirv(module().build()).lines
    (places,) = pairs.values()
    assert list(pairs) == ["vadd"]
    assert [(place.file, place.line, place.column) for place in places] == [
        ("/src/k.cl", 7, 2), ("/src/h.h", 1, 1), ("", 0, 0)
    ]  # fmt: skip
    words = module().build().cast("I")
    assert [words[place.offset] & 0xFFFF for place in places] == [8, 8, 317]


def test_a_line_before_a_function_is_the_functions_and_one_before_a_global_is_not() -> None:
    writer = SpirvWriter().add(7, 1, "k.cl").add(8, 1, 3, 0).add(59, 2, 3, 4)
    writer.add(8, 1, 9, 1).add(54, 5, 6, 0, 7).add(56)
    assert read_spirv(writer.build()).lines == {"%6": (SpirvLine(17, "k.cl", 9, 1),)}


def test_packed_structures_and_types_without_a_size() -> None:
    writer = SpirvWriter().add(14, 0, 2)
    writer.add(71, 5, 10).add(71, 8, 41, "packed", 0).add(71, 9, 41, "pointer", 0)
    writer.add(21, 2, 8, 0).add(22, 3, 64).add(30, 5, 2, 3).add(32, 6, 5, 5).add(32, 7, 5, 6)
    writer.add(59, 6, 8, 5).add(59, 7, 9, 5)
    assert [(linkage.type_name, linkage.size) for linkage in read_spirv(writer.build()).linkages] == [
        ("struct", 9),
        ("global struct*", None),  # addressing is logical: a pointer has no size
    ]


def test_array_lengths_of_64_bits() -> None:
    writer = SpirvWriter().add(71, 2, 41, "large", 0).add(21, 3, 64, 0).add(21, 4, 8, 0)
    writer.add(43, 3, 5, 1, 2).add(28, 6, 4, 5).add(32, 7, 5, 6).add(59, 7, 2, 5)
    (large,) = read_spirv(writer.build()).linkages
    assert (large.type_name, large.size) == ("char[8589934593]", (2 << 32) + 1)


def test_types_that_hold_themselves_are_cut() -> None:
    writer = SpirvWriter().add(71, 2, 41, "loop", 0).add(32, 5, 5, 6).add(32, 6, 5, 5).add(59, 5, 2, 5)
    (loop,) = read_spirv(writer.build()).linkages
    assert loop.type_name is not None
    assert loop.type_name.startswith("global global")
    assert "..." in loop.type_name


@pytest.mark.parametrize("token", [b"", b"BC\xc0\xde", b"\x7fELF", b"\x03\x02\x23"])
def test_what_is_not_spirv(token: bytes) -> None:
    assert not is_spirv(memoryview(token))
    with pytest.raises(FormatError, match="not SPIR-V"):
        read_spirv(memoryview(token))


@pytest.mark.parametrize(
    ("words", "message", "offset"),
    [
        ([0x00000011], "0 words", 20),
        ([2 << 16 | 17, 4, 5 << 16 | 17, 4], "5 words, but 2 are left", 28),
        ([1 << 16 | 17], "at least 2 expected", 20),
        ([3 << 16 | 5, 1, 0x41414141], "not terminated", 28),
        ([5 << 16 | 71, 1, 41, 0x00414141, 1], "neither a function nor a variable", 0),
        ([4 << 16 | 71, 1, 41, 0x00414141], "without its kind", 20),
        ([5 << 16 | 11, 3, *struct.unpack("<3I", b"XDebugInfo\0\0"), 5 << 16 | 12, 1, 2, 3, 35], "without a file", 40),
    ],
)
def test_damage_is_a_sentence(words: list[int], message: str, offset: int) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_spirv(SpirvWriter(words=words).build())
    assert caught.value.offset == offset


def test_a_cut_off_module() -> None:
    whole = module().build()
    for size in (18, len(whole) - 2):
        with pytest.raises(FormatError, match="cut off"):
            read_spirv(whole[:size])
    with pytest.raises(FormatError, match="are left"):
        read_spirv(module().add(17, 4).build()[:-4])


@given(noise=st.binary(min_size=1, max_size=12), position=st.integers(0, 700))
def test_noise_is_refused_or_read(noise: bytes, position: int) -> None:
    whole = bytes(module().build())
    with suppress(FormatError):
        _ = read_spirv(memoryview(whole[:position] + noise + whole[position + len(noise) :])).lines
