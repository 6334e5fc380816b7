"""The JSON document of ``kernlens advise`` (schema 1, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernlens.analysis.line_texts import source_line
from kernlens.analysis.ranked_causes import MOST, RankedCause, ranked_causes
from kernlens.cli.answers.behaviour_document import causes_document
from kernlens.model.advice import Advice, AdvisedKernel
from kernlens.report.bound_words import about_document
from kernlens.report.json_text import attributes
from kernlens.report.program_document import place_document

Document = dict[str, Any]


def advice_document(kernels: Sequence[AdvisedKernel]) -> Document:
    """Return the whole document: every kernel, those without advice too."""
    start = [_start(entry) for entry in ranked_causes(kernels)[:MOST]]
    return {"schema": 1, "start_here": start, "kernels": [_kernel(each) for each in kernels]}


def _start(entry: RankedCause) -> Document:
    place = entry.place
    return {
        "program": entry.program.name,
        "build_options": entry.program.build.stated_options,
        "kernel": entry.kernel.name,
        "path": place.path if place is not None else None,
        "line": place.line if place is not None else None,
        "kind": entry.kind,
        "sentence": entry.evidence,
        "action": entry.action,
        "share": round(entry.share, 4),
        "is_weighed": entry.is_weighed,
        "loops": entry.in_loop or None,
    }


def _kernel(each: AdvisedKernel) -> Document:
    texts = each.program.source_lines if each.advice else {}
    offsets = each.kernel.instructions.offsets
    return {
        "kernel": each.kernel.name,
        **place_document(each.program),
        "instructions": len(offsets),
        "reason": each.reason,
        **(about_document(each) if each.kernel.code_size and each.kernel.advice_reason is None else {}),
        **(causes_document(each.program, each.kernel) if each.kernel.behaviours else {}),
        "advice": [
            piece_document(piece)
            | {"source": source_line(texts, piece.path, piece.line) if piece.path is not None else None}
            | {"offsets": [offsets[row] for row in piece.rows]}
            for piece in each.advice
        ],
    }


def piece_document(piece: Advice) -> Document:
    """Return a piece of advice without its instructions and its source line."""
    return {
        **attributes(piece, "rule", "sentence", "subject", "fact", "action", "results", "path"),
        "line": piece.line or None,
        "column": piece.column or None,
        **attributes(piece, "count", "certain"),
        "share": round(piece.share, 4),
        **attributes(piece, "origin", "link"),
    }
