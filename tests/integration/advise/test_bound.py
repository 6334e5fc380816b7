"""What bounds a kernel, its occupancy with the next step, and what is said where no rule speaks."""

from __future__ import annotations

import json
import shutil
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from tests.documents import check_printed
from tests.integration.cli.test_cli import kernlens as run

pytestmark = pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs")

SLM = """kernel __attribute__((reqd_work_group_size(256, 1, 1))) void chase(global float *o, global const float *a) {
  local float t[SIZE];
  int l = get_local_id(0);
  for (int k = 0; k < SIZE / 256; k++) t[l + k * 256] = a[l + k * 256];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k < 4096; k++) s = t[((int)s + k) & 4095];
  o[get_global_id(0)] = s;
}
"""
#: Outside the loop a thread waits for what it loads, in it for nothing.
MIXED = """kernel __attribute__((reqd_work_group_size(64, 1, 1))) void mixed(global float *o, global const int *a, int n) {
  local float t[2048];
  int g = get_global_id(0), l = get_local_id(0);
  float x = a[a[a[g]]], y = x, z = x;
  for (int j = 0; j < n; j++) {
    x = mad(x, y, z); y = mad(y, z, x); z = mad(z, x, y); x = mad(x, x, z);
    x = mad(x, y, z); y = mad(y, z, x); z = mad(z, x, y); x = mad(x, x, z);
  }
  t[l] = x + y;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[g] = t[63 - l] + z;
}
"""
QUIET = """kernel __attribute__((intel_reqd_sub_group_size(8))) void narrow(global float *o) { o[get_global_id(0)] = 1; }
kernel void plain(global float *o) { o[get_global_id(0)] = 1; }
"""


def advised(folder: Path, source: str, device: str, *words: str) -> tuple[dict[str, Any], str]:
    """Return the document of the first kernel, and the text."""
    (folder / "k.cl").write_text(source)
    command = ("advise", "k.cl", "--device", device, *words)
    done = run(*command, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    check_printed([*command, "--json"], done.stdout)
    kernel: dict[str, Any] = json.loads(done.stdout)["kernels"][0]
    return kernel, run(*command, "--full", cwd=folder).stdout


def test_waits_for_local_memory_that_too_few_threads_hide(tmp_path: Path) -> None:
    kernel, text = advised(tmp_path, SLM, "dg2", "--build-options=-DSIZE=8192")
    bound = kernel["bound"]
    # 4 work-groups of 32 KB fit the 128 KB of a core with 16 engines; each has 8 threads of 32 work-items.
    assert (bound["kind"], bound["threads"], bound["work_group"]) == ("wait", 4 * 8 / 16, 256)
    assert bound["threads_needed"] == ceil((bound["issue_cycles"] + bound["wait_cycles"]) / bound["issue_cycles"]) > 2
    assert bound["waits"][0]["operation"] == "SLM read"
    assert bound["waits"][0]["share"] > 0.9
    assert (
        "occupancy: 25% with work-groups of 256 (limited by SLM); with 16,384 bytes less SLM, each Xe-core runs 8"
        in text
    )


def test_the_next_step_gives_the_threads_that_it_promises(tmp_path: Path) -> None:
    kernel, text = advised(tmp_path, SLM, "dg2", "--build-options=-DSIZE=4096")
    assert kernel["bound"]["threads"] == 8 * 8 / 16
    assert "occupancy: 50% with work-groups of 256" in text


def test_a_bound_that_depends_on_rounds_is_none_until_they_are_stated(tmp_path: Path) -> None:
    kernel, text = advised(tmp_path, MIXED, "dg2")
    assert kernel["bound"]["kind"] is None
    assert (
        kernel["bound"]["reason"] == "it depends on the rounds of the loop of line 5 (`j < n`): state them with --trips"
    )
    assert "bound: it depends on the rounds of the loop of line 5" in text
    once, often = (advised(tmp_path, MIXED, "dg2", "--trips", f"5={rounds}")[0]["bound"] for rounds in (1, 1000))
    assert (once["kind"], often["kind"]) == ("wait", "issue_or_bandwidth")
    assert once["threads"] == often["threads"]


def test_nobody_is_sent_to_waits_that_are_unknown(tmp_path: Path) -> None:
    kernel, text = advised(tmp_path, SLM, "skl", "--build-options=-DSIZE=8192")
    assert kernel["bound"]["kind"] is None
    assert kernel["bound"]["reason"].startswith("cycles are not known: waits are unknown on Gen9")
    assert "--sort wait" not in text
    assert "occupancy: " in text


def test_what_no_rule_speaks_of_has_a_sentence(tmp_path: Path) -> None:
    narrow, text = advised(tmp_path, QUIET, "dg2")
    assert narrow["notes"] == ["SIMD8, where the widest kernels have 32 lanes: as the source requires it"]
    assert "no advice by the rules of docs/advice.md" in text
    assert "--sort wait" in text
    slow, _ = advised(tmp_path, QUIET, "dg2", "--build-options=-cl-opt-disable", "--kernel", "plain")
    assert slow["notes"][0].startswith("the build options have -cl-opt-disable")
    plain, _ = advised(tmp_path, QUIET, "dg2", "--kernel", "plain")
    assert plain["notes"] == []
