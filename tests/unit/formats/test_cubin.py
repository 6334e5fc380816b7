"""Cubins: kernels, resources, line tables with inlined calls, lines of the PTX."""

from __future__ import annotations

import re
import struct

import pytest

from kernlens.analysis.correlate import correlate
from kernlens.errors import FormatError
from kernlens.formats.cubin.cubin_file import Cubin, read_cubin
from kernlens.formats.cubin.cubin_lines import PTX_LINES, CubinLines
from kernlens.formats.ptx.ptx_text import read_ptx
from kernlens.formats.samples.nsight_compute import read_source_page
from kernlens.model.source_map import SourcePlace
from tests.nvidia_files import DRIVER_ENTRY, LINES_ENTRY, PLAIN_ENTRY, entry, inlined, profiled, triton


def cubin(name: str) -> Cubin:
    return read_cubin(entry(name).result)


def test_kernels_and_resources() -> None:
    read = cubin(PLAIN_ENTRY)
    assert read.architecture == "sm_90"
    assert [(kernel.name, len(kernel.code), kernel.is_entry) for kernel in read.kernels] == [
        ("mandel", 1408, True), ("matmul", 1920, True), ("saxpy", 640, True),
    ]  # fmt: skip
    # What cuobjdump -res-usage of CUDA 13.5 prints.
    resources = [read.resources(kernel) for kernel in read.kernels]
    assert [each.registers for each in resources] == [13, 30, 10]
    assert [each.shared_bytes for each in resources] == [0, 3076, 0]
    assert [each.stack_bytes for each in resources] == [0, 0, 0]
    assert [each.barriers for each in resources] == [0, 1, 0]
    assert [[p.offset for p in read.parameters(kernel)] for kernel in read.kernels][2] == [0, 8, 16, 20]


@pytest.mark.parametrize(("kernel", "page"), [("mixed", "sass.csv"), ("matmul", "triton_sass.csv")])
def test_equal_operations_are_one_mnemonic(kernel: str, page: str) -> None:
    code = profiled("k.cubin") if kernel == "mixed" else triton(".cubin")
    operations = next(each.operations for each in read_cubin(memoryview(code)).kernels if each.name == kernel)
    texts = read_source_page(profiled(page)).kernels[0].texts.values()
    words = [word for text in texts if (word := re.sub(r"@\S+ ", "", text).split()[0].split(".")[0]) != "NOP"]
    mnemonics: dict[int, set[str]] = {}
    for operation, word in zip(operations, words, strict=True):
        mnemonics.setdefault(operation, set()).add(word)
    assert len(mnemonics) > 20
    assert [each for each in mnemonics.values() if len(each) > 1] == []


def test_older_layout_of_flags() -> None:
    """ABI version 7: the architecture in the low byte, barriers in the section's flags."""
    read = read_cubin(memoryview(triton(".cubin")))
    (kernel,) = read.kernels
    resources = read.resources(kernel)
    assert (read.architecture, read.elf.abi_version) == ("sm_90", 7)
    assert (resources.registers, resources.shared_bytes, resources.barriers) == (64, 1024, 1)
    assert resources.required_block == (128, 1, 1)


def test_the_driver_s_own_kernels() -> None:
    read = cubin(DRIVER_ENTRY)
    assert len(read.kernels) == 16
    assert {kernel.name for kernel in read.kernels} >= {"bufferFill", "imageWritef2D"}
    assert {symbol.name for symbol in read.symbols if symbol.kind == "kernel"} == {each.name for each in read.kernels}


def test_one_line_program_of_three_kernels() -> None:
    read = cubin(LINES_ENTRY)
    lines = CubinLines(read)
    assert set(lines) == {"mandel", "matmul", "saxpy"}
    for kernel in read.kernels:
        table = lines[kernel.name]
        assert table.offsets[0] == 0
        assert table.offsets[-1] == len(kernel.code)
        assert {table.files[file].path for file in table.files_of} == {"/home/user/app/<kernel>"}
    # The first line of program.cl is empty.
    assert set(lines["saxpy"].lines) == {2}
    assert set(lines["mandel"].lines) == {7}


def test_a_file_without_lines() -> None:
    lines = CubinLines(cubin(PLAIN_ENTRY))
    assert not lines.has_section
    assert not lines


def test_inlined_calls() -> None:
    """The frames are those that ``nvdisasm -gi`` prints."""
    read = read_cubin(memoryview(inlined(".cubin")))
    lines = CubinLines(read)
    main, header = "/home/user/a.cl", "/home/user/b.h"
    for kernel in read.kernels:
        offsets = range(0, len(kernel.code), 16)
        source_map = correlate(offsets, lines[kernel.name])
        stacks = {offset: source_map.inlined_at(index) for index, offset in enumerate(offsets)}
        places = dict(zip(offsets, source_map.places, strict=True))
        assert places[0x50] == SourcePlace(main, 3)
        assert stacks[0x50] == (SourcePlace(main, 11),)
        assert places[0xB0] == SourcePlace(header, 4)
        assert stacks[0xB0] == (SourcePlace(main, 3), SourcePlace(main, 11))
        assert places[0xC0] == SourcePlace(main, 12)
        assert stacks[0xC0] == ()
        assert [call.name for call in lines[kernel.name].inlined] == ["foo", "foo", "bar"]


def test_lines_of_the_ptx() -> None:
    """The lines are those of the PTX that the cubin was made from, of which it holds a copy without comments."""
    read = read_cubin(memoryview(triton(".cubin")))
    ptx = read_ptx(memoryview(triton(".ptx")))
    copy = read.ptx.split("\n")
    table = CubinLines(read, PTX_LINES)["matmul"]
    shown = [ptx.lines[line - 1] for line in table.lines if line]
    assert len(shown) > 200
    assert all(ptx.lines[line - 1].partition("//")[0].strip() == copy[line - 1].strip() for line in table.lines if line)
    # Rows name statements, or the labels before them.
    numbers = set(ptx.rows.lines)
    assert sum(line in numbers for line in table.lines) > 0.95 * len(table)


def test_a_context_that_leads_forward() -> None:
    """A row that was inlined at itself would be followed without end."""
    content = inlined(".cubin")
    mark = content.index(b"\x00\x03\x90\x03\x00")
    changed = content[: mark + 3] + b"\x04" + content[mark + 4 :]
    read = read_cubin(memoryview(changed))
    lines = CubinLines(read)
    with pytest.raises(FormatError, match="stands behind the rows"):
        _ = [lines[kernel.name].inlined for kernel in read.kernels]


def test_an_attribute_that_is_cut_off() -> None:
    content = bytes(entry(PLAIN_ENTRY).result)
    read = read_cubin(memoryview(content))
    section = next(each for each in read.elf.sections if each.name == ".nv.info.saxpy")
    size = struct.pack("<H", 0xFFFF)
    changed = content[: section.offset + 2] + size + content[section.offset + 4 :]
    damaged = read_cubin(memoryview(changed))
    with pytest.raises(FormatError, match=r"\.nv\.info\.saxpy.*reaches beyond"):
        damaged.resources(damaged.kernels[2])


def test_flags_without_an_architecture() -> None:
    content = bytearray(triton(".cubin"))
    content[48:52] = bytes(4)
    with pytest.raises(FormatError, match="name no architecture"):
        read_cubin(memoryview(content))
