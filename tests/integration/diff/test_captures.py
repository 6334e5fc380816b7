"""Two captures of an application that builds its programs in another order, one of them edited."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.integration.cli.test_cli import kernlens

APPLICATION = """\
import sys
import pyopencl

(platform,) = (each for each in pyopencl.get_platforms() if "Intel" in each.name)
context = pyopencl.Context(platform.get_devices())
for path in sys.argv[1:]:
    pyopencl.Program(context, open(path).read()).build()
"""
KERNEL = """\
kernel void NAME(global float *a, float b) {
    size_t i = get_global_id(0);
    a[i] = BODY;
}
"""


def source(**kernels: str) -> str:
    return "".join(KERNEL.replace("NAME", name).replace("BODY", body) for name, body in kernels.items())


def captured(folder: Path, *names: str) -> Path:
    recording = folder / "capture.klens"
    words = ("capture", "--lines", "--simulate", "dg2", "-o", recording, "--", sys.executable, "-c", APPLICATION)
    done = kernlens(*words, *(folder / name for name in names), PYOPENCL_NO_CACHE="1")
    assert done.returncode == 0, done.stderr
    return recording


def test_kernels_of_two_captures_are_paired_whatever_their_programs_numbers_are(tmp_path: Path) -> None:
    texts = {
        "scale.cl": source(scale="a[i] * b"),
        "root.cl": source(root="sqrt(a[i]) * b", inverse="1.0f / a[i]"),
        "angle.cl": source(angle="atan2(a[i], b)"),
    }
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
        for name, text in texts.items():
            (tmp_path / side / name).write_text(text)
    new = tmp_path / "new"
    (new / "root.cl").write_text(source(root="sqrt(a[i]) * b", reciprocal="1.0f / a[i]"))
    (new / "scale.cl").write_text(source(scale="a[i] * b + 1.0f"))
    (new / "more.cl").write_text(source(more="exp(a[i])"))
    old = captured(tmp_path / "old", "scale.cl", "root.cl", "angle.cl")
    recordings = old, captured(new, "more.cl", "angle.cl", "root.cl", "scale.cl")
    done = kernlens("diff", *recordings, "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert (document["compared"], document["only_old"]) == (4, [])
    assert [each["kernel"] for each in document["only_new"]] == ["more"]
    (renamed,) = document["renamed"]
    assert (renamed["old_name"], renamed["name"], renamed["paired_by"]) == ("inverse", "reciprocal", "equal_code")
    (changed,) = document["kernels"]
    assert (changed["old"]["program"], changed["name"], changed["new"]["program"]) == (
        "program-1",
        "scale",
        "program-4",
    )
    assert [line["new_text"] for line in changed["lines"] if line["edited"]] == ["    a[i] = a[i] * b + 1.0f;"]
    shown = kernlens("diff", *recordings).stdout
    assert "  renamed: inverse -> reciprocal, found by equal code  program-2 on dg2" in shown
