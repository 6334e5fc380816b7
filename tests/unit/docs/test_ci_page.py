"""docs/ci.md: the steps of its action run, with options that there are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import kernlens as package
from tests.tree import ROOT
from tests.writers.programs import binary

PAGE = (ROOT / "docs" / "ci.md").read_text()
#: The script of a step: what is indented below ``run: |``.
STEP = re.compile(r"^      run: \|\n((?:        .*\n)+)", re.MULTILINE)


def test_the_step_that_checks_runs_and_writes_both_files(tmp_path: Path) -> None:
    _, script = STEP.findall(PAGE)
    (tmp_path / "kernlens").write_text(f'#!/bin/sh\nexec {sys.executable} -m kernlens "$@"\n')
    (tmp_path / "kernlens").chmod(0o755)
    (tmp_path / "a.bin").write_bytes(binary())
    # What is compiled already names its toolchain in a recording only; the step itself has the newest.
    script = script.replace("--toolchain newest", "")
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(package.__file__).parents[1]),
        "PATHS": "a.bin",
        "DEVICE": "skl",
        "ARGUMENTS": "--max-slm 0 --max-barriers 1",
    }
    # As GitHub runs it: https://docs.github.com/actions/reference/workflow-syntax-for-github-actions (shell)
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 kernels, 4 bounds checked: all kept" in done.stdout
    assert {"kernlens.xml", "kernlens.sarif"} <= {path.name for path in tmp_path.iterdir()}


def test_the_page_shows_the_example() -> None:
    assert f"```python\n{(ROOT / 'examples/ci/test_kernels.py').read_text('utf-8')}```\n" in PAGE


def test_the_fixtures_and_marks_of_the_page_are_there() -> None:
    from kernlens import pytest_plugin
    from kernlens.model.bounds import bound

    assert {"kernlens_compile", "kernlens_capture"} == set(re.findall(r"kernlens_\w+", PAGE))
    assert all(hasattr(pytest_plugin, name) for name in re.findall(r"kernlens_\w+", PAGE))
    for name, value in re.findall(r"\b((?:max|min)_\w+)=(\d+)", PAGE):
        assert bound(name, int(value)).value == int(value)
