"""``--trips`` in the verbs that compare and limit kernels: figures weighed by the rounds that a user states."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.test_cli import kernlens

pytestmark = pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs")
#: Line 6 has the loop; U unrolls it.
SOURCE = """kernel void rows(global float *o, global const float *a) {
  int g = get_global_id(0);
  float s = 0;
  #pragma unroll U
  for (int i = 0; i < 64; i++)
    s += native_sin(a[g + i * 64]);
  o[g] = s;
}
"""
LINE = 5


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.cl"
    path.write_text(SOURCE)
    return path


def answer(*words: str, folder: Path, status: int = 0) -> dict[str, Any]:
    done = kernlens(*words, "--json", cwd=folder)
    assert done.returncode == status, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def weighed(folder: Path, rounds: int) -> dict[str, int]:
    words = ("inspect", "rows.cl", "--device", "dg2", "--build-options=-DU=1", "--trips", f"rows.cl:{LINE}={rounds}")
    document = answer(*words, folder=folder)
    kernel = document["programs"][0]["kernels"][0]
    figures: dict[str, int] = kernel
    return figures


def test_weighed_figures_grow_by_what_the_loop_holds_in_a_round(rows: Path) -> None:
    few, more, most = (weighed(rows.parent, rounds) for rounds in (1, 2, 12))
    for key in ("weighed_instructions", "weighed_cycles", "weighed_bytes"):
        assert most[key] - few[key] == 11 * (more[key] - few[key]) > 0
    assert few["stated_loops"] == 1
    # SIMD32 reads 4 bytes a lane and round.
    assert more["weighed_bytes"] - few["weighed_bytes"] == 128


def test_diff_and_check_have_them(rows: Path) -> None:
    sides = ("--build-options=-DU=1", "--build-options=-DU=64", "--trips", f"{LINE}=64")
    document = answer("diff", "rows.cl", "--device", "dg2", *sides, folder=rows.parent, status=1)
    changes = document["kernels"][0]["figures"]
    names = {change["metric"] for change in changes}
    assert "weighed_cycles" in names
    assert "weighed_bytes" not in names  # Both read as much.
    words = ("check", "rows.cl", "--device", "dg2", "--build-options=-DU=1")
    assert kernlens(*words, "--max-weighed-bytes", "8576", "--trips", f"{LINE}=64", cwd=rows.parent).returncode == 0
    assert kernlens(*words, "--max-weighed-bytes", "8575", "--trips", f"{LINE}=64", cwd=rows.parent).returncode == 1
    unknown = kernlens(*words, "--max-weighed-bytes", "8576", cwd=rows.parent)
    assert unknown.returncode == 2
    assert "the rounds of its loops were not stated" in unknown.stdout


def test_the_best_set_among_other_loops_is_by_stated_rounds(rows: Path) -> None:
    words = ("sweep", "rows.cl", "--device", "dg2", "-D", "U=1,4,64", "--best", "--no-cache")
    (guarded,) = answer(*words, folder=rows.parent)["best"]
    assert len(guarded["unranked"]) == 2
    (ranked,) = answer(*words, "--trips", f"{LINE}=64", folder=rows.parent)["best"]
    assert ranked["best"] == "-DU=64"
    ((partly, reason),) = ((each["options"], each["reason"]) for each in ranked["unranked"])
    assert partly == "-DU=4"
    assert reason.startswith("with these trips a work-item accesses 1,036 bytes, not 268")


def test_loops_that_access_no_memory_stay_unranked(tmp_path: Path) -> None:
    source = SOURCE.replace("a[g + i * 64]", "s + i").replace("float s = 0;", "float s = a[g];")
    (tmp_path / "rows.cl").write_text(source)
    words = ("sweep", "rows.cl", "--device", "dg2", "-D", "U=1,64", "--best", "--no-cache", "--trips", f"{LINE}=64")
    (ranked,) = answer(*words, folder=tmp_path)["best"]
    assert ranked["best"] is None
    assert len(ranked["unranked"]) == 1


def test_trips_that_name_no_loop_are_told(rows: Path) -> None:
    sides = ("--build-options=-DU=1", "--build-options=-DU=8")
    done = kernlens("diff", "rows.cl", "--device", "dg2", *sides, "--trips", "400=64", cwd=rows.parent)
    assert done.returncode != 0
    assert "there are loops at rows.cl:5" in done.stderr
    done = kernlens("sweep", "rows.cl", "--device", "dg2", "-D", "U=1", "--trips", "400=64", cwd=rows.parent)
    assert "the trips 400=64 name no loop of any compile" in done.stderr
