"""One HTML file: the annotate document with a viewer around it, no network access."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from kernlens.model.figures import STATED
from kernlens.report.document import Document


def html_page(document: Document) -> str:
    """The page that shows an annotate document. Everything is inline; its content-security policy forbids requests."""
    viewer = files("kernlens.report").joinpath("viewer.html").read_text("utf-8")
    figures = [{"key": figure.key, "words": figure.words, "zero": figure.zero} for figure in STATED]
    return viewer.replace("/*FIGURES*/null", _script(figures), 1).replace("/*DOCUMENT*/null", _script(document), 1)


def _script(value: Any) -> str:
    """JSON that can stand in a script element, where only "<" could end the script or open a comment: kernel and file
    names are not ours to trust."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").replace("\x7f", "\\u007f")
