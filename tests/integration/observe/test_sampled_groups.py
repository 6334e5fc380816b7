"""Work-groups that are sampled: how many of which, how far they differ, and what of the others may be missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernlens.errors import KernlensError
from kernlens.model.behaviour import Behaviour
from kernlens.verbs.observe.observe import observe
from tests.documents import check_printed
from tests.integration.observe.test_hardware_counters import pytestmark  # noqa: F401

SOURCE = """kernel void border(global const float *in, global float *out) {
  int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
  float s = 0;
  for (int i = -9; i <= 9; i++)
    if (x + i >= 0 && x + i < w)
      s += in[y * w + x + i];
  out[y * w + x] = s;
}
kernel void endless(global float *a, global float *b) {
  float v = 0;
  for (int k = 0; k < 1000; k++)
    v += a[k & 63];
  a[get_global_id(0) & 63] = v;
  b[get_global_id(0)] = v;
}
kernel void chain(global int *flags) {
  int g = get_group_id(0);
  volatile global int *before = flags + g - 1;
  while (g > 0 && *before == 0)
    ;
  flags[g] = 1;
}
"""


def run(folder: Path, kernel: str = "border", size: int = 128, **words: Any) -> Behaviour:
    source = folder / "k.cl"
    source.write_text(SOURCE)
    launch: dict[str, dict[str, Any]] = {
        "border": {"size": [size, size], "group": [8, 8], "arguments": [f"zeros:float:{size * size}"] * 2},
        "endless": {"size": [size], "group": [64], "arguments": ["zeros:float:64", f"zeros:float:{size}"]},
        "chain": {"size": [size], "group": [1], "arguments": [f"zeros:int:{size}"]},
    }
    return observe(source, kernel=kernel, device="h100", **launch[kernel], **words)


def test_a_sample_has_its_share_of_each_part_and_counts_as_the_whole(tmp_path: Path) -> None:
    whole, sample = run(tmp_path), run(tmp_path, groups=32)
    assert (whole.groups_done, whole.notes, sample.groups_done, sample.groups) == (256, (), 32, 256)
    assert sample.ran is not None
    assert [total for total, _ in sample.ran.strata] == [4, 56, 196]
    (corners, edges, inside) = [done for _, done in sample.ran.strata]
    assert corners >= 1
    assert abs(edges - 32 * 56 / 256) <= 1
    assert corners + edges + inside == 32
    for line, part in zip(whole.lines, sample.lines, strict=True):
        assert abs(8 * part.units - line.units) <= 0.1 * line.units
        assert abs(8 * part.runs - line.runs) <= 0.1 * line.runs
    told = f"{corners} of 4 at corners, {edges} of 56 at other edges, {inside} of 196 inside."
    assert sample.notes[0] == f"They are a sample of the launch: {told}"
    assert sample.ran.instructions[0] < sample.ran.instructions[1] < sample.ran.instructions[2]
    assert run(tmp_path, groups=32) == sample


def test_the_first_ones_are_another_answer(tmp_path: Path) -> None:
    """The border of the launch is not its inside: of the first groups no line is like the whole."""
    observed = run(tmp_path, "endless", 1 << 20, groups="first", seconds=1)
    assert observed.ran is not None
    assert (observed.ran.is_sample, observed.ran.strata[0][1]) == (False, 1)
    assert observed.notes[0].startswith("They are the first ones in the order of their ids: 1 of 2 at corners")


@pytest.mark.parametrize("groups", [None, "sample"])
def test_what_has_no_time_is_sampled(groups: str | None, tmp_path: Path) -> None:
    observed = run(tmp_path, "endless", 1 << 20, groups=groups, seconds=1)
    assert observed.is_out_of_time
    assert observed.ran is not None
    assert (observed.ran.is_sample, observed.ran.chosen) == (True, 1 << 14)
    assert observed.ran.shared == ("a",)
    assert "through a: what one work-group leaves there for others is missing" in observed.notes[-1]


def test_groups_that_wait_for_those_before_run_in_their_order(tmp_path: Path) -> None:
    assert run(tmp_path, "chain", 32).groups_done == 32
    assert run(tmp_path, "chain", 32, groups="first").groups_done == 32


@pytest.mark.parametrize("groups", [0, "few"])
def test_another_choice_is_refused(groups: object, tmp_path: Path) -> None:
    with pytest.raises(KernlensError, match=r"groups is a number of work-groups, 'sample' or 'first', not"):
        run(tmp_path, groups=groups)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(SOURCE)
    words = [str(tmp_path / "k.cl"), "--kernel", "border", "--size", "64x64", "--group", "8x8", "--groups", "9"]
    words += ["--arg", "zeros:float:4096"] * 2

    def kernlens(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kernlens", "observe", *words, *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert "9 of 64 work-groups ran; all counts are of these" in kernlens().stdout
    done = kernlens("--json")
    check_printed(["observe", *words, "--json"], done.stdout)
    document = json.loads(done.stdout)
    assert (document["work_groups_run"], document["out_of_time"], len(document["notes"])) == (9, False, 3)
    refused = kernlens("--groups", "-1")
    assert (refused.returncode, "neither a number, 'sample' nor 'first'" in refused.stderr) == (2, True)
    part = kernlens("--fail-on-faults")
    assert (part.returncode, "as not all work-groups ran" in part.stderr) == (2, True)
