"""Phases of kernels that a generator wrote: ``tests/data/onednn`` has matrix products that oneDNN 3.13 (Apache-2.0), in
OpenVINO 2026.4.1, generated for bmg."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.phases import Products, phases_of
from kernlens.model.kernel import Kernel

FOLDER = Path(__file__).parents[2] / "data" / "onednn"
#: The counter of the loop over the products of an element, which it is counted down by.
_STEP = re.compile(r"add \(1\|M0\)\s+\(gt\)f\d\.\d\s+(r\d+\.\d+)<1>:d\s+\1<0;1,0>:d\s+-(\d+):w")
_PRODUCT = re.compile(r"dpas\.8x8 \(16\|M0\)\s+(r\d+):f\s+\1:f")


@pytest.fixture(params=[32, 64])
def kernel(request: pytest.FixtureRequest, newest_root: Path) -> Kernel:
    return kernlens.load(FOLDER / f"gemm_{request.param}.zebin")[0].kernels["gemm_kernel"]


def main_loop(kernel: Kernel) -> tuple[Products, list[str]]:
    """Return the products of the loop that has some, and the texts of its instructions."""
    loops = [phase for phase in phases_of(kernel) if phase.name.startswith("loop") and phase.products]
    assert len(loops) == 1
    assert loops[0].products is not None
    return loops[0].products, [kernel.instructions.texts[row] for row in loops[0].code]


def test_a_pass_of_the_main_loop_is_as_deep_as_its_counter_counts(kernel: Kernel) -> None:
    products, texts = main_loop(kernel)
    assert products.is_exact
    assert {int(match[2]) for text in texts if (match := _STEP.search(text))} == {products.depth}


def test_tiles_are_the_registers_that_products_are_added_to(kernel: Kernel) -> None:
    products, texts = main_loop(kernel)
    registers = [match[1] for text in texts if (match := _PRODUCT.search(text))]
    assert (len(registers), len(set(registers))) == (products.count, products.accumulators)
    assert (products.rows, products.columns) == (8, 16)


def test_phases_are_all_of_the_code_in_its_order(kernel: Kernel) -> None:
    assert [row for phase in phases_of(kernel) for row in phase.code] == list(range(len(kernel.instructions)))


@pytest.mark.parametrize("words", [(), ("--top", "3")])
def test_annotate_is_by_phase(words: tuple[str, ...], newest_root: Path) -> None:
    command = [sys.executable, "-m", "kernlens", "annotate", str(FOLDER / "gemm_32.zebin"), *words]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    loop = "  loop 1 (0x09c0, 30 instructions): 4 matrix products (13.3%) on 2 tiles of 8 x 16, 32 deep in a pass"
    assert loop in shown
    assert "  behind loop 4 (0x27f0, 284 instructions)" in shown
