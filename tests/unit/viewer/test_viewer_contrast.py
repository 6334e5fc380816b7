"""The viewer's colours are read on every ground, in both themes: WCAG 2.2, "contrast ratio" and "relative luminance"."""

from __future__ import annotations

import re

import pytest

from tests.tree import ROOT

CSS = (ROOT / "viewer/src/style/tokens.css").read_text("utf-8")
Colour = tuple[float, ...]

#: Token -> its least contrast on paper, on panels and on what is pinned: light, and dark.
RATIOS = {
    "ink": ((15.9, 14.9, 13.3), (14.3, 13.2, 10.1)),
    "soft": ((6.3, 5.9, 5.3), (7.4, 6.8, 5.2)),
    "accent": ((6.5, 6.1, 5.4), (8.2, 7.6, 5.8)),
    "warn": ((6.3, 5.9, 5.3), (10.2, 9.4, 7.2)),
    "wait": ((6.7, 6.2, 5.6), (8.6, 7.9, 6.0)),
    "better": ((6.6, 6.1, 5.5), (10.3, 9.5, 7.2)),
    "error": ((6.5, 6.1, 5.5), (9.1, 8.4, 6.4)),
}
SYNTAX = ("k", "c", "n", "f", "r", "w", "m", "s")
PINNED = ("soft", "m", "w", "n", "r", "k", "f", "wait")


def token(name: str) -> tuple[Colour, Colour]:
    match = re.search(rf"--{name}: light-dark\(#(\w+), #(\w+)\)", CSS)
    assert match is not None, name
    light, dark = (digits if len(digits) == 6 else "".join(each * 2 for each in digits) for digits in match.groups())
    return tuple(bytes.fromhex(light)), tuple(bytes.fromhex(dark))


def luminance(colour: Colour) -> float:
    parts = [value / 255 for value in colour]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(left: Colour, right: Colour) -> float:
    dark, light = sorted((luminance(left), luminance(right)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", RATIOS)
def test_tokens_have_the_contrast_of_the_design(name: str) -> None:
    for theme, least in enumerate(RATIOS[name]):
        read = [contrast(token(name)[theme], token(ground)[theme]) for ground in ("paper", "panel", "pin")]
        assert all(ratio >= wished - 0.1 for ratio, wished in zip(read, least, strict=True)), (theme, read)


def test_each_is_read_on_its_own_ground() -> None:
    pairs = [("warn", "worse-ground"), ("better", "better-ground"), ("error", "error-ground")]
    pairs += [(name, ground) for name in SYNTAX for ground in ("paper", "panel")]
    pairs += [(f"pin-{name}", ground) for name in PINNED for ground in ("pin", "sel", "via")]
    for name, ground in pairs:
        for theme in (0, 1):
            assert contrast(token(name)[theme], token(ground)[theme]) >= 4.5, (name, ground, theme)


def test_ink_is_read_on_every_step_of_heat() -> None:
    steps = re.findall(r"background: light-dark\(rgb\(([\d ]+) / (\d+)%\), rgb\(([\d ]+) / (\d+)%\)\)", CSS)
    assert len(steps) == 16
    for step in steps:
        for theme in (0, 1):
            colour, share = map(int, step[2 * theme].split()), int(step[2 * theme + 1])
            paper = token("paper")[theme]
            ground = tuple(
                (value * share + under * (100 - share)) / 100 for value, under in zip(colour, paper, strict=True)
            )
            assert contrast(token("ink")[theme], ground) >= 7, (step, theme)
