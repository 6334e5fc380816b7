"""The chunk of one kernel: its machine code, its part of each stage, and the places that both come from."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Any

from kernlens.analysis.own_lines import own_files
from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.errors import KernlensError, UnsupportedError
from kernlens.model.figures import LINE_ORDERS
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourceMap
from kernlens.model.stage_text import StageText, StageTexts
from kernlens.report.explore.advice_list import advice_list
from kernlens.report.explore.code import code_document, compacted_of
from kernlens.report.explore.cycle_columns import page_waits_reason
from kernlens.report.explore.observed_columns import observed_columns
from kernlens.report.explore.packing import RAW_LIMIT, deltas
from kernlens.report.explore.places import NO_PLACE, Places, names_of_table

#: The place of a row that is no instruction.
NO_INSTRUCTION = -2
#: The most instructions that are shown: with their texts and columns they take 200 bytes each.
MOST_INSTRUCTIONS = 250_000
_TOO_LARGE = "it is too large to be shown"
_EMPTY: dict[str, Any] = {"text": "", "row": None, "line": [], "place": [], "id": None, "ids": None, "functions": []}


def kernel_document(
    program: Program,
    kernel: Kernel,
    texts: StageTexts,
    own_roots: Collection[str] = (),
    sampled: SampledKernels | None = None,
    *,
    is_redacted: bool = False,
) -> dict[str, Any]:
    """Return the content of a kernel's chunk, with its part of the stages that have ``texts``. What cannot be read is
    left out, with the reason in ``missing``. Files below the folders ``own_roots`` are the user's own too
    (``analysis.own_lines``). ``sampled`` has the samples of a profiler. Advice has words of the source, so that a
    redacted document has none."""
    missing: dict[str, str] = {}
    source_map = _source_map(kernel, missing)
    table = source_map.table if source_map is not None else None
    places = Places(names_of_table(table.directory, [file.path for file in table.files]) if table else {})
    code = _code(kernel, source_map, places, texts, sampled, missing)
    advice: list[dict[str, Any]] = []
    if is_redacted:
        missing["advice"] = "the source text was left out (redacted)"
        if code is not None:
            code.pop("variables", None)
    elif code is not None:
        advice = _advice(program, kernel, places, missing)
        if source_map is not None and not program.sources:
            missing.setdefault("advice", "the source text is not known")
    stages, room = [], RAW_LIMIT // 8
    known: dict[str, int] = {}
    for text in texts.of_kernel(kernel.name):
        room -= sum(map(len, text.rows)) + 4 * len(text.rows)
        stages.append(_stage(text, places, known) if room >= 0 else _missing_stage(text, _TOO_LARGE))
    observed = observed_columns(program, kernel, places, is_redacted=is_redacted) if kernel.behaviours else None
    own = places.own_files(own_files(source_map.table, own_roots)) if source_map is not None else []
    return {
        "schema": 2,
        "kind": "kernel",
        "name": kernel.name,
        **places.document(),
        **({"own": own} if own else {}),
        "code": code,
        "figures": {
            "memory": LINE_ORDERS["memory"].sum(kernel.costs) if code else None,
            "peak": code["peak"]["registers"] if code and code["peak"] else None,
        },
        "warning": source_map.warning if source_map else None,
        "stages": stages,
        "advice": advice,
        **({} if observed is None else {"observed": observed}),
        "missing": missing,
    }


def _source_map(kernel: Kernel, missing: dict[str, str]) -> SourceMap | None:
    source_map = None
    try:
        source_map = kernel.source_map
        if kernel.line_table_reason:
            missing["lines"] = kernel.line_table_reason
    except KernlensError as error:
        missing["lines"] = str(error)
    return source_map


def _code(
    kernel: Kernel,
    source_map: SourceMap | None,
    places: Places,
    texts: StageTexts,
    sampled: SampledKernels | None,
    missing: dict[str, str],
) -> dict[str, Any] | None:
    if kernel.behaviours and not kernel.code_size:
        missing["code"] = f"{kernel.line_table_reason}; what it did on data stands at its source lines"
        return None
    try:
        if len(kernel.instructions) > MOST_INSTRUCTIONS:
            count = f"{len(kernel.instructions):,} instructions"
            raise UnsupportedError(f"{count} are more than are shown; kernlens annotate prints them")
        numbers = texts.visa_numbers(kernel.name, compacted_of(kernel.whole_instructions))
        code = code_document(kernel, source_map, places, numbers, sampled)
        reason = page_waits_reason(kernel)
    except KernlensError as error:
        missing["code"] = str(error)
        return None
    if code["cycles"] is None and reason:
        missing["waits"] = reason
    return code


def _advice(program: Program, kernel: Kernel, places: Places, missing: dict[str, str]) -> list[dict[str, Any]]:
    try:
        return advice_list(program, kernel, places)
    except KernlensError as error:
        missing["advice"] = str(error)
        return []


def without_stage_texts(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a kernel that is too large for one chunk."""
    stages = [{**stage, **_EMPTY, "missing": _TOO_LARGE} for stage in document["stages"]]
    return document | {"stages": stages}


def _stage(text: StageText, places: Places, known: dict[str, int]) -> dict[str, Any]:
    """Return a stage; ``known`` numbers the lines of those before it, which stages have in common, and takes its own."""
    if text.missing:
        return _missing_stage(text, text.missing)
    place = [NO_INSTRUCTION] * len(text.rows)
    first, end = [NO_PLACE] * len(text.rows), [0] * len(text.rows)
    for row, where, calls in zip(text.instructions, text.places, text.calls, strict=True):
        place[row] = places.number(where, calls)
    is_tied = False
    for row, numbers in zip(text.instructions, text.visa, strict=False):
        if numbers:
            is_tied = True
            first[row], end[row] = numbers.start, len(numbers)
    before = len(known)
    rows = [known.setdefault(row, len(known)) for row in text.rows]
    return {
        "stage": text.of.stage,
        "attempt": text.of.attempt,
        "text": "\n".join(islice(known, before, None)) if len(known) > before else None,
        "row": deltas(rows),
        "line": deltas(text.lines),
        "place": deltas(place),
        "id": deltas(first) if is_tied else None,
        "ids": end if is_tied else None,
        "functions": [[name, row] for name, row in text.functions],
        "missing": None,
    }


def _missing_stage(text: StageText, reason: str) -> dict[str, Any]:
    return {"stage": text.of.stage, "attempt": text.of.attempt, **_EMPTY, "missing": reason}
