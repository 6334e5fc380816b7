"""The behaviour of two versions of a kernel, line by line, where they ran alike; said where they did not."""

from __future__ import annotations

import html
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.documents import check_printed
from tests.integration.cli.test_cli import kernlens as run

pytestmark = [
    pytest.mark.skipif(not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"),
    pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs"),
]
OLD = """\
kernel void copy(global const float *in, global float *out)
{
  int x = get_global_id(0);
  float v = in[x];
  out[x] = v * 2;
}
"""
#: A line more above, and a stride.
NEW = OLD.replace("{\n", "{\n  // spread out\n", 1).replace("out[x]", "out[x * 16]")
ARGUMENTS = ("--arg", "random:float:4096", "--arg", "zeros:float:65536")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("versions")
    for name, text, size in (("old", OLD, "1024"), ("new", NEW, "1024"), ("larger", NEW, "2048")):
        (result / name).mkdir()
        (result / name / "copy.cl").write_text(text)
        words = ("observe", "copy.cl", "--device", "dg2", "--size", size, "--group", "64", *ARGUMENTS)
        assert run(*words, "-o", f"../{name}.klens", cwd=result / name).returncode == 0
    (result / "plain").mkdir()
    (result / "plain" / "copy.cl").write_text(NEW)
    assert run("compile", "copy.cl", "--device", "dg2", "-o", "../plain.klens", cwd=result / "plain").returncode == 0
    return result


def behaviour(old: str, new: str, folder: Path) -> dict[str, Any]:
    words = ("diff", f"{old}.klens", f"{new}.klens", "--json")
    done = run(*words, cwd=folder)
    check_printed(words, done.stdout)
    (kernel,) = json.loads(done.stdout)["kernels"]
    result: dict[str, Any] = kernel["behaviour"]
    return result


def test_a_line_that_moves_more_is_told_with_both_numbers(folder: Path) -> None:
    difference = behaviour("old", "new", folder)
    (line,) = difference["lines"]
    assert (line["old_line"], line["new_line"]) == (5, 6)
    assert line["units_per_request"]["old"] * 16 == line["units_per_request"]["new"]
    assert line["runs"] == {"old": 1024, "new": 1024}
    units = difference["units"]
    assert units["new"] - units["old"] == 1024 - 1024 // 16
    text = run("diff", "old.klens", "new.klens", cwd=folder).stdout
    assert (
        "on data (counted in an interpreter, on this data; not time): 1,088 units of memory in all, before 128" in text
    )
    old, new = (f"{line['units_per_request'][side]:.0f}" for side in ("old", "new"))
    assert f"line 6 moves {new} units a request on average, before {old}" in text


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("larger", "the sides were observed with other sizes, or not as often"),
        ("plain", "only the old side was observed"),
    ],
)
def test_what_is_not_alike_is_not_compared(new: str, told: str, folder: Path) -> None:
    difference = behaviour("old", new, folder)
    assert (difference["reason"], difference["lines"], difference["units"]) == (told, [], None)
    assert f"on data: {told}" in run("diff", "old.klens", f"{new}.klens", cwd=folder).stdout


#: A race, and the barrier that mends it: it changes the code. And an access out of bounds that smaller data mend.
RACE = """\
kernel void copy(global const float *in, global float *out)
{
  local float tile[64];
  int l = get_local_id(0);
  tile[l] = in[get_global_id(0)];
  BARRIER;
  out[get_global_id(0)] = tile[63 - l];
}
"""


def observed(folder: Path, name: str, text: str, *arguments: str) -> None:
    (folder / name).mkdir()
    (folder / name / "copy.cl").write_text(text)
    words = ("observe", "copy.cl", "--device", "dg2", "--size", "1024", "--group", "64", *arguments)
    assert run(*words, "-o", f"../{name}.klens", cwd=folder / name).returncode == 0


def test_faults_that_are_mended_come_first(tmp_path: Path) -> None:
    observed(tmp_path, "old", RACE.replace("BARRIER", ""), *ARGUMENTS)
    observed(tmp_path, "new", RACE.replace("BARRIER", "barrier(CLK_LOCAL_MEM_FENCE)"), *ARGUMENTS)
    before, after = (behaviour(*sides, tmp_path)["faults"] for sides in (("old", "new"), ("new", "old")))
    assert (before, after) == ({"old": 1, "new": 0}, {"old": 0, "new": 1})
    for words in ((), ("--markdown",)):
        text = run("diff", "old.klens", "new.klens", *words, cwd=tmp_path).stdout
        text = html.unescape(text)
        block = text[text.index("on data (counted") if words else text.index("\n\ncopy  ") :]
        assert block.index("    faults: 0, before 1\n") < block.index("barriers 0 -")
    assert "faults: 1, before 0" in run("diff", "new.klens", "old.klens", cwd=tmp_path).stdout


def test_equal_code_with_other_faults_differs(tmp_path: Path) -> None:
    observed(tmp_path, "old", OLD, "--arg", "random:float:4096", "--arg", "zeros:float:1000")
    observed(tmp_path, "new", OLD, *ARGUMENTS)
    assert behaviour("old", "new", tmp_path)["faults"] == {"old": 1, "new": 0}
    text = run("diff", "old.klens", "new.klens", cwd=tmp_path).stdout
    assert "    faults: 0, before 1\n" in text
    assert "the instructions are the same" in text
    assert "all equal" in run("diff", "new.klens", "new.klens", cwd=tmp_path).stdout


def test_the_units_of_both_sides_come_before_the_code(folder: Path) -> None:
    text = run("diff", "old.klens", "new.klens", cwd=folder).stdout
    block = text[text.index("\n\ncopy  ") :].split("\n")
    assert block[3].startswith("  on data (counted in an interpreter")
    assert "cycles of the busiest core by the model of the bound" in block[4]
    assert "instructions " in block[6]
