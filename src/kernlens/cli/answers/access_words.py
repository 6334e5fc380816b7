"""The accesses of a kernel's code in words and as a document: beside lines that nobody observed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from kernlens.analysis.lanes.kernel_accesses import KernelAccesses, kernel_accesses
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.model.static_access import STRIDED, StaticAccess
from kernlens.report.style import style

#: A stride is told of from so many times the access's bytes on: then less than half of what is moved may be used.
_WORTH = 2


class AccessNotes:
    """The accesses of lines that nobody observed whose neighbours are far apart, below their lines."""

    heading = meaning = ""

    def __init__(self, program: Program, kernel: Kernel, observed: Collection[tuple[str, int]] = ()) -> None:
        answer = kernel_accesses(program, kernel)
        self._assumed = f"  {_assumption(answer)}" if answer.group.local is None else ""
        self._sentences: dict[tuple[str, int], dict[str, None]] = {}
        for each in answer.accesses:
            place = each.place
            if place is not None and (place.path, place.line) not in observed and _is_worth(each):
                self._sentences.setdefault((place.path, place.line), {})[access_sentence(each)] = None

    def above(self) -> list[str]:
        """Return for which sub-groups the sentences below lines hold."""
        return [self._assumed] if self._sentences and self._assumed else []

    def of_line(self, path: str, line: int) -> str:
        """Return nothing: there is no column."""
        return ""

    def below(self, path: str, line: int) -> Iterator[str]:
        """Yield a sentence on each access of a line that is worth it."""
        yield from (style(each, fg="yellow") for each in self._sentences.get((path, line), ()))

    def rows(self) -> Iterator[tuple[int, str]]:
        """Return nothing: instructions have no notes."""
        return iter(())


def access_sentence(access: StaticAccess) -> str:
    """Return an access in words."""
    return f"{access.kind} of {access.width} bytes, {access.space} memory: {access.pattern} between work-items, from the code"


def _is_worth(access: StaticAccess) -> bool:
    far = access.stride is None or abs(access.stride) >= _WORTH * access.width
    return access.pattern.startswith(STRIDED) and far and access.kind != "atomic"


def _assumption(answer: KernelAccesses) -> str:
    return (
        f"strides from the code: for {answer.group.width} neighbours in the first dimension; where work-groups are narrower,"
        " others follow"
    )


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
