"""AMD's cycles, held against the timelines that llvm-mca prints of each block in a process of its own."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from kernlens.errors import UnsupportedError
from kernlens.loading.open import load
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.waits import Waits
from kernlens.toolchain.amd_clang import compile_for_amd
from kernlens.toolchain.amd_compiler import amd_compiler
from kernlens.toolchain.llvm_mca import LlvmMca, llvm_mca
from kernlens.toolchain.toolchains import find_toolchains
from tests.tree import ROOT
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["kernlens"]

DEVICES = ("gfx90a", "gfx1030")
SOURCES = sorted((ROOT / "examples/kernels").glob("*.cl"))
_COMPILERS = [each for each in map(amd_compiler, find_toolchains()) if each is not None]


def _mca() -> LlvmMca | None:
    try:
        return llvm_mca(int(_COMPILERS[0].version.split(".")[0]))
    except UnsupportedError:
        return None


pytestmark = [
    pytest.mark.skipif(
        not _COMPILERS, reason="no clang with lld and the ROCm device libraries (rocm-device-libs, lld-15)"
    ),
    pytest.mark.skipif(not _COMPILERS or _mca() is None, reason="no llvm-mca of that clang's LLVM (llvm-15)"),
]


def _program(source: Path, device: str, folder: Path) -> Program:
    build = compile_for_amd(source, device, "-gline-tables-only", _COMPILERS[0].toolchain, 120)
    assert build.ok, build.reason
    path = folder / f"{source.stem}-{device}.hsaco"
    path.write_bytes(build.binary)
    (program,) = load(path)
    return program


def _known(kernel: Kernel) -> Waits:
    assert kernel.waits is not None, kernel.waits_reason
    return kernel.waits


def _printed_starts(texts: list[str], device: str) -> list[int]:
    """Return the columns in which the letters D stand in the timeline that llvm-mca prints."""
    program = _mca()
    assert program is not None
    words = ["-mtriple=amdgcn-amd-amdhsa", f"-mcpu={device}", "-iterations=1", "-timeline", "-timeline-max-cycles=0"]
    command = program.toolchain.command(program.path, *words)
    text = subprocess.run(command, input="\n".join(texts), capture_output=True, text=True, check=True).stdout
    timeline = text.partition("Timeline view:")[2].partition("Average Wait times")[0]
    margin = next(line for line in timeline.splitlines() if line.startswith("Index")).index("0")
    rows = [line for line in timeline.splitlines() if re.match(r"\[0,\d+\]", line)]
    return [line.index("D", margin) - margin for line in rows]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_starts_equal_the_printed_timelines(source: Path, device: str, tmp_path: Path) -> None:
    compared = 0
    for kernel in _program(source, device, tmp_path).kernels.values():
        waits = _known(kernel)
        for first, end in pairwise([*waits.blocks, len(kernel.instructions)]):
            texts = list(kernel.instructions.texts[first:end])
            assert waits.starts[first:end].tolist() == _printed_starts(texts, device)
            assert not any(text.startswith(("s_cbranch", "s_branch", "s_endpgm")) for text in texts[:-1])
            compared += end - first
            for row in range(first + 1, end):
                waited = waits.waits[row].cycles if row in waits.waits else 0
                assert waits.starts[row] == waits.starts[row - 1] + waits.issue[row - 1] + waited
    assert compared > 20


def test_counters_wait_for_accesses(tmp_path: Path) -> None:
    kernel = _program(ROOT / "examples/kernels/blur.cl", "gfx90a", tmp_path).kernels["blur"]
    waits, texts = _known(kernel), kernel.instructions.texts
    waiting = [wait for wait in waits.waits.values() if texts[wait.row].startswith("s_waitcnt")]
    assert max(wait.cycles for wait in waiting) > 50
    assert all(texts[wait.producer].startswith(("s_load", "global_load")) for wait in waiting)


def test_the_command_names_the_model(kernlens: Kernlens, tmp_path: Path) -> None:
    _program(ROOT / "examples/kernels/blur.cl", "gfx1030", tmp_path)
    path = tmp_path / "blur-gfx1030.hsaco"
    listed = kernlens("annotate", path, "--waits").out
    assert "'s estimate, its model of gfx1030, memory of fixed latency, one wave alone, loops once: " in listed
    assert re.search(r"waits \d+ cycles for 0x[0-9a-f]+, line \d+ \(global read\)", listed)
    (kernel,) = kernlens("annotate", path, "--waits", "--json").document["programs"][0]["kernels"]
    assert kernel["waits"]["estimate"].startswith("llvm-mca ")
    assert kernel["waits"]["wait_cycles"] > 0
    page = kernlens("annotate", path, "--json").document["programs"][0]["kernels"][0]
    assert "waits" not in page


def test_without_the_program_the_reason_stands(
    kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(ROOT / "examples/kernels/blur.cl", "gfx1030", tmp_path)

    def missing(major: int) -> LlvmMca:
        raise UnsupportedError(f"llvm-mca of LLVM {major} is not installed")

    monkeypatch.setattr("kernlens.toolchain.llvm_mca.llvm_mca", missing)
    listed = kernlens("annotate", tmp_path / "blur-gfx1030.hsaco", "--waits").out
    assert re.search(r"waits are unknown: llvm-mca of LLVM \d+ is not installed", listed)


def test_a_processor_without_a_model_is_refused() -> None:
    program = _mca()
    assert program is not None
    with pytest.raises(UnsupportedError, match="has no model of gfx9999"):
        program.simulate("amdgcn-amd-amdhsa", "gfx9999", "", [["s_nop 0"]])
    with pytest.raises(UnsupportedError, match="does not simulate this code: "):
        program.simulate("amdgcn-amd-amdhsa", "gfx900", "", [["v_no_such_instruction v1"]])
