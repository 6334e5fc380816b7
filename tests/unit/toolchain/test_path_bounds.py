"""Paths of sources that come from others: none makes thousands of folders, wherever it enters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernlens.errors import UnsupportedError
from kernlens.explorer.compile_request import compile_request
from kernlens.explorer.responses import RefusedError
from kernlens.model.build import Source
from kernlens.model.source_path import DEEPEST, LONGEST, why_unfit
from kernlens.toolchain.sources.recorded_sources import written_sources
from kernlens.verbs.sources.git_repository import is_plain

DEEP, LONG = "a/" * 1999 + "k.cl", "a" * LONGEST + ".cl"
FIT = "a/" * (DEEPEST - 1) + "k.cl"


def test_paths_that_are_too_deep_or_long_are_unfit() -> None:
    assert why_unfit(FIT) is None
    assert why_unfit(f"a/{FIT}") == f"has {DEEPEST + 1} folders in one another, at most {DEEPEST} are allowed"
    assert why_unfit(FIT.replace("/", "\\") + "\\x") is not None
    assert str(why_unfit(LONG)).startswith("has 2,051 bytes")
    assert why_unfit("\ud800") is None  # Which JSON can hold.


@pytest.mark.parametrize("path", [DEEP, LONG, "/" + DEEP[-1000:]])
def test_no_path_makes_thousands_of_folders(path: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="a path of the recording has") as caught:
        written_sources([Source(path, "kernel void k() {}")], "", tmp_path)
    assert len(str(caught.value)) < 200
    with pytest.raises(UnsupportedError, match="a path of the recording has"):
        written_sources([Source("k.cl", "")], f"-I {path}", tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not is_plain(path)
    for key in ("path", "other"):
        source = {"path": path if key == "path" else "k.cl", "text": "", "others": [{"path": path, "text": ""}]}
        request = {"session": "s", "serial": 1, "source": source}
        request["configurations"] = [{"device": "dg2", "toolchain": "system", "options": ""}]
        with pytest.raises(RefusedError, match=r"has .* allowed"):
            compile_request(json.loads(json.dumps(request)))
