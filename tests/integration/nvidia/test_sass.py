"""Instructions, lines and resources of real cubins, against NVIDIA's own tools where the machine has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.formats.cubin.cubin_file import read_cubin
from kernlens.isa.nvidia.sass_listing import SassListing
from kernlens.toolchain.nvdisasm import disassemble_cubin, find_nvdisasm
from tests.integration.nvidia.sass_oracle import compare
from tests.nvidia_files import DRIVER_ENTRY, LINES_ENTRY, PLAIN_ENTRY, entry, inlined, triton

pytestmark = pytest.mark.skipif(
    find_nvdisasm() is None, reason="no nvdisasm here: NVIDIA's licence lets nobody pass it on"
)


@pytest.mark.parametrize("name", [PLAIN_ENTRY, LINES_ENTRY, DRIVER_ENTRY, "triton", "inlined"])
def test_cubins_as_nvidia_s_tools_print_them(name: str, tmp_path: Path) -> None:
    content = {"triton": triton(".cubin"), "inlined": inlined(".cubin")}.get(name) or bytes(entry(name).result)
    differing: list[str] = []
    counts = compare(content, tmp_path, differing)
    assert differing == []
    assert counts["instructions"] > 40
    if name not in (PLAIN_ENTRY, DRIVER_ENTRY):
        assert counts["-gi"] == counts["-gp"] == counts["instructions"]


def test_a_kernel_alone_is_listed_as_among_all() -> None:
    content = bytes(entry(DRIVER_ENTRY).result)
    kernels = read_cubin(memoryview(content)).kernels
    whole = SassListing(*disassemble_cubin(content))
    assert len(kernels) == 16
    for kernel in kernels:
        assert kernel.symbol is not None
        alone = SassListing(*disassemble_cubin(content, [kernel.symbol])).instructions(kernel.name, kernel.code)
        among = whole.instructions(kernel.name, kernel.code)
        assert [each.text for each in alone] == [each.text for each in among]
