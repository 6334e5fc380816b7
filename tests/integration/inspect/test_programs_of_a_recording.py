"""The programs of a recording for two devices: which come first, and which are chosen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kernlens import load
from kernlens.errors import NotFoundError
from tests.tree import ROOT
from tests.warm_commands import kernlens


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two") / "two.klens"
    sources = [ROOT / "examples/kernels" / name for name in ("blur.cl", "tone.cl")]
    assert kernlens("compile", *sources, "--device", "skl,dg2", "-o", path).returncode == 0
    return path


def test_the_program_with_most_is_first(recording: Path) -> None:
    document = json.loads(kernlens("inspect", recording, "--sort", "instructions", "--json").stdout)
    counts = [program["kernels"][0]["instructions"] for program in document["programs"]]
    assert len(counts) == 4
    assert counts == sorted(counts, reverse=True)
    text = kernlens("inspect", recording, "--sort", "instructions").stdout
    assert re.findall(r"^(\w+):(\w+) on", text, re.M)[:2] == [("tone", "dg2"), ("tone", "skl")]


def test_load_takes_the_programs_of_a_device(recording: Path) -> None:
    assert [program.name for program in load(recording, device="dg2")] == ["blur:dg2", "tone:dg2"]
    assert len(load(recording)) == 4
    with pytest.raises(NotFoundError, match=r"no program in .* is for pvc, but for skl, dg2"):
        load(recording, device="pvc")
