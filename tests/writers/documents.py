"""Whole documents in memory, as ``annotate`` prints them in pieces; and pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kernlens.cli.listings import instructions_json, listed_of
from kernlens.model.failed_builds import FailedBuilds
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.explore import explore_document
from kernlens.report.explore.single_file import page


def annotate_document(selection: Iterable[tuple[Program, Sequence[Kernel]]]) -> dict[str, Any]:
    """Return what ``annotate --json`` prints of these kernels."""
    form = instructions_json(is_placed=True)
    form.begin(FailedBuilds())
    pieces = "".join(piece for kernel in listed_of(selection) for piece in form.pieces(kernel))
    document: dict[str, Any] = json.loads(form.head + pieces[len(form.separator) :] + form.tail)
    return document


def report_page(program: Program, kernels: Sequence[str] | None = None) -> str:
    """Return the page of a program, or of these kernels of it, with a script that is no viewer."""
    return "".join(
        page(explore_document([program], kernels=None if kernels is None else [kernels]), "/* the viewer */")
    )
