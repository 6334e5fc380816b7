"""Kernels of which a work-item makes several results: launches are compared, if their work-items are stated."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernlens as api
from kernlens.model.best_sets import best_sets
from kernlens.verbs.tried import tried
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["kernlens"]

SOURCE = """#ifndef R
#define R 1
#endif
kernel void results(global const float *a, global float *o, float n) {
  int i = get_global_id(0) * R;
  for (int r = 0; r < R; r++) o[i + r] = native_exp(a[i + r] * n) / (a[i + r] + 3.0f);
}
"""
SETS = ["-DR=1", "-DR=2", "-DR=4", "-DR=3"]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.cl"
    path.write_text(SOURCE)
    return path


def test_launches_of_a_sweep_are_ranked(results: Path) -> None:
    (alone,) = best_sets(api.sweep(results, "dg2", options=SETS, waits=True))
    assert not alone.is_ranked
    rows = api.sweep(results, "dg2", options=SETS, waits=True, items_per_launch="4096/R")
    (result,) = best_sets(rows)
    assert [row.items for row in rows] == [4096, 2048, 1024, None]
    assert [row.options for row, _ in result.unranked] == ["-DR=3"]
    costs = {row.options: (row.items or 0) * (row.figures["issue_cycles"] or 0) for row in rows[:3]}
    assert result.best.options == min(costs, key=costs.__getitem__) != "-DR=1"


def test_trials_are_ranked_by_launches(results: Path) -> None:
    answer = tried(results, "dg2", options="-DR=1", macros=["R=2,4"], items_per_launch="4096/R", kernels=["results"])
    of_macro = {trial.change.key: trial for trial in answer.kernels[0].trials if trial.change.key.startswith("-DR")}
    assert all(trial in answer.kernels[0].ranked for trial in of_macro.values())
    assert (of_macro["-DR=4"].ratio("cycles") or 2) < 1
    plain = tried(results, "dg2", options="-DR=1", macros=["R=4"], kernels=["results"]).kernels[0]
    assert any(trial.change.key == "-DR=4" and "more results" in trial.note for trial in plain.unranked)


def test_the_sides_of_a_comparison_are_ranked_by_launches(results: Path, kernlens: Kernlens) -> None:
    sides = ["diff", results, "--device", "dg2", "--build-options=-DR=1", "--build-options=-DR=4", "--items-per-launch"]
    done = kernlens(*sides, "4096,1024")
    assert "  launches of 1,024 work-items, before 4,096: 1." in done.out
    assert "times fewer cycles, each loop once, if both make the same results" in done.out
    (kernel,) = kernlens(*sides, "4096", "--json").document["kernels"]
    assert (kernel["launches"]["old_items"], kernel["launches"]["cycles_ratio"]) == (4096, None)
    assert "a launch stores 65,536 bytes outside loops, not 16,384" in kernel["launches"]["reason"]
    assert kernlens(*sides, "4096/R").status == 2


def test_it_is_refused_where_nothing_is_ranked(results: Path, kernlens: Kernlens) -> None:
    assert "--items-per-launch needs --best" in kernlens("sweep", results, "--items-per-launch", "64").err
    assert "--items-per-launch needs --try" in kernlens("advise", results, "--items-per-launch", "64").err
