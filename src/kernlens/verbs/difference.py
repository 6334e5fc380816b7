"""The answer of ``kernlens.diff``: what differs between two sides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kernlens.analysis.comparison.data_changes import DataChanges, data_changes
from kernlens.analysis.comparison.edit_hunks import HunkChange
from kernlens.analysis.comparison.kernel_changes import KernelChange
from kernlens.analysis.comparison.pairs import Pairing
from kernlens.analysis.comparison.stage_partings import Parting
from kernlens.analysis.comparison.totals import Totals, programs_of_equal_code, totals
from kernlens.dataclass import dataclass, in_short
from kernlens.model.columns import Cell, Table, Tabular
from kernlens.model.coverage import Coverage, coverage
from kernlens.model.failed_builds import FailedBuilds
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.program import Program
from kernlens.model.source_change import SourceChanges

if TYPE_CHECKING:
    from kernlens.report.diff.comparison_summary import Summary

#: The most kernels that a notebook shows of a comparison.
_SHOWN = 50


@dataclass(frozen=True)
class Difference(Tabular):
    """The difference between two sides. ``old_title`` and ``new_title`` tell them from one another; ``pairing`` is what
    belongs together and what only one side has, ``changes`` are the kernels that differ, the worst first, and ``partings``
    where the compiles of each part, None where that was not asked for. ``sources`` are those of two folders or revisions that
    differ; None for other sides. ``failed_builds`` are those of each side, as recordings hold them. ``hunks`` say what each
    hunk does of sources with several."""

    old_title: str
    new_title: str
    old: Sequence[Program]
    new: Sequence[Program]
    pairing: Pairing
    changes: tuple[KernelChange, ...]
    partings: tuple[Parting | None, ...]
    sources: SourceChanges | None = None
    failed_builds: tuple[FailedBuilds, ...] = ()
    hunks: tuple[HunkChange, ...] = ()

    def __repr__(self) -> str:
        alone = len(self.pairing.only_old) + len(self.pairing.only_new)
        words = f"{len(self.changes):,} of {len(self.pairing.kernels):,} kernels differ"
        return in_short(
            f"<Difference {self.old_title!r} -> {self.new_title!r}: {words}{f', {alone:,} on one side' if alone else ''}>"
        )

    @property
    def equal(self) -> bool:
        """True if both sides have the same kernels by the same names, and neither these nor constants and initialised variables
        differ; False if a source does not compile, or a build failed on one side only."""
        unlike = self.pairing.renamed or self.pairing.only_old or self.pairing.only_new
        failures = {frozenset(build.name for build in side.builds) for side in self.failed_builds}
        return not (self.changes or unlike or self.failed or len(failures) > 1 or self.data.changes)

    @property
    def failed(self) -> bool:
        """True if a source of a folder or revision does not compile, so that not everything was compared."""
        return self.sources is not None and self.sources.failed

    @property
    def totals(self) -> Totals:
        """The sums over all kernels. Their waits are computed each time that this is asked for."""
        return totals(self.pairing, self.changes)

    @cached_property
    def data(self) -> DataChanges:
        """The comparison of constants and initialised variables."""
        return data_changes(self.pairing)

    @property
    def coverage(self) -> Coverage:
        """The kernels that were compared; one is unread where a side has no code to compare."""
        changes = self.sources.compiled if self.sources else ()
        lost = [[build for change in changes for build in change.old_failed], []]
        lost[1] += [build for change in changes for build in change.new_failed]
        for builds, group in zip(lost, self.failed_builds, strict=False):
            builds += group.builds
        alone = [each.kernel for each in (*self.pairing.only_old, *self.pairing.only_new) if each.kernel is not None]
        kernels = len(self.pairing.kernels) + sum(kernel.name != PSEUDO_KERNEL for kernel in alone)
        blind = sum(not change.has_code for change in self.changes)
        sides = coverage(self.old, lost[0], 0) | coverage(self.new, lost[1], 0)
        return sides | Coverage(kernels, blind)

    @property
    def equal_code(self) -> list[tuple[str, int]]:
        """The names of programs whose sources differ, and whose code is equal, each with the number of lines that differ."""
        return programs_of_equal_code(self.pairing, self.changes)

    @property
    def table(self) -> Table:
        """A row for each figure that changed of each kernel that differs (one row if none did), and for what one side has."""
        kinds = {"kernel": str, "program": str, "change": str, "figure": str, "old": int, "new": int}
        rows: list[tuple[Cell, ...]] = []
        for change in self.changes:
            figures: list[tuple[Cell, ...]] = [(each.figure.key, each.old, each.new) for each in change.figures]
            figures = figures or [(None, None, None)]
            rows += ((change.pair.new.name, change.pair.new_program.name, "changed", *figure) for figure in figures)
        for side, alone in (("only old", self.pairing.only_old), ("only new", self.pairing.only_new)):
            names = ((each.kernel.name if each.kernel else None, each.program.name) for each in alone)
            rows += ((*name, side, None, None, None) for name in names)
        return Table.of_rows(kinds, rows)

    def _repr_html_(self) -> str:
        from kernlens.verbs.difference_html import comparison_body

        partings = self.partings[:_SHOWN]
        summary = self.summary((self.old_title, self.new_title))
        body = comparison_body(summary, partings, most=_SHOWN)
        more = len(self.changes) - _SHOWN
        return "".join(body) + (f"<p>and {more:,} more kernels</p>" if more > 0 else "")

    def summary(self, titles: tuple[str, str]) -> Summary:
        """Return its first screen, whose sides have these titles."""
        from kernlens.report.diff.comparison_summary import Summary

        return Summary(
            *titles,
            self.pairing,
            self.changes,
            self.totals,
            self.equal_code,
            self.data,
            self.sources,
            self.failed_builds,
            self.hunks,
            self.coverage,
        )

    def document(self, *, lines: bool = False) -> dict[str, Any]:
        """Return what ``kernlens diff --json`` prints (docs/json.md); ``lines``: with the instructions of each changed line."""
        from kernlens.report.diff.comparison_document import comparison_document, hunk_document, kernel_document
        from kernlens.report.diff.comparison_summary import data_document, sources_document, totals_document
        from kernlens.report.failure_lines import failed_documents

        documents = [
            kernel_document(change, parting, has_instructions=lines)
            for change, parting in zip(self.changes, self.partings, strict=True)
        ]
        summary = {
            **totals_document(self.totals),
            "equal_code": [{"program": name, "lines": lines} for name, lines in self.equal_code],
            "data": data_document(self.data),
        }
        document = comparison_document(
            self.old_title, self.new_title, self.pairing, documents, equal=self.equal, summary=summary
        )
        document["coverage"] = self.coverage.document
        document["failed_builds"] = failed_documents(self.failed_builds)
        if self.sources is None:
            return document
        hunks = list(map(hunk_document, self.hunks))
        return document | {"sources": sources_document(self.sources) | {"hunks": hunks}}
