"""The accesses of a kernel's code in words and as a document: beside lines that nobody observed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kernlens.analysis.lanes.kernel_accesses import KernelAccesses, kernel_accesses
from kernlens.analysis.strides import Line, alike, conflicting_lanes, strided_lines
from kernlens.errors import UnsupportedError
from kernlens.report.style import style

if TYPE_CHECKING:
    from kernlens.model.behaviour import ObservedMachine
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program
    from kernlens.model.source_map import SourcePlace
    from kernlens.model.static_access import StaticAccess

_LOCAL = "local"


class AccessNotes:
    """The accesses of lines that nobody observed whose neighbours are far apart, below their lines."""

    heading = meaning = ""

    def __init__(self, program: Program, kernel: Kernel, observed: Collection[Line] = ()) -> None:
        answer = kernel_accesses(program, kernel)
        self._assumed = f"  {_assumption(answer)}" if answer.group.local is None else ""
        lines = strided_lines(answer.accesses)
        words = {line: _line_words(program, answer, own) for line, own in lines.items() if line not in observed}
        self._sentences = {line: sentence for line, sentence in words.items() if sentence}

    def above(self) -> list[str]:
        """Return for which sub-groups the sentences below lines hold."""
        return [self._assumed] if self._sentences and self._assumed else []

    def of_line(self, path: str, line: int) -> str:
        """Return nothing: there is no column."""
        return ""

    def below(self, path: str, line: int) -> Iterator[str]:
        """Yield a sentence on the accesses of a line that are worth it."""
        if sentence := self._sentences.get((path, line)):
            yield style(sentence, fg="yellow")

    def rows(self) -> Iterator[tuple[int, str]]:
        """Return nothing: instructions have no notes."""
        return iter(())


def _line_words(program: Program, answer: KernelAccesses, accesses: Sequence[StaticAccess]) -> str:
    """Return one sentence on what a line accesses; "" if it accesses local memory alone, and its banks do not conflict."""
    machine = _machine(program)
    words = []
    for (kinds, space, pattern), own in alike(accesses).items():
        apart = f"{kinds}, {space} memory: {pattern} between work-items"
        if space == _LOCAL:
            lanes = machine and max(conflicting_lanes(each, answer.group.width, machine) or 0 for each in own)
            if not lanes:
                continue
            apart += f", {lanes} lanes on one bank"
        words.append(apart)
    return f"{'; '.join(words)}, from the code" if words else ""


def _machine(program: Program) -> ObservedMachine | None:
    """Return what is known of the program's device; None for a processor, which has no banks."""
    from kernlens.isa.observed_machines import machine_of

    try:
        return machine_of(program.device) if program.device is not None else None
    except UnsupportedError:
        return None


def _assumption(answer: KernelAccesses) -> str:
    return (
        f"strides from the code: for {answer.group.width} neighbours in the first dimension; where work-groups are narrower,"
        " others follow"
    )


#: The keys of a kernel among so many that nothing was asked of its addresses.
UNASKED: dict[str, Any] = {
    "accesses": [],
    "accesses_reason": "addresses are followed in kernels that --kernel or --line chooses, and in files with up to 16 kernels",
}


def accesses_document(program: Program, kernel: Kernel) -> dict[str, Any]:
    """Return the keys ``accesses`` and ``accesses_reason`` of a kernel."""
    answer = kernel_accesses(program, kernel)
    accesses = [
        {
            **where_document(each.place),
            "inlined_at": [where_document(call) for call in each.calls],
            "kind": each.kind,
            "space": each.space,
            "width": each.width,
            "pattern": each.pattern,
            "stride_bytes": each.stride,
        }
        for each in answer.accesses
    ]
    return {"accesses": accesses, "accesses_reason": answer.reason or None}


def where_document(place: SourcePlace | None) -> dict[str, Any]:
    """Return the keys of a place, null where it is not known."""
    if place is None:
        return {"path": None, "line": None, "column": None}
    return {"path": place.path, "line": place.line, "column": place.column or None}
