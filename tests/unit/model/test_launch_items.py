"""The work-items of a launch, stated as a number divided by macros."""

from __future__ import annotations

import pytest

from kernlens.errors import KernlensError
from kernlens.model.launch_items import LaunchItems


@pytest.mark.parametrize(
    ("text", "options", "items"),
    [
        ("4096", "", 4096),
        ("4096/R", "-DR=4", 1024),
        ("4096/R/C", "-D R=4 -DX -DC=2", 512),
        ("4096/R", "-DR=4 -DR=8", 512),
        ("4096/R", "", None),
        ("4096/R", "-DR", None),
        ("4096/R", "-DR=3", None),
        ("4096/R", "-DR=0", None),
        ("4096/R", "-DR=" + 30 * "9", None),
        ("4096/R", "-DR=(4)", None),
    ],
)
def test_macros_divide_the_work_items(text: str, options: str, items: int | None) -> None:
    assert LaunchItems.of(text).with_options(options.split()) == items


@pytest.mark.parametrize("text", ["", "0", "-1", "4096/", "4096/2", "R", "4096*R", "4" * 40, "4096/R" * 20])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(KernlensError, match="is not of the form 4096 or 4096/ROWS"):
        LaunchItems.of(text)
