"""The occupancy of AMD's kernels, held against what clang states of the same kernels in its assembly."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kernlens
from kernlens.formats.amdgpu.assembly_notes import stated_occupancies
from tests.corpus.oracles.run import output_of

#: The registers that kernels need. They have no local memory: LLVM 15 does not divide its waves among SIMDs.
_COUNTS = (1, 8, 24, 32, 40, 56, 72, 96, 120, 168, 250)


def _kernel(count: int) -> str:
    return f'kernel void k{count}(global float *a) {{ __asm__ volatile("" ::: "v{count - 1}"); a[0] = 1; }}'


@pytest.mark.skipif(shutil.which("clang-15") is None, reason="no clang-15")
@pytest.mark.parametrize("processor", ["gfx900", "gfx90a", "gfx1030"])
def test_clang_states_the_same(processor: str, tmp_path: Path) -> None:
    source, file, assembly = tmp_path / "k.cl", tmp_path / "k.o", tmp_path / "k.s"
    source.write_text("\n".join(map(_kernel, _COUNTS)))
    words = [
        "clang-15",
        "-x",
        "cl",
        "-target",
        "amdgcn-amd-amdhsa",
        f"-mcpu={processor}",
        "-nogpulib",
        "-O2",
        "-Xclang",
    ]
    for output, kind in ((file, "-c"), (assembly, "-S")):
        output_of([*words, "-finclude-default-header", kind, str(source), "-o", str(output)])
    stated = stated_occupancies(assembly.read_text())
    (program,) = kernlens.load(file)
    ours = {name: kernel.resources.stated["occupancy"] for name, kernel in program.kernels.items()}
    assert ours == stated
    assert len(stated) == len(_COUNTS)
    assert len(set(stated.values())) > 3
