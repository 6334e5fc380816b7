"""The output of a kernel in a notebook, which keeps it in its file: how large it is."""

from __future__ import annotations

from pathlib import Path

import kernlens
from kernlens.toolchain.toolchains import SYSTEM


def test_a_kernel_of_a_thousand_instructions_takes_about_300_kb(darktable_kernels: Path) -> None:
    """With its stages, and all the viewer: one of 739 instructions has to leave the others their part."""
    stages = kernlens.stages(darktable_kernels / "denoiseprofile.cl", "dg2", toolchain=SYSTEM)
    (kernel,) = (each for program in stages.programs for each in program.kernels.values() if "decompose" in each.name)
    text = kernel._repr_html_()
    assert "<iframe" in text
    assert len(text) - text.index("</iframe>") < 20_000, "the listing below is a few rows"
    assert len(kernel.instructions) > 700
    assert len(text.encode()) < 305_000 - (1000 - len(kernel.instructions)) * 80
