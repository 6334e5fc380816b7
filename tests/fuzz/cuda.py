"""Targets for the readers of NVIDIA's files."""

from __future__ import annotations

from contextlib import suppress

from kernlens.errors import FormatError, ToolError
from kernlens.formats.compute_cache import HEADER_SIZE, read_cache_entry
from kernlens.formats.cubin.cubin_file import read_cubin
from kernlens.formats.cubin.cubin_lines import PTX_LINES, CubinLines
from kernlens.formats.fatbin import read_fatbin
from kernlens.formats.listings.triton_ir import read_triton_lines
from kernlens.formats.ptx.ptx_text import read_ptx, read_ptx_lines
from kernlens.isa.nvidia.sass_listing import SassListing
from kernlens.model.allowance import Allowance

#: The most that an image of the fuzzer may unpack to.
_ROOM = 1 << 20
#: The code of the kernel that a listing is asked for.
_CODE = bytes(range(32))


def ptx(data: bytes) -> None:
    """Read a PTX text: its functions, statements and lines."""
    lines = data.count(b"\n") + 1
    rows = read_ptx_lines(data.decode("utf-8", "replace"))
    assert all(0 < line <= lines for line in rows.lines)
    read = read_ptx(memoryview(data))
    for function in read.functions:
        assert 0 < function.first <= function.last <= lines
        assert read.part(function.name) is not None


def sass_listing(data: bytes) -> None:
    """Read what a disassembler may print, and take a kernel's instructions from it."""
    text = data.decode("utf-8", "replace")
    with suppress(ToolError):
        listing = SassListing(text, "nvdisasm")
        instructions = listing.instructions("k", _CODE)
        assert len(instructions) == len(_CODE) // 16
        _ = instructions.kinds, instructions.branches, instructions.called


def triton_text(data: bytes) -> None:
    """Read a stage of Triton's: its operations and their lines."""
    rows = read_triton_lines(data.decode("utf-8", "replace"))
    count = data.count(b"\n") + 1
    assert all(0 < line <= count for line in rows.lines)


def cubin(data: bytes) -> None:
    """Read a cubin: kernels, resources, symbols, both line tables."""
    read = read_cubin(memoryview(data))
    _ = read.symbols, read.relocations, read.ptx
    for kernel in read.kernels:
        assert len(kernel.code) <= len(data)
        with suppress(FormatError):
            read.resources(kernel)
        with suppress(FormatError):
            read.parameters(kernel)
    for lines in (CubinLines(read), CubinLines(read, PTX_LINES)):
        with suppress(FormatError):
            for table in lines.values():
                assert len(table.offsets) == len(table.flags)
                _ = table.inlined


def fatbin(data: bytes) -> None:
    """Read a fat binary and unpack its images."""
    for image in read_fatbin(memoryview(data), Allowance(len(data))):
        assert len(image.stored) <= len(data)
        if (image.unpacked or 0) <= _ROOM:
            with suppress(FormatError):
                assert len(image.read()) == (len(image.stored) if image.unpacked is None else image.unpacked)


def compute_cache(data: bytes) -> None:
    """Read an entry of the compute cache."""
    read = read_cache_entry(memoryview(data))
    assert HEADER_SIZE + len(read.key) + len(read.result) == len(data)
    assert len(read.ptx) <= len(read.key)
