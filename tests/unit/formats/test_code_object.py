"""AMD's code objects: targets, kernels, metadata, damage."""

from __future__ import annotations

import pytest

from kernlens.errors import FormatError, KernlensError, UnsupportedError
from kernlens.formats.amdgpu.code_object import read_code_object, without_padding
from kernlens.formats.amdgpu.gpu_targets import target_of
from tests.writers.code_objects import CODE_END, END, GFX90A, NOP, TEXT_ADDRESS, code_object, kernel, metadata

TWO = {"add": NOP + END, "mul": NOP + NOP + END}
ARGUMENTS = [
    {".name": "out", ".type_name": "float*", ".size": 8, ".offset": 0, ".value_kind": "global_buffer",
     ".address_space": "global", ".is_restrict": True},
    {".name": "n", ".type_name": "int", ".size": 4, ".offset": 8, ".value_kind": "by_value"},
    {".size": 8, ".offset": 16, ".value_kind": "hidden_global_offset_x"},
]  # fmt: skip


def test_kernels_and_metadata() -> None:
    stated = metadata(
        [
            kernel("mul", vgpr_count=9, wavefront_size=32),
            kernel(
                "add", vgpr_count=12, agpr_count=4, sgpr_count=20, vgpr_spill_count=3, sgpr_spill_count=0, args=ARGUMENTS,
                group_segment_fixed_size=1024, private_segment_fixed_size=16, kernarg_segment_size=24, wavefront_size=64,
                max_flat_workgroup_size=256, reqd_workgroup_size=[8, 4, 1], uses_dynamic_stack=False,
            ),
        ]
    )  # fmt: skip
    read = read_code_object(memoryview(code_object(TWO, stated)))
    assert (str(read.target), read.version, read.is_linked) == ("gfx1030", 4, True)
    assert [(each.name, each.address, bytes(each.code)) for each in read.kernels] == [
        ("mul", TEXT_ADDRESS + 256, TWO["mul"]),
        ("add", TEXT_ADDRESS, TWO["add"]),
    ]
    add = read.kernels[1].metadata
    assert add is not None
    registers = (add.vgpr_count, add.agpr_count, add.sgpr_count, add.vgpr_spill_count, add.sgpr_spill_count)
    assert registers == (12, 4, 20, 3, 0)
    assert (add.group_segment_bytes, add.private_segment_bytes, add.kernarg_segment_bytes) == (1024, 16, 24)
    assert (add.wavefront_size, add.max_flat_workgroup_size, add.required_work_group_size) == (64, 256, (8, 4, 1))
    assert add.uses_dynamic_stack is False
    assert [
        (each.name, each.type_name, each.address_space, each.size, each.type_qualifier) for each in add.arguments
    ] == [
        ("out", "float*", "global", 8, "restrict"),
        ("n", "int", "private", 4, None),
    ]
    assert [(symbol.name, symbol.kind) for symbol in read.symbols] == [
        ("add", "kernel"), ("add.kd", "export"), ("mul", "kernel"), ("mul.kd", "export"),
    ]  # fmt: skip


def test_labels_of_code_are_passed_over() -> None:
    """The LLVM of ROCm 5.0 leaves one for each block in linked code."""
    stated = metadata([kernel("add", vgpr_count=1)])
    plain, labelled = (
        read_code_object(memoryview(code_object({"add": NOP * 9 + END}, stated, labels=labels))) for labels in (0, 5)
    )
    assert len(labelled.elf.symbols()) == len(plain.elf.symbols()) + 5
    assert (
        [symbol.name for symbol in labelled.symbols] == [symbol.name for symbol in plain.symbols] == ["add", "add.kd"]
    )
    assert bytes(labelled.kernels[0].code) == bytes(plain.kernels[0].code) == NOP * 9 + END


def test_kernels_without_metadata() -> None:
    read = read_code_object(memoryview(code_object(TWO, None)))
    assert [each.name for each in read.kernels] == ["add", "mul"]
    assert read.kernels[0].metadata is None


def test_kernels_without_functions() -> None:
    """The descriptor leads to the code, which ends before what pads it."""
    code = {"add": NOP + END + CODE_END * 5 + NOP, "mul": END}
    read = read_code_object(memoryview(code_object(code, None, has_functions=False)))
    assert [(each.name, each.address) for each in read.kernels] == [("add", TEXT_ADDRESS), ("mul", TEXT_ADDRESS + 256)]
    assert bytes(read.kernels[1].code) == END
    assert bytes(without_padding(memoryview(code["add"]))) == NOP + END


def test_size_that_no_symbol_states() -> None:
    code = {"add": NOP + END + CODE_END, "mul": END}
    read = read_code_object(memoryview(code_object(code, None, sizes={"add": 0})))
    assert bytes(read.kernels[0].code) == NOP + END


@pytest.mark.parametrize(
    ("flags", "abi", "target"),
    [
        (0x36, 2, "gfx1030"), (0x33F, 3, "gfx90a:xnack+"), (0xA3F, 2, "gfx90a:sramecc-:xnack-"), (0x53F, 2, "gfx90a"),
        (0x32C, 1, "gfx900:sramecc+:xnack+"), (0x12C, 1, "gfx900:xnack+"), (0x4E, 4, "gfx1201"),
    ],
)  # fmt: skip
def test_flags_name_the_target(flags: int, abi: int, target: str) -> None:
    assert str(target_of(flags, abi)) == target


def test_processor_that_is_not_known() -> None:
    read = read_code_object(memoryview(code_object(TWO, None, flags=0xFE)))
    assert (read.target, read.mach) == (None, 0xFE)


@pytest.mark.parametrize(
    ("osabi", "abi", "message"),
    [
        (65, 2, "graphics drivers"),
        (66, 2, "Mesa"),
        (0, 2, "no runtime"),
        (64, 0, "code object 2"),
        (64, 9, "code object 11"),
    ],
)
def test_what_is_not_read(osabi: int, abi: int, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        read_code_object(memoryview(code_object(TWO, None, osabi=osabi, abi_version=abi)))


def test_damaged_metadata() -> None:
    with pytest.raises(FormatError, match="not a map"):
        read_code_object(memoryview(code_object(TWO, b"\x93\x01\x02\x03")))
    with pytest.raises(FormatError, match="announced"):
        read_code_object(memoryview(code_object(TWO, b"\xdf\xff\xff\xff\xff")))
    odd = {
        "amdhsa.kernels": [7, {".name": 5, ".symbol": "add.kd", ".vgpr_count": -1, ".args": {}}],
        "amdhsa.version": 3,
    }
    (read,) = read_code_object(memoryview(code_object(TWO, odd, flags=GFX90A))).kernels
    assert read.name == "add"
    assert read.metadata is not None
    assert read.metadata.vgpr_count is None


def test_kernel_without_code() -> None:
    with pytest.raises(FormatError, match="neither a function's symbol nor a descriptor"):
        _ = read_code_object(memoryview(code_object(TWO, metadata([kernel("sub")])))).kernels
    with pytest.raises(FormatError, match="outside the file's code"):
        _ = read_code_object(memoryview(code_object(TWO, None, sizes={"add": 1 << 40}))).kernels


def test_cut_files() -> None:
    whole = code_object(TWO, metadata([kernel("add"), kernel("mul")]))
    for end in range(0, len(whole), 7):
        with pytest.raises(KernlensError):
            _ = read_code_object(memoryview(whole[:end])).kernels
