"""The best set of real compiles: a loop that is not unrolled, and an array that went to memory, win against nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernlens
from kernlens.model.best_sets import best_sets
from kernlens.model.sweep_row import SweepRow
from kernlens.verbs.tried import tried

#: Sums of products of a table's ends: unrolled all of it is in registers. With AT an index is a value: the table is in memory.
TABLE = """#ifndef AT
#define AT 0
#endif
#ifndef UNROLL
#define UNROLL 96
#endif
kernel void tabled(global const float *a, global float *o, global const int *at) {
  int i = get_global_id(0);
  float t[96];
  __attribute__((opencl_unroll_hint(UNROLL)))
  for (int j = 0; j < 96; j++) t[j] = native_sin(a[i + j * 64]) * 2.0f;
  float s = 0;
#if AT
  s = t[at[i] & 63] * t[at[i + 1] & 63];
#else
  __attribute__((opencl_unroll_hint(UNROLL)))
  for (int j = 0; j < 96; j++) s += t[j] * t[95 - j];
#endif
  o[i] = s;
}
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.cl"
    path.write_text(TABLE)
    return path


@pytest.mark.parametrize(("device", "toolchain"), [("dg2", "system"), ("bmg", "newest")])
def test_neither_wins(device: str, toolchain: str, table: Path, newest_root: Path) -> None:
    """Rolled, the loop counts once and its table is in memory: a tenth of the cycles, and the slowest of all."""
    sets = ["-DUNROLL=96", "-DUNROLL=1", "-DAT=1"]
    rows = kernlens.sweep(table, device, toolchains=toolchain, options=sets, waits=True)
    unrolled, rolled, indexed = rows
    assert per_work_item(rolled) < per_work_item(unrolled) / 10, "by counts alone it would be the best by far"
    assert per_work_item(indexed) < per_work_item(unrolled)
    (result,) = best_sets(rows)
    assert (result.best, result.is_ranked) == (unrolled, False)
    assert [(row, reason.split(" ", 1)[1]) for row, reason in result.unranked] == [
        (rolled, "loops, not 0"),
        (indexed, "bytes of private memory per work-item, not 0"),
    ]
    trials = tried(table, device, toolchain=toolchain, options="-DUNROLL=96", macros=["AT=0,1"]).kernels[0].trials
    (at,) = [trial for trial in trials if trial.change.key == "-DAT=1"]
    assert at.note.endswith("not comparable: 384 bytes of private memory per work-item, not 0")


def per_work_item(row: SweepRow) -> float:
    figures = row.figures
    cycles = (figures["issue_cycles"] or 0) + (figures["wait_cycles"] or 0)
    return cycles / (figures["simd"] or 1)
