"""The program binary of PoCL: its header, files and kernels, in the versions that there are."""

from __future__ import annotations

import struct

import pytest

from kernlens.errors import FormatError, TooManyError
from kernlens.formats.poclbin import read_poclbin
from kernlens.model.allowance import Allowance
from kernlens.model.kernel import KernelArgument
from tests.writers.poclbin import WrittenKernel, write_poclbin

KERNEL = WrittenKernel(
    "blur",
    arguments=[
        (0x11A3, 0x119B, 1 | 2, 8, "in", "float*"),
        (0x11A1, 0x119B, 0, 8, "picture", "image2d_t"),
        (0x11A3, 0x119C, 0, 8, "shared", "int*"),
        (0x11A3, 0x119E, 0, 4, "", ""),
    ],
    local_sizes=[256, 16],
    required=(16, 2, 1),
    attributes="__attribute__((reqd_work_group_size(16, 2, 1)))",
    files={"/blur/0-0-0/blur.so": b"code", "/blur/16-2-1-goffs0/blur.so": b"", "/blur/0-0-0/parallel.bc": b"BC"},
)


def read(content: bytes) -> object:
    return read_poclbin(memoryview(content))


def test_a_binary_of_pocl_3() -> None:
    content = write_poclbin([KERNEL, WrittenKernel("other")])
    binary = read_poclbin(memoryview(content))
    assert (binary.version, binary.device_hash) == (9, 0x1234)
    assert binary.build_hash == "AB/CDEFGHIJKLMNOPABCDEFGHIJKLMNOPABCDEFG"
    (program,) = binary.files
    assert (program.path, program.name, bytes(program.data)) == ("/program.bc", "program.bc", b"BC\xc0\xde")
    assert content[program.offset :].startswith(b"BC\xc0\xde")
    blur, other = binary.kernels
    assert blur.arguments == (
        KernelArgument(0, "in", "float*", "global", None, "const restrict", 8),
        KernelArgument(1, "picture", "image2d_t", "global", "write_only", None, 8),
        KernelArgument(2, "shared", "int*", "local", None, None, 8),
        KernelArgument(3, None, None, "private", None, None, 4),
    )
    assert (blur.local_bytes, blur.required_work_group_size, blur.required_sub_group_size) == (272, (16, 2, 1), None)
    assert blur.attributes == KERNEL.attributes
    assert [(file.name, file.folder, file.work_group_size, bytes(file.data)) for file in blur.files] == [
        ("blur.so", "0-0-0", None, b"code"),
        ("blur.so", "16-2-1-goffs0", (16, 2, 1), b""),
        ("parallel.bc", "0-0-0", None, b"BC"),
    ]
    assert (other.name, other.arguments, other.files, other.required_work_group_size) == ("other", (), (), None)


@pytest.mark.parametrize("version", [11, 12])
def test_what_later_versions_add(version: int) -> None:
    metadata = struct.pack("<2I", 4, 5) + struct.pack("<5I", 1, 2, 3, 4, 5) + struct.pack("<I", 8)
    kernel = WrittenKernel("blur", KERNEL.arguments, flags=2 | 4 | 8, metadata=metadata, files=KERNEL.files)
    binary = read_poclbin(memoryview(write_poclbin([kernel], version=version, flags=2)))
    assert binary.kernels[0].required_sub_group_size == 8
    assert [argument.name for argument in binary.kernels[0].arguments] == ["in", "picture", "shared", None]
    assert len(binary.kernels[0].files) == 3


def test_names_that_pocl_made_up_are_none() -> None:
    binary = read_poclbin(memoryview(write_poclbin([WrittenKernel("k", KERNEL.arguments, stated=0)])))
    assert {argument.name for argument in binary.kernels[0].arguments} == {None}
    assert {argument.type_name for argument in binary.kernels[0].arguments} == {None}


@pytest.mark.parametrize("version", [0, 8, 13])
def test_other_versions(version: int) -> None:
    with pytest.raises(
        FormatError, match=f"version {version} of PoCL's program binary is not known; kernlens reads 9 to 12"
    ):
        read(write_poclbin([KERNEL], version=version))


def test_every_cut_is_noticed() -> None:
    content = write_poclbin([KERNEL])
    for size in range(len(content)):
        with pytest.raises(FormatError):
            read(content[:size])


def test_a_kernel_whose_sizes_contradict() -> None:
    content = bytearray(write_poclbin([KERNEL], files={}))
    start = struct.calcsize("<8sQIIQI41s")
    struct.pack_into("<QQ", content, start, 40, 100)
    with pytest.raises(FormatError, match="a kernel of 40 bytes with files of 100 bytes"):
        read(bytes(content))


def test_more_kernels_than_a_file_of_its_size_may_have() -> None:
    content = write_poclbin([WrittenKernel("k")] * 20_000)
    with pytest.raises(TooManyError):
        read_poclbin(memoryview(content), Allowance(1000))


def test_more_local_variables_than_bytes() -> None:
    content = bytearray(write_poclbin([WrittenKernel("k")], files={}))
    struct.pack_into("<I", content, struct.calcsize("<8sQIIQI41sQQIIcI"), 1 << 31)
    with pytest.raises(FormatError, match="local variables do not fit"):
        read(bytes(content))
