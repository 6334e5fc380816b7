"""Pages without scripts look as the viewer does."""

from __future__ import annotations

import re

import pytest

from kernlens.cli.answers.heat_map import _STYLE as HEAT_MAP
from kernlens.cli.answers.page_look import COLOURS
from tests.tree import ROOT

TOKENS = (ROOT / "viewer/src/style/tokens.css").read_text("utf-8")


@pytest.mark.parametrize("name", COLOURS)
def test_colours_are_the_viewers(name: str) -> None:
    match = re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\)", TOKENS)
    assert match is not None
    assert match.groups() == COLOURS[name]


@pytest.mark.parametrize("style", [HEAT_MAP])
def test_every_colour_that_is_named_is_there_in_both_themes(style: str) -> None:
    assert set(re.findall(r"var\(--(\w+)\)", style)) <= set(COLOURS)
    assert "color-scheme: light dark" in style
    # Colours that are written out are those of both themes.
    others = re.sub(r"light-dark\(.*?\)\)?;", "", style)
    assert not re.findall(r"#[0-9a-f]{3,6}\b|rgb\(", others)
