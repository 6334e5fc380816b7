"""Whole documents and pages in memory, as ``annotate`` prints them in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kernlens.cli.listings import Json, listed_of
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.json_text import json_pieces
from kernlens.report.page import around_document, in_script


def annotate_document(selection: Iterable[tuple[Program, Sequence[Kernel]]]) -> dict[str, Any]:
    """What ``annotate --json`` prints of these kernels."""
    form = Json(is_placed=True)
    pieces = "".join(form.text(one) for one in listed_of(selection))
    document: dict[str, Any] = json.loads(form.head + pieces[len(form.separator) :] + form.tail)
    return document


def html_page(document: dict[str, Any]) -> str:
    """The page that shows an annotate document."""
    before, after = around_document()
    return before + "".join(map(in_script, json_pieces(document))) + after
