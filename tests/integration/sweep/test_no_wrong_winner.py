"""Variants of kernels that were constructed: where a ranking is made, it is that of the instructions that ran."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import kernlens
from kernlens.model.best_sets import best_sets, cycles_of, shape_of
from kernlens.model.code_shape import undecided
from kernlens.model.sweep_row import SweepRow
from kernlens.verbs.observe.observe import observe
from tests.integration.observe.test_hardware_counters import pytestmark  # noqa: F401
from tests.whole import before_release

#: Loops that are unrolled or not, over memory and over registers, nested ones, arrays that go to memory, several results of a
#: work-item, and more or less work in a loop, which can be ranked.
VARIANTS = """
#define HINT __attribute__((opencl_unroll_hint(UNROLL)))
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef EXTRA
#define EXTRA 0
#endif
#ifndef R
#define R 1
#endif
#ifndef TABLE
#define TABLE 0
#endif
float more(float x) {
#if EXTRA > 0
  x = x * 1.5f + 0.25f;
#endif
#if EXTRA > 1
  x = x * x + x;
  x = x / (x * x + 1.0f);
#endif
#if EXTRA > 2
  x = sqrt(fabs(x)) + x * 3.0f;
  x = x / (x + 2.0f);
#endif
#if EXTRA > 3
  x = fma(x, x, 0.125f) - x * 0.5f;
#endif
#if EXTRA > 4
  x = as_float((as_int(x) & 0x7fffff) | 0x3f800000);
#endif
#if EXTRA > 5
  x = fmin(fmax(x, 0.25f), 1.75f) + (float)((int)(x * 64.0f) * 3 & 15);
#endif
#if EXTRA > 6
  x = x > 1.0f ? x * 0.75f : x + 0.5f;
  x = x * x * x + 0.5f * x;
#endif
#if EXTRA > 7
  x = native_exp(x * 0.01f) + x;
#endif
#if EXTRA > 8
  x = x / (x * 0.5f + 3.0f) + native_sin(x);
#endif
  return x;
}
kernel void columns(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float s = 0;
  HINT for (int j = 0; j < n; j++) s += more(a[j * 64 + i]);
  o[i] = s;
}
kernel void registers(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float x = a[i];
  HINT for (int j = 0; j < n; j++) x = more(x * 0.5f + j);
  o[i] = x;
}
kernel void nested(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float s = 0;
  for (int k = 0; k < 3 + (n & 1); k++)
    HINT for (int j = 0; j < n; j++) s = s * 0.5f + more(a[(j + k) * 64 + i]);
  o[i] = s;
}
kernel void results(global const float *a, global float *o, int n) {
  int i = get_global_id(0) * R;
  for (int r = 0; r < R; r++) o[i + r] = more(a[i + r] * n);
}
kernel void rows(global const float *a, global float *o, int n) {
  int i = get_global_id(0) * R;
  float s[R];
  __attribute__((opencl_unroll_hint(R))) for (int r = 0; r < R; r++) s[r] = 0;
  HINT for (int j = 0; j < n; j++)
    __attribute__((opencl_unroll_hint(R))) for (int r = 0; r < R; r++) s[r] += more(a[j * 64 + i + r]);
  __attribute__((opencl_unroll_hint(R))) for (int r = 0; r < R; r++) o[i + r] = s[r];
}
kernel void tables(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float t[96], s = 0;
  __attribute__((opencl_unroll_hint(96))) for (int j = 0; j < 96; j++) t[j] = more(a[i] + j * 0.25f);
#if TABLE
  s = t[n & 63] * t[(n + i) & 63];
#else
  __attribute__((opencl_unroll_hint(96))) for (int j = 0; j < 96; j++) s += t[j] * t[95 - j];
#endif
  o[i] = s;
}
"""
UNROLLED = ["", "-DUNROLL=2", "-DUNROLL=4", "-DUNROLL=8"]
WORK = ["-DEXTRA=1", "-DEXTRA=2", "-DEXTRA=3"]
RESULTS = ["", "-DR=2", "-DR=4", "-DR=8"]
#: The variants of each kernel, the first one to compare with.
SETS = {
    "columns": [*UNROLLED, *WORK, "-DUNROLL=4 -DEXTRA=2"],
    "registers": [*UNROLLED, *WORK],
    "nested": [*UNROLLED, *WORK],
    "results": [*RESULTS, *WORK],
    "rows": [*RESULTS, "-DUNROLL=4", *WORK],
    "tables": ["", "-DTABLE=1", *WORK],
}
#: Every variant with ten amounts of work: each has all of the one before.
AMOUNTS = ["", *(f"-DEXTRA={amount}" for amount in range(1, 10))]
WHOLE_SETS = {
    kernel: [" ".join(filter(None, both)) for both in product(ways, AMOUNTS)]
    for kernel, ways in {
        "columns": UNROLLED,
        "registers": UNROLLED,
        "nested": UNROLLED,
        "results": RESULTS,
        "rows": [*RESULTS, "-DUNROLL=4", "-DUNROLL=4 -DR=4"],
        "tables": ["", "-DTABLE=1"],
    }.items()
}
GROUP = 32


def executed(source: Path, kernel: str, options: str) -> float:
    """Return the instructions that the interpreter ran for each result."""
    makes_several = kernel in ("results", "rows")
    results = int(options.partition("-DR=")[2].split(" ")[0]) if makes_several and "-DR=" in options else 1
    size = 64 // results
    observed = observe(
        source,
        kernel=kernel,
        size=[max(size, GROUP)],
        group=[GROUP],
        arguments=["random:float:8192", "zeros:float:8192", "24"],
        options=options,
        seconds=60,
    )
    assert observed.groups_done == observed.groups
    return observed.instructions / (max(size, GROUP) * results)


def cycles(row: SweepRow) -> float:
    figures = row.figures
    return ((figures["issue_cycles"] or 0) + (figures["wait_cycles"] or 0)) / (figures["simd"] or 1)


@pytest.fixture
def source(tmp_path: Path, kernel: str) -> Path:
    """The source with this kernel alone."""
    head, *kernels = VARIANTS.split("kernel void ")
    (own,) = [each for each in kernels if each.startswith(f"{kernel}(")]
    path = tmp_path / "variants.cl"
    path.write_text(f"{head}kernel void {own}")
    return path


def test_there_are_enough_variants() -> None:
    assert sum(len(sets) - 1 for sets in SETS.values()) >= 29
    assert sum(map(len, WHOLE_SETS.values())) >= 200


@pytest.mark.parametrize("kernel", SETS)
def test_the_order_is_that_of_the_instructions_that_ran(kernel: str, source: Path) -> None:
    check_order(source, kernel, SETS[kernel])


@before_release
@pytest.mark.parametrize("kernel", WHOLE_SETS)
def test_the_order_of_every_variant(kernel: str, source: Path) -> None:
    check_order(source, kernel, WHOLE_SETS[kernel])


def check_order(source: Path, kernel: str, options: list[str]) -> None:
    """Each variant that the guard lets compare with another one is on the side of it that its instructions are."""
    rows = [row for row in kernlens.sweep(source, "dg2", options=options, waits=True) if row.kernel == kernel]
    ran = {row.options: executed(source, kernel, row.options) for row in rows}
    ranked = 0
    for number, row in enumerate(rows):
        for other in rows[:number]:
            words = shape_of(other).difference(shape_of(row)) or undecided(cycles_of(other), cycles_of(row))
            if words or row.code == other.code:
                continue
            ranked += 1
            assert (cycles(other) < cycles(row)) == (ran[other.options] < ran[row.options]), (
                other.options,
                row.options,
            )
    # A loop without memory does not show whether it was unrolled, so that none of these is ranked.
    assert ranked >= (kernel != "registers")
    (result,) = best_sets(rows)
    unranked = {row.options for row, _ in result.unranked}
    compared = [row for row in rows if row.options not in unranked]
    assert result.best in compared
    assert ran[result.best.options] == min(ran[row.options] for row in compared)


@pytest.mark.parametrize(
    ("kernel", "options", "reason"),
    [
        ("columns", "-DUNROLL=4", "loop"),
        ("registers", "-DUNROLL=8", "loop"),
        ("nested", "-DUNROLL=4", "loop"),
        ("results", "-DR=8", "it may make more results"),
        ("tables", "-DTABLE=1", "private memory"),
    ],
)
def test_what_cannot_be_compared_is_not_ranked(kernel: str, options: str, reason: str, source: Path) -> None:
    rows = kernlens.sweep(source, "dg2", options=["", options], waits=True)
    (result,) = best_sets([row for row in rows if row.kernel == kernel])
    assert reason in " ".join(words for _, words in result.unranked)
    assert not result.is_ranked
