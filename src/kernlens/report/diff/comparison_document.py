"""The JSON document of a comparison (schema 1, docs/json.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kernlens.analysis.comparison.behaviour_changes import BehaviourChange
from kernlens.analysis.comparison.edit_hunks import HunkChange
from kernlens.analysis.comparison.kernel_changes import KernelChange
from kernlens.analysis.comparison.line_changes import (
    NEIGHBOURS,
    PROLOGUE,
    WITHOUT_LINE,
    InstructionPair,
    LineChange,
    instruction_pairs,
)
from kernlens.analysis.comparison.pairs import KernelPair, Pairing, Unpaired
from kernlens.analysis.comparison.source_lines import LineKey
from kernlens.analysis.comparison.stage_partings import Parting
from kernlens.model.figure import Figure
from kernlens.model.figures import shown_figures
from kernlens.model.kernel import Kernel
from kernlens.model.trial import Trial
from kernlens.report.diff.phase_changes import phases_documents
from kernlens.report.json_text import attributes
from kernlens.report.program_document import place_document

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
        "renamed": [_pair_document(each) for each in pairing.renamed],
        "kernels": list(kernels),
    }


def _pair_document(pair: KernelPair) -> Document:
    return {
        "name": pair.new.name,
        "old_name": pair.old.name,
        "paired_by": pair.paired_by.replace(" ", "_"),
        "old": place_document(pair.old_program),
        "new": place_document(pair.new_program),
    }


def _unpaired(entries: Iterable[Unpaired]) -> list[Document]:
    return [
        {
            "kernel": entry.kernel.name if entry.kernel else None,
            **place_document(entry.program),
            "figures": _stated(entry.kernel) if entry.kernel else [],
        }
        for entry in entries
    ]


def _stated(kernel: Kernel) -> list[Document]:
    """Return what the binary states of a kernel that is compared with nothing, what is unknown left out."""
    values = ((figure, figure.read(kernel)) for figure in shown_figures([kernel]))
    return [_own(figure, value) for figure, value in values if value is not None]


def hunk_document(change: HunkChange) -> Document:
    """Return what a hunk does by itself; ``left_out`` if it was told from the new side without it."""
    return {
        "path": change.hunk.path,
        "line": change.hunk.line,
        "added": change.hunk.new_end - change.hunk.new_start,
        "removed": change.hunk.old_end - change.hunk.old_start,
        "left_out": change.is_left_out,
        "failure": change.failure or None,
        "kernels": [{**_pair_document(each.pair), "figures": _figures(each)} for each in change.changes],
        "only_old": _unpaired(change.pairing.only_old),
        "only_new": _unpaired(change.pairing.only_new),
    }


def _launches(trial: Trial) -> Document:
    """Return how the launches of both sides compare, of which the work-items were stated."""
    assert trial.after is not None
    return {
        "old_items": trial.before.items,
        "new_items": trial.after.items,
        **{f"{key}_ratio": None if trial.is_undecided else trial.ratio(key) for key in ("instructions", "cycles")},
        "reason": trial.difference or None,
    }


def _figures(change: KernelChange) -> list[Document]:
    return [{"metric": each.figure.key, "old": each.old, "new": each.new} for each in change.figures]


def kernel_document(change: KernelChange, parting: Parting | None, *, has_instructions: bool) -> Document:
    """Return a kernel that differs; ``parting`` is where its compiles part, if that was asked for."""
    document: Document = {
        **_pair_document(change.pair),
        "figures": _figures(change),
        "old_figures": [_own(each.figure, each.old) for each in change.own_figures if each.old is not None],
        "new_figures": [_own(each.figure, each.new) for each in change.own_figures if each.new is not None],
        "same_instructions": change.is_same_code if change.has_code else None,
        "lines": [_line(change, line, has_instructions) for line in change.lines],
        "edited": [_place(change, key) for key in change.edited],
    }
    if not change.has_lines and (phases := phases_documents(change.pair.old, change.pair.new)):
        document["phases"] = phases
    if change.launches is not None:
        document["launches"] = _launches(change.launches)
    if change.behaviour is not None:
        document["behaviour"] = _behaviour(change, change.behaviour)
    if parting is not None:
        document["parting"] = {"equal_stage": parting.before, "stage": parting.stage, "pass": None}
        if parting.first_pass is not None:
            first = parting.first_pass
            document["parting"]["pass"] = {**attributes(first, "stage", "side"), "partial": list(first.partial)}
    return document


def _behaviour(change: KernelChange, behaviour: BehaviourChange) -> Document:
    return {
        "reason": behaviour.reason or None,
        "units": None if behaviour.reason else dict(zip(("old", "new"), behaviour.units, strict=True)),
        "faults": None
        if behaviour.faults is None
        else dict(zip(("old", "new"), map(len, behaviour.faults), strict=True)),
        "bounds": None
        if behaviour.bounds is None
        else {
            side: {"work": bound.kind, "core_cycles": round(bound.cycles[0][1])}
            for side, bound in zip(("old", "new"), behaviour.bounds, strict=True)
        },
        "lines": [
            {
                **_place(change, line.key),
                **{
                    key: dict(zip(("old", "new"), values, strict=True))
                    for key, values in (
                        ("units_per_request", line.units),
                        ("waves_per_request", line.waves),
                        ("runs", line.runs),
                    )
                },
            }
            for line in behaviour.lines
        ],
    }


def _own(figure: Figure, value: int) -> Document:
    return {"metric": figure.key, "value": value}


def _line(change: KernelChange, line: LineChange, has_instructions: bool) -> Document:
    key = line.key
    document: Document = {
        **_place(change, key),
        "prologue": key == PROLOGUE,
        "inherited": key == NEIGHBOURS,
        "change": line.change,
        "edited": line.is_cause,
        "old": len(line.old),
        "new": len(line.new),
        **attributes(line, "old_certain", "new_certain", "removed", "added"),
        "old_sync": line.old_waits,
        "new_sync": line.new_waits,
    }
    if has_instructions:
        document["instructions"] = [_pair(change, pair) for pair in instruction_pairs(_codes(change), line)]
    return document


def _place(change: KernelChange, key: LineKey) -> Document:
    """Return a line on both sides; nothing for instructions without one."""
    if key in WITHOUT_LINE:
        return dict.fromkeys(("path", "old_path", "old_line", "new_line", "old_text", "new_text"))
    old_text, new_text = change.sources.texts(key)
    return {
        "path": key.path,
        "old_path": change.sources.old_path(key),
        "old_line": key.old or None,
        "new_line": key.new or None,
        "old_text": old_text,
        "new_text": new_text,
    }


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
