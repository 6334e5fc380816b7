"""The JSON document of a comparison (schema 1, docs/json.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kernlens.analysis.comparison.kernel_changes import (
    NEIGHBOURS,
    PROLOGUE,
    WITHOUT_LINE,
    InstructionPair,
    KernelChange,
    LineChange,
    instruction_pairs,
)
from kernlens.analysis.comparison.pairs import Pairing, Unpaired
from kernlens.analysis.comparison.stage_partings import Parting
from kernlens.model.program import Program
from kernlens.report.json_text import attributes
from kernlens.report.program_document import metric_keys, place_document

Document = dict[str, Any]


def comparison_document(
    old: str, new: str, pairing: Pairing, kernels: Sequence[Document], *, equal: bool, summary: Document
) -> Document:
    """Return the whole document; ``kernels`` are those that differ, as ``kernel_document`` returns them."""
    return {
        "schema": 1,
        "equal": equal,
        "old": old,
        "new": new,
        "compared": len(pairing.kernels),
        "summary": summary,
        "only_old": _unpaired(pairing.only_old),
        "only_new": _unpaired(pairing.only_new),
        "kernels": list(kernels),
    }


def _unpaired(entries: Iterable[Unpaired]) -> list[Document]:
    return [{"kernel": entry.kernel.name if entry.kernel else None, **_program(entry.program)} for entry in entries]


def _program(program: Program) -> Document:
    return {**place_document(program), "build_options": program.build.options}


def kernel_document(change: KernelChange, parting: Parting | None, *, has_instructions: bool) -> Document:
    """Return a kernel that differs; ``parting`` is where its compiles part, if that was asked for."""
    document: Document = {
        "name": change.pair.new.name,
        "old": _program(change.pair.old_program),
        "new": _program(change.pair.new_program),
        "figures": [
            {**metric_keys(figure_change.figure), "old": figure_change.old, "new": figure_change.new}
            for figure_change in change.figures
        ],
        "same_instructions": change.is_same_code,
        "lines": [_line(change, line, has_instructions) for line in change.lines],
        "edited": [
            {"path": key.path, "old_line": key.old or None, "new_line": key.new or None} for key in change.edited
        ],
    }
    if parting is not None:
        document["parting"] = {"equal_stage": parting.before, "stage": parting.stage, "pass": None}
        if parting.first_pass is not None:
            first = parting.first_pass
            document["parting"]["pass"] = {**attributes(first, "stage", "side"), "partial": list(first.partial)}
    return document


def _line(change: KernelChange, line: LineChange, has_instructions: bool) -> Document:
    key = line.key
    is_line = key not in WITHOUT_LINE
    document: Document = {
        "path": key.path if is_line else None,
        "old_line": key.old or None,
        "new_line": key.new or None,
        "prologue": key == PROLOGUE,
        "inherited": key == NEIGHBOURS,
        "change": line.change,
        "edited": line.is_cause,
        "old": len(line.old),
        "new": len(line.new),
    }
    if has_instructions:
        document["instructions"] = [_pair(change, pair) for pair in instruction_pairs(_codes(change), line)]
    return document


def _pair(change: KernelChange, pair: InstructionPair) -> Document:
    sides = zip(("old", "new"), (pair.old, pair.new), _codes(change), strict=True)
    return {
        side: None
        if index is None
        else {"offset": code.instructions.offsets[index], "text": code.instructions.texts[index]}
        for side, index, code in sides
    }


def _codes(change: KernelChange) -> Any:
    assert change.codes is not None
    return change.codes
