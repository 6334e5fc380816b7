"""SPIR-V in Rusticl's program binaries: one of Mesa 22.3.6 on llvmpipe, and the same module in the later form."""

from __future__ import annotations

import struct

import pytest

from kernlens.formats.rusticl import rusticl_spirv
from kernlens.loading import open_build
from kernlens.model.build import Build, HeldParts
from kernlens.toolchain.cached_code import CachedCode
from kernlens.toolchain.driver_stages import driver_stages
from tests.tree import ROOT

BINARY = (ROOT / "tests/data/rusticl/22.3.6.bin").read_bytes()
#: The front end's module begins behind three numbers, of which the second is its size.
MODULE = BINARY[12:]
NAME = b"llvmpipe"


def later(version: int = 1, size: int = len(MODULE), name: bytes = NAME, module: bytes = MODULE) -> bytes:
    """A binary of the later form, as rusticl/core/program.rs of Mesa 24 writes it."""
    return b"rusticl\0" + struct.pack("<IIII", version, len(name), size, 4) + name + module


@pytest.mark.parametrize("binary", [BINARY, later(), later(name=b"")], ids=["22.3", "later", "without a name"])
def test_a_build_has_the_module_as_its_program_and_stage(binary: bytes) -> None:
    build = Build("program-1", "llvmpipe", ok=True, parts=HeldParts(binary=binary))
    (program,) = open_build(build)
    assert (program.format, bytes(program.spirv)) == ("spirv", MODULE)
    assert [symbol.name for symbol in program.symbols if symbol.kind == "kernel"] == ["add", "two"]
    stages = driver_stages("rusticl", binary, CachedCode({}))
    assert [(stage.stage, stage.form) for stage in stages] == [("spirv", "binary"), ("spirv", "text")]
    assert stages[0].content == MODULE
    assert stages[1].content.count(b"OpEntryPoint Kernel ") == 2
    assert driver_stages("another platform", binary, CachedCode({})) == ()


@pytest.mark.parametrize(
    "binary",
    [
        *(BINARY[:size] for size in range(0, 40, 3)),
        BINARY[:-4],
        BINARY + b"\0",
        b"\2" + BINARY[1:],
        BINARY[:12] + b"\0" * len(MODULE),
        *(later()[:size] for size in range(8, 48, 3)),
        later(version=2),
        later(size=len(MODULE) + 1),
        later(size=0xFFFFFFFF),
        later(module=b"\0" * len(MODULE)),
        b"rusticl\0" + struct.pack("<IIII", 1, 0xFFFFFFFF, len(MODULE), 4) + NAME + MODULE,
    ],
)
def test_what_is_none_of_its_binaries(binary: bytes) -> None:
    assert rusticl_spirv(memoryview(binary)) is None
    assert driver_stages("rusticl", binary, CachedCode({})) == ()
