"""The viewer's document of a kernel that was observed: the counts of ``observe``, by the line."""

from __future__ import annotations

import shutil
from itertools import accumulate
from pathlib import Path

import pytest

import kernlens
from kernlens.model.stage_text import NoStages
from kernlens.report.explore.kernel_chunk import kernel_document
from kernlens.verbs.observe.observe import observe
from tests.tree import ROOT


@pytest.mark.skipif(not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10")
@pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs")
def test_the_page_has_what_observe_counted(tmp_path: Path) -> None:
    launch = {"size": [64, 64], "group": [16, 16], "arguments": ["random:float:4096", "zeros:float:4096"]}
    source = ROOT / "examples" / "transpose.cl"
    counted = observe(source, kernel="transpose", device="dg2", recording=tmp_path / "seen.klens", **launch)  # type: ignore[arg-type]
    (program,) = kernlens.load(tmp_path / "seen.klens")
    document = kernel_document(program, program.kernels["transpose"], NoStages())
    observed = document["observed"]
    assert list(accumulate(observed["line"])) == [line.place.line for line in counted.lines]
    assert observed["runs"] == [line.runs for line in counted.lines]
    assert observed["moved"] == [64 * line.units for line in counted.lines]
    assert any("16 units of 64 bytes a request where 2 would do" in words[-1] for words in observed["words"])
    assert kernel_document(program, program.kernels["transpose_tiled"], NoStages()).get("observed") is None
