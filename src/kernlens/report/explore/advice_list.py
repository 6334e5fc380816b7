"""The advice on a kernel, with the rows that each piece is about."""

from __future__ import annotations

from typing import Any

from kernlens.analysis.advice.rules import advice_on
from kernlens.model.advice import Advice
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.explore.packing import deltas
from kernlens.report.explore.places import Places


def advice_list(program: Program, kernel: Kernel, places: Places) -> list[dict[str, Any]]:
    """Return the advice on a kernel whose ``places`` have their numbers. Raises UnsupportedError as ``advice_on`` does."""
    return [_piece(piece, places) for piece in advice_on(program, kernel)]


def _piece(piece: Advice, places: Places) -> dict[str, Any]:
    file = None if piece.path is None else places.file(piece.path)
    return {
        "rule": piece.rule,
        "sentence": piece.sentence,
        "line": None if file is None else [file, piece.line],
        "rows": deltas(piece.rows),
    }
