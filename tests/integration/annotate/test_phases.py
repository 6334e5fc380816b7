"""Phases of kernels that a generator wrote: ``examples/generated`` and ``tests/data/onednn`` have matrix products that oneDNN
3.13 (Apache-2.0), in OpenVINO 2026.4.1, generated for bmg and ptl."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.phases import Products, phases_of
from kernlens.model.kernel import Kernel
from tests.documents import faults

FOLDER = Path(__file__).parents[3] / "examples" / "generated"
PERSISTENT = Path(__file__).parents[2] / "data" / "onednn" / "persistent_gemm.zebin"
#: The counter of the loop over the products of an element, which it is counted down by.
_STEP = re.compile(r"add \(1\|M0\)\s+\(gt\)f\d\.\d\s+(r\d+\.\d+)<1>:d\s+\1<0;1,0>:d\s+-(\d+):w")
_PREFETCH = re.compile(r"\S*\s+send\.ugm \(1\|M0\)\s+null\s+(r\d+) .*load_block2d")
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


def prefetches(texts: list[str]) -> Counter[str]:
    """Return how often there is a request that brings nothing to a register, by the register of its address."""
    return Counter(match[1] for text in texts if (match := _PREFETCH.match(text)))


def test_prefetches_before_the_loop_are_those_of_so_many_passes(kernel: Kernel) -> None:
    before, loop, *_ = phases_of(kernel)
    in_loop, ahead = (prefetches([kernel.instructions.texts[row] for row in part.code]) for part in (loop, before))
    (asked,) = (each for each in loop.requests if each.action == "prefetch")
    assert asked.count == in_loop.total() > 0
    assert asked.ahead == tuple(sorted(ahead[register] / count for register, count in in_loop.items()))


def test_a_phase_is_as_long_as_the_estimate_of_its_instructions(kernel: Kernel) -> None:
    waits, phases = kernel.waits, phases_of(kernel)
    assert waits is not None
    cycles = [phase.cycles for phase in phases if phase.cycles]
    assert len(cycles) == len(phases)
    assert (sum(each.issue for each in cycles), sum(each.wait for each in cycles)) == (
        waits.issue_cycles,
        waits.wait_cycles,
    )


def test_a_loop_over_tiles_does_not_hide_the_main_loop(newest_root: Path) -> None:
    """For ptl: a jump at the end leads back to the first tile's code, around all other loops."""
    kernel = kernlens.load(PERSISTENT)[0].kernels["gemm_kernel"]
    loops = [phase for phase in phases_of(kernel) if phase.depth]
    assert [phase.depth for phase in loops] == [2] * 4
    assert [phase.products.depth if phase.products else 0 for phase in loops] == [64, 0, 0, 0]
    assert [row for phase in phases_of(kernel) for row in phase.code] == list(range(len(kernel.instructions)))
    texts = [kernel.instructions.texts[row] for row in loops[0].code]
    assert {int(match[2]) for text in texts if (match := _STEP.search(text))} == {64}


def test_the_generator_is_told_from_its_debug_data(kernel: Kernel, tmp_path: Path) -> None:
    assert str(kernel.line_table_reason).startswith("oneDNN generated the machine code")
    content = (FOLDER / "gemm_32.zebin").read_bytes()
    assert content.count(b"\0oneDNN\0") == 1
    (tmp_path / "other.zebin").write_bytes(content.replace(b"\0oneDNN\0", b"\0aneDNN\0"))
    other = kernlens.load(tmp_path / "other.zebin")[0].kernels["gemm_kernel"]
    assert str(other.line_table_reason).endswith("names no line")


def test_a_comparison_lays_loops_of_a_kind_beside_one_another(newest_root: Path) -> None:
    command = [sys.executable, "-m", "kernlens", "diff", *(str(FOLDER / f"gemm_{depth}.zebin") for depth in (32, 64))]
    shown = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    (row,) = (line.split("  ") for line in shown.splitlines() if line.startswith("    loop 1 "))
    assert [cell.strip() for cell in row if " -> " in cell][:4] == ["30 -> 40", "4 -> 8", "32 -> 64", "6 -> 10"]
    document = json.loads(subprocess.run([*command, "--json"], check=False, capture_output=True, text=True).stdout)
    pairs = document["kernels"][0]["phases"]
    assert [pair["new"]["products"]["depth"] for pair in pairs if pair["old"] and pair["old"]["name"] == "loop 1"] == [
        64
    ]
    assert [phase["name"] for pair in pairs if (phase := pair["old"]) and not pair["new"]][-1] == "behind loop 4"


@pytest.mark.parametrize("words", [(), ("--waits",), ("--top", "3"), ("--top", "3", "--waits")])
def test_annotate_is_by_phase(words: tuple[str, ...], newest_root: Path) -> None:
    command = [sys.executable, "-m", "kernlens", "annotate", str(FOLDER / "gemm_32.zebin"), *words]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    document = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout)
    assert faults("annotate", document) == []
    assert [phase["loop_depth"] for phase in document["programs"][0]["kernels"][0]["phases"]] == [0, 1] * 4 + [0]
    loop = "  loop 1 (0x09c0, 30 instructions): 4 matrix products (13.3%) on 2 tiles of 8 x 16, 32 deep in a pass"
    assert loop in shown
    assert (
        "      3 global prefetches of 2D blocks, with 2 passes (150 cycles) of them before the loop, 3 global loads"
        in shown
    )
    assert "  behind loop 4 (0x27f0, 284 instructions)" in shown
