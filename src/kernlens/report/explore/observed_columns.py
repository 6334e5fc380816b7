"""The counts of an interpreter on a kernel's source lines, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kernlens.analysis.machine_accesses import machine_accesses
from kernlens.analysis.observed_causes import Cause, causes_of_kernel
from kernlens.analysis.observed_code import Line, ObservedCode, observed_code
from kernlens.model.behaviour import LOCAL, UNITS, Behaviour, ObservedAccess, ObservedRequest
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.report.behaviour_words import cause_words, count_words, fault_sentence, observed_sentences
from kernlens.report.explore.packing import deltas
from kernlens.report.explore.places import Places
from kernlens.report.machine_words import machine_sentence

#: Requests that are drawn of a line, and of a kernel: those of the accesses that waste most.
_MOST_OF_LINE, _MOST_OF_KERNEL = 4, 200


def observed_columns(program: Program, kernel: Kernel, places: Places, *, is_redacted: bool) -> dict[str, Any] | None:
    """Return the ``observed`` of a kernel: null if nothing was observed.

    ``sentences`` say what the counts are; ``faults`` are sentences, left out where the source is redacted. ``file``, ``line``
    and the counts have an entry for each line that ran: ``runs`` by work-items, ``moved`` bytes of global memory, ``idle``
    lanes of a sub-group on average, 0 where they are not known. ``words`` has the sentences on each line, ``requests`` the
    costliest request of each of its accesses. ``cause`` is what wastes most, ``row`` its entry among the lines; null where
    nothing wastes much. The lines are numbered among the kernel's ``places``, those too that have no
    code.
    """
    observed = observed_code(kernel)
    if observed is None:
        return None
    for path, line in observed.lines:
        places.number(SourcePlace(path, line))
    lines = [(file, counts) for key, counts in observed.lines.items() if (file := places.file(key[0])) is not None]
    told: dict[Line, list[str]] = {}
    causes = causes_of_kernel(program, kernel)
    for cause in causes:
        if cause.place is not None:
            sentences = told.setdefault((cause.place.path, cause.place.line), [])
            sentences.append(f"{cause_words(cause)}. Try: {cause.action}")
    for each in machine_accesses(kernel):
        if (sentence := machine_sentence(each)) is not None:
            told.setdefault(each.line, []).append(sentence)
    faults = [] if is_redacted else list(map(fault_sentence, observed.faults))
    requests = _requests(observed)
    return {
        "sentences": list(observed_sentences(observed)),
        "faults": faults,
        "cause": _first(causes, [(counts.place.path, counts.place.line) for _, counts in lines]),
        "file": [file for file, _ in lines],
        "line": deltas(counts.place.line for _, counts in lines),
        "runs": [counts.runs for _, counts in lines],
        "moved": [counts.units * observed.unit for _, counts in lines],
        "idle": [0 if counts.lanes is None else round(observed.machine.width - counts.lanes, 1) for _, counts in lines],
        "words": [
            [count_words(counts, observed), *told.get((counts.place.path, counts.place.line), ())]
            for _, counts in lines
        ],
        "requests": [requests.get((counts.place.path, counts.place.line), []) for _, counts in lines],
    }


def _first(causes: Iterable[Cause], lines: Sequence[Line]) -> dict[str, Any] | None:
    """Return the first cause on one of the lines, the costliest."""
    for cause in causes:
        if cause.place is not None and (line := (cause.place.path, cause.place.line)) in lines:
            return {"row": lines.index(line), "words": cause_words(cause), "action": cause.action}
    return None


def _requests(observed: ObservedCode) -> dict[Line, list[dict[str, Any]]]:
    """Return the costliest requests of each line's accesses, those of accesses that waste most first."""
    accesses = [
        (launch, access) for launch in observed.launches for access in launch.accesses if access.example is not None
    ]
    accesses.sort(key=lambda both: -_wasted(*both))
    requests: dict[Line, list[dict[str, Any]]] = {}
    for launch, access in accesses[:_MOST_OF_KERNEL]:
        if access.place is not None and access.example is not None:
            line = observed.paths.get(access.place.path, access.place.path), access.place.line
            of_line = requests.setdefault(line, [])
            drawn = _request(launch, access, access.example)
            if len(of_line) < _MOST_OF_LINE and drawn not in of_line:
                of_line.append(drawn)
    return requests


def _wasted(launch: Behaviour, access: ObservedAccess) -> int:
    if access.space == LOCAL:
        return (access.wavefronts or 0) - (access.least_wavefronts or 0)
    chosen = UNITS.index(launch.unit)
    return access.units[chosen] - access.least[chosen]


def _request(launch: Behaviour, access: ObservedAccess, example: ObservedRequest) -> dict[str, Any]:
    """Return a request: what it is in ``words``, the ``unit`` and ``banks`` that it is to be drawn on, its active ``lanes`` and
    where each begins, in bytes from a multiple of both."""
    machine, is_local = launch.machine, access.space == LOCAL
    where = f"local memory, from byte {example.begin:,} on" if is_local else f"{access.space} memory"
    if example.argument and not is_local:
        where = f"`{example.argument}`, from byte {example.begin:,} on"
    return {
        "words": f"{access.kind} of {example.bytes} bytes in {where}: the costliest of {access.requests:,} requests",
        "unit": launch.unit,
        "banks": machine.banks if is_local else 0,
        "bank": machine.bank_bytes,
        "bytes": example.bytes,
        "lanes": [lane for lane, _ in example.lanes],
        "at": [at for _, at in example.lanes],
    }
