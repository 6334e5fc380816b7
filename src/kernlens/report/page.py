"""One HTML file: the annotate document with a viewer around it, no network access."""

from __future__ import annotations

from importlib.resources import files

from kernlens.model.figures import STATED
from kernlens.report.json_text import encoded


def around_document() -> tuple[str, str]:
    """The page's text before and after its document. Everything is inline; its content-security policy forbids requests."""
    viewer = files("kernlens.report").joinpath("viewer.html").read_text("utf-8")
    figures = [{"key": figure.key, "words": figure.words, "zero": figure.zero} for figure in STATED]
    before, after = viewer.replace("/*FIGURES*/null", in_script(encoded(figures)), 1).split("/*DOCUMENT*/null", 1)
    return before, after


def in_script(text: str) -> str:
    """JSON that can stand in a script element, where only "<" could end the script or open a comment: kernel and file
    names are not ours to trust."""
    return text.replace("<", "\\u003c")
