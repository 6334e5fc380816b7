"""The one ranking of causes: what is in a loop before what runs once, and what an interpreter saw among what the code says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import kernlens
from tests.corpus.pairs.__main__ import PAIRS, correlation, place_of_cause, side
from tests.documents import check_printed
from tests.integration.cli.test_cli import kernlens as run
from tests.whole import each_run

pytestmark = pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs")
needs_oclgrind = pytest.mark.skipif(
    not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"
)
#: Pairs whose authors' cause is not among the first two: the table of tests.corpus.pairs reports them.
MISSED = {"roi_align"}
#: A sine that runs once is more code than the division in the loop.
ONCE = """kernel void once(global float *o, global const int *a, int n, float x) {
  int i = get_global_id(0), s = 0;
  for (int j = 0; j < n; j++)
    s += a[j + i] / (a[j] + j);
  o[i] = s + pow(x + i, x * i);
}
"""


@pytest.fixture
def once(tmp_path: Path) -> Path:
    path = tmp_path / "once.cl"
    path.write_text(ONCE)
    return path


def first(path: Path, *words: str) -> dict[str, object]:
    command = ("advise", path.name, "--device", "dg2", *words, "--json")
    done = run(*command, cwd=path.parent)
    assert done.returncode == 0, done.stderr
    check_printed(list(command), done.stdout)
    start: list[dict[str, object]] = json.loads(done.stdout)["start_here"]
    return start[0]


def test_a_loop_of_unknown_rounds_comes_first(once: Path) -> None:
    answer = kernlens.advise(str(once), device="dg2")
    most = max(answer.advice, key=lambda piece: piece.count)
    assert most.rule == "slow-built-in"
    start = first(once)
    assert (start["kind"], start["line"], start["is_weighed"]) == ("integer-division", 4, False)
    assert start["loops"] == "the loop of line 3 (`j < n`)"
    assert [entry.kind for entry in answer.ranked] == ["integer-division", "slow-built-in"]
    text = " ".join(str(answer).split())
    assert "once in each round of the loop of line 3 (`j < n`): the more rounds, the more of the kernel" in text
    assert "outside the loop of line 3 (`j < n`): the more rounds, the less of the kernel" in text


def test_stated_and_constant_rounds_weigh(once: Path) -> None:
    assert first(once, "--trips", "3=1")["kind"] == "slow-built-in"
    assert first(once, "--trips", "depth=1000")["kind"] == "integer-division"
    once.write_text(ONCE.replace("j < n;", "j < 3;").replace("for (", "__attribute__((opencl_unroll_hint(1))) for ("))
    start = first(once)
    assert (start["kind"], start["is_weighed"], start["loops"]) == ("slow-built-in", True, None)
    done = run("advise", "once.cl", "--device", "dg2", "--trips", "5=7", cwd=once.parent)
    assert (done.returncode, "is in no loop" in done.stderr) == (2, True)


def test_several_kernels_have_one_start(once: Path) -> None:
    (once.parent / "other.cl").write_text(ONCE.replace("once", "other").replace("pow(x + i, x * i)", "x"))
    done = run("advise", "once.cl", "other.cl", "--device", "dg2", cwd=once.parent)
    lines = done.stdout.splitlines()
    assert lines[0] == "Start here"
    assert [line.split(" ", 3)[2] for line in lines if line[2:3].isdigit()] == ["1.", "2.", "3."]
    assert "Start here" not in run("advise", "once.cl", "--device", "dg2", cwd=once.parent).stdout


@needs_oclgrind
@pytest.mark.parametrize("name", each_run("rms_norm", "max_pool", "index_select", others=sorted(PAIRS.keys() - MISSED)))
def test_the_authors_cause_is_the_first_or_second(name: str, tmp_path: Path) -> None:
    assert place_of_cause(name, side(name, "before", "pvc", tmp_path).causes) in (1, 2)


def test_rank_correlation() -> None:
    assert correlation([1, 2, 3], [10, 20, 70]) == 1
    assert correlation([1, 2, 3], [9, 5, 1]) == -1
    assert correlation([1, 1, 1], [1, 2, 3]) == 0
