"""One HTML file: the annotate document with a viewer around it, no network access."""

from __future__ import annotations

import json
from importlib.resources import files

from kernlens.report.document import Document

_MARK = "/*DOCUMENT*/null"


def html_page(document: Document) -> str:
    """The page that shows an annotate document. Everything is inline; its content-security policy forbids requests."""
    viewer = files("kernlens.report").joinpath("viewer.html").read_text("utf-8")
    # In a script element only "<" can end the script or open a comment: kernel and file names are not ours to trust.
    text = json.dumps(document, separators=(",", ":")).replace("<", "\\u003c")
    return viewer.replace(_MARK, text, 1)
