"""The outcome of a check of kernels against their bounds: a finding for each bound of each kernel, and what was not checked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass, field, in_short
from kernlens.model.analysed_figures import OBSERVED
from kernlens.model.columns import Table, Tabular
from kernlens.model.coverage import Coverage, coverage

if TYPE_CHECKING:
    from kernlens.model.bounds import Bound, Tolerance
    from kernlens.model.failed_builds import FailedBuilds
    from kernlens.model.figure import Figure
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program

#: How a finding ends: the value is allowed; it is not; it, or that of the baseline, is not known; the same, and allowed.
PASSED, FAILED, UNKNOWN, SKIPPED = "passed", "failed", "unknown", "skipped"


@dataclass(frozen=True, slots=True)
class Cause:
    """The source line that is likely to have caused a value: ``count`` of the kernel's ``total`` ``counted`` (instructions,
    bytes of spills) are its; against a baseline ``before`` were. ``source`` is its text, None where that is not known;
    ``is_edited``: the line itself differs from the baseline's. ``certain`` of ``count`` are of instructions that are certainly
    the line's, None where the line was named for another reason."""

    path: str
    line: int
    source: str | None
    counted: str
    count: int
    total: int
    before: int | None = None
    is_edited: bool = False
    certain: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A figure of a kernel, and the bound that it has: its own, or by ``tolerance`` against ``before``, the value in the
    baseline. A value is None where the binary does not say it. ``bound`` is None if none can be told, or any value is
    allowed. ``hidden`` says which code is not in the value, so that it is no answer where it would pass. ``reason`` says why
    a failed finding has no ``cause``, or what answers instead of a value that is not known. ``baseline_toolchain`` is the name
    of the toolchain that compiled the baseline, None where there is none or it is not known."""

    program: Program
    kernel: Kernel
    figure: Figure
    value: int | None
    bound: Bound | None
    before: int | None = None
    tolerance: Tolerance | None = None
    allows_unknown: bool = False
    hidden: str | None = None
    cause: Cause | None = None
    reason: str | None = None
    baseline_toolchain: str | None = None

    def __repr__(self) -> str:
        limit = "" if self.bound is None else f" against {self.bound.value:,}"
        value = "not known" if self.value is None else f"{self.value:,}"
        return in_short(f"<Finding {self.kernel.name!r} {self.rule}: {value}{limit}, {self.state}>")

    @property
    def cells(self) -> tuple[str | int | None, ...]:
        """Its row in the table of a verdict."""
        cause, bound = self.cause, self.bound
        where = (cause.path, cause.line) if cause else (None, None)
        device = str(self.program.device) if self.program.device else None
        toolchain = self.program.build.toolchain.name if self.program.build.toolchain else None
        values = self.rule, self.figure.key, self.state, self.value, bound and bound.value, self.before
        return self.kernel.name, self.program.name, device, toolchain, *values, *where, self.reason or self.hidden

    @property
    def rule(self) -> str:
        """The rule that it is held against: ``max-spill-bytes``, ``min-simd``; ``baseline-spill-bytes`` against a baseline."""
        if self.tolerance is not None or self.bound is None:
            return f"baseline-{self.figure.names[0]}"
        return self.bound.name

    @property
    def state(self) -> str:
        """The state: PASSED, FAILED, UNKNOWN or SKIPPED."""
        if self.value is None or self.bound is None or (self.hidden and self.bound.allows(self.value)):
            return SKIPPED if self.allows_unknown else UNKNOWN
        return PASSED if self.bound.allows(self.value) else FAILED


#: The columns of a verdict's table.
_COLUMNS = (
    *("kernel", "program", "device", "toolchain", "rule", "figure", "state", "value", "limit", "baseline"),
    *("path", "line", "reason"),
)
#: A kernel in its program.
Place = tuple["Program", "Kernel"]


@dataclass(frozen=True, slots=True)
class Verdict(Tabular):
    """The outcome of a check. ``new`` and ``missing`` are kernels that only the checked programs, or only the baseline,
    have; ``without_budget`` those for which no bound was given; ``idle`` the rules for devices that no program is for;
    ``unused`` sentences on those that fit no kernel. ``budget_file`` is the file that was read, ``baseline`` the path that was
    compared with; None: there was none. ``failing`` are the kinds of kernels, ``new`` and ``missing``, that fail the check.
    ``failed`` are the builds without a binary, of which nothing could be checked: they fail the check unless it
    ``allows_failed``."""

    findings: tuple[Finding, ...]
    new: tuple[Place, ...] = ()
    missing: tuple[Place, ...] = ()
    without_budget: tuple[Place, ...] = ()
    idle: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    budget_file: str | None = None
    baseline: str | None = None
    failing: frozenset[str] = field(default=frozenset())
    failed: tuple[FailedBuilds, ...] = ()
    allows_failed: bool = False

    def __repr__(self) -> str:
        states = Counter(finding.state for finding in self.findings)
        words = [f"{states[state]:,} {state}" for state in (FAILED, UNKNOWN, SKIPPED, PASSED) if states[state]]
        words += [
            f"{len(places):,} {kind}" for kind, places in (("new", self.new), ("missing", self.missing)) if places
        ]
        words += [group.share for group in self.failed if group]
        return in_short(f"<Verdict {'ok' if self.ok else 'not ok'}: {', '.join(words) or 'nothing was checked'}>")

    @property
    def table(self) -> Table:
        """The findings, each with the source line that is the likely cause."""
        kinds = {name: int if name in ("value", "limit", "baseline", "line") else str for name in _COLUMNS}
        return Table.of_rows(kinds, (finding.cells for finding in self.findings))

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self)[1:-1])}</p>{self.table._repr_html_()}"

    def in_state(self, state: str) -> list[Finding]:
        """Return the findings that ended so."""
        return [finding for finding in self.findings if finding.state == state]

    @property
    def improved(self) -> list[Finding]:
        """The findings against the baseline whose values are better than there."""
        return [
            finding
            for finding in self.findings
            if finding.tolerance is not None
            and finding.value is not None
            and finding.before is not None
            and finding.value != finding.before
            and (finding.value > finding.before) == finding.figure.more_is_better
        ]

    @property
    def coverage(self) -> Coverage:
        """The kernels that were held against bounds; one is unread if nothing of its code is known. What nobody observed
        makes a finding unknown, and no kernel unread."""
        known: dict[tuple[int, str], bool] = {}
        for finding in self.findings:
            key = id(finding.program), finding.kernel.name
            known[key] = known.get(key, False) or finding.value is not None or finding.figure in OBSERVED
        places = [*((finding.program, finding.kernel) for finding in self.findings), *self.new, *self.without_budget]
        failed = [build for group in self.failed for build in group.builds]
        return coverage([program for program, _ in places], failed, len(known), list(known.values()).count(False))

    @property
    def failed_kernels(self) -> tuple[tuple[str, Place], ...]:
        """New and missing kernels, each with that word, if they fail the check."""
        kinds = (("new", self.new), ("missing", self.missing))
        return tuple((kind, place) for kind, places in kinds if kind in self.failing for place in places)

    @property
    def exit_status(self) -> int:
        """The exit status: 0 if all is within its bounds, 1 if something is not or a build in a recording failed, 2 if
        something could not be checked, 3 if a source does not compile."""
        failed = [] if self.allows_failed else [group for group in self.failed if group]
        if any(not group.path for group in failed):
            return 3
        if self.in_state(FAILED) or self.failed_kernels or failed:
            return 1
        return 2 if self.in_state(UNKNOWN) else 0

    @property
    def ok(self) -> bool:
        """True if all was checked, and is within its bounds."""
        return self.exit_status == 0
