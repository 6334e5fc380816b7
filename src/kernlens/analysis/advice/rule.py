"""A rule of advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kernlens.analysis.advice.facts import Facts
from kernlens.dataclass import NamedTuple
from kernlens.model.advice import COUNTED, DIFFER, MAY_DIFFER, Advice, Edit
from kernlens.model.compiler_options import FREE_WITH_FLOATS
from kernlens.model.source_map import SourcePlace


class Rule(NamedTuple):
    """A rule: its ``key``, which is also the anchor of its section in docs/advice.md, its ``title`` there, what its actions
    may do to a kernel's ``results`` (``model.advice``), the usual first, and the function that yields its advice on a
    kernel. Advice names the instructions that it is about; a rule that cannot is silent."""

    key: str
    title: str
    results: tuple[str, *tuple[str, ...]]
    advise: Callable[[Facts], Iterator[Advice]]

    def advice(
        self,
        facts: Facts,
        place: SourcePlace | None,
        rows: Sequence[int],
        subject: str,
        fact: str,
        action: str,
        *,
        results: str = "",
        origin: str = COUNTED,
        is_exact: bool = False,
        edit: Edit | None = None,
    ) -> Advice:
        """Return a piece of advice on these rows; ``model.advice.Advice`` explains its parts. ``results`` are one of the
        rule's, if not the usual. ``is_exact``: the rows are known by what they do, not by their places.
        ``edit`` is the action, if that takes no person."""
        results = self.results[self.results.index(results)] if results else self.results[0]
        path, line, column = (place.path, place.line, place.column) if place else (None, 0, 0)
        source_map, options = facts.kernel.source_map, facts.program.build.options or ""
        if results != DIFFER and any(option in options for option in FREE_WITH_FLOATS):
            results = MAY_DIFFER
        certain, elsewhere, is_bound = None, 0, False
        if source_map and place:
            places = [(source_map.place(row), source_map.certain[row]) for row in rows]
            of_lines = [((at.path, at.line) == (path, line), sure) for at, sure in places if at]
            certain, elsewhere = of_lines.count((True, 1)), sum(not here for here, _ in of_lines)
            is_bound = not is_exact and not all(sure for _, sure in places)
        instructions, total = tuple(sorted(rows)), len(facts.code)
        return Advice(
            *(self.key, subject, fact, action, path, line, column, instructions, total, results, origin),
            *(certain, elsewhere, is_bound, edit),
        )
