"""``diff`` of edits of real kernels: what an engineer expects, mirrored from the other end, with ``annotate``'s figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.edit_list import EDITS
from tests.corpus.edits import problems
from tests.whole import each_run

BY_NAME = {edit.name: edit for edit in EDITS}


@pytest.mark.parametrize("name", each_run("two kernels renamed, and comments", "a macro", others=BY_NAME))
def test_each_edit_is_told_as_what_it_is(
    name: str, tmp_path: Path, newest_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNLENS_NEWEST_ROOT", str(newest_root))
    assert problems(BY_NAME[name], tmp_path) == []


def test_there_are_forty() -> None:
    assert len(BY_NAME) == len(EDITS) == 40
