"""The command that a report names to have stages: it compiles again what was compiled, and keeps them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.report.explore import explore_document

SOURCE = """\
#include "half.h"
kernel void scale(global float *a) { a[get_global_id(0)] *= FACTOR * HALF; }
"""


def test_the_command_that_a_document_names_keeps_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "scale.cl").write_text(SOURCE)
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "half.h").write_text("#define HALF 0.5f\n")
    monkeypatch.chdir(tmp_path)
    run("compile", "a b/scale.cl", "--device", "dg2", "--build-options", "-DFACTOR=2.0f -I headers", "-o", "none.klens")
    reason = index("none.klens")["no_stages"]
    command = reason.removeprefix("no stages of the compile were kept; ").removesuffix(" keeps them")
    words = shlex.split(command)
    assert words[:3] == ["kernlens", "stages", str(tmp_path / "a b" / "scale.cl")]
    assert {"--device", "dg2", "--toolchain", "system", "--build-options=-DFACTOR=2.0f -I headers"} <= set(words)
    run(*(word if word != "FILE" else "all.klens" for word in words[1:]))
    again = index("all.klens")
    assert again["no_stages"] is None
    assert {"spirv", "visa"} <= {stage["name"] for stage in again["stages"]}
    assert again["options"] == index("none.klens")["options"]


def run(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "kernlens", *words], check=True, capture_output=True, env=os.environ)


def index(path: str) -> dict[str, Any]:
    (program,) = explore_document(kernlens.load(path), title=path).index["programs"]
    return dict(program)
