"""The behaviour of two versions of a kernel, line by line, where they ran alike; said where they did not."""

from __future__ import annotations

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
