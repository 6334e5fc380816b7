"""Kernels against their bounds: which rules are whose, and what comes of it. Values are read; nothing is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kernlens.analysis.comparison.pairs import KernelPair
from kernlens.analysis.kernel_names import kernels_named
from kernlens.errors import NotFoundError, UnknownKernelError
from kernlens.model.bounds import Rule, Tolerance
from kernlens.model.figures import EVERY_FIGURE, FIGURES
from kernlens.model.program import Program
from kernlens.model.verdict import Finding, Place

_ORDER = {figure.key: number for number, figure in enumerate(EVERY_FIGURE)}


def places_of(programs: Iterable[Program]) -> list[Place]:
    """Every entry point of the programs. The code of functions, which is none, has no budget."""
    return [(program, kernel) for program in programs for kernel in program.entry_kernels.values()]


def named(places: Sequence[Place], pattern: str, origin: str = "") -> list[Place]:
    """The kernels that a name or a pattern means. Raises NotFoundError, which begins with ``origin``, if it means none: a
    misspelt pattern must not pass."""
    try:
        names = set(kernels_named(pattern, dict.fromkeys(kernel.name for _, kernel in places)))
    except UnknownKernelError as error:
        raise NotFoundError(f"{origin}: {error}" if origin else str(error)) from None
    return [place for place in places if place[1].name in names]


class Rules:
    """Which rules are a kernel's. Each must fit a kernel of ``places``, and those of a device one on that device, unless no
    program is for it: these are ``idle``. Raises NotFoundError for one that fits none."""

    def __init__(self, rules: Iterable[Rule], places: Sequence[Place], is_for: Callable[[Program, str], bool]) -> None:
        self._of: dict[tuple[int, str], list[Rule]] = {}
        self.idle: list[str] = []
        for rule in rules:
            there = [place for place in places if rule.device is None or is_for(place[0], rule.device)]
            if not there and rule.device is not None:
                self.idle.append(rule.origin)
                continue
            for program, kernel in named(there, rule.pattern, rule.origin):
                self._of.setdefault((id(program), kernel.name), []).append(rule)

    def findings(self, place: Place, allows_unknown: bool) -> list[Finding]:
        """The findings of a kernel: of several bounds of one figure the last counts."""
        program, kernel = place
        rules = self._of.get((id(program), kernel.name), ())
        for rule in rules:
            allows_unknown = allows_unknown if rule.allows_unknown is None else rule.allows_unknown
        bounds = {bound.key: bound for rule in rules for bound in rule.bounds}
        return [
            Finding(program, kernel, bound.figure, bound.figure.read(kernel), bound, allows_unknown=allows_unknown)
            for bound in sorted(bounds.values(), key=lambda bound: (_ORDER[bound.figure.key], bound.is_least))
        ]

    def needs_decoding(self, place: Place) -> bool:
        """Whether a figure of the kernel is counted in its instructions."""
        rules = self._of.get((id(place[0]), place[1].name), ())
        return any(bound.figure.needs_decoding for rule in rules for bound in rule.bounds)


def guarded(tolerances: Iterable[Tolerance]) -> list[Tolerance]:
    """By how much each figure may get worse than in a baseline: not at all if nothing else is said. What code costs counts
    only if it is named."""
    by_key = {figure.key: Tolerance(figure) for figure in FIGURES} | {each.figure.key: each for each in tolerances}
    return [each for each in by_key.values() if each.amount is not None]


def against_baseline(pair: KernelPair, tolerances: Iterable[Tolerance], allows_unknown: bool) -> list[Finding]:
    """The findings of a kernel against its like in the baseline."""
    findings = []
    for tolerance in tolerances:
        before, value = tolerance.figure.read(pair.old), tolerance.figure.read(pair.new)
        bound = tolerance.bound(before) if before is not None else None
        findings.append(
            Finding(pair.new_program, pair.new, tolerance.figure, value, bound, before, tolerance, allows_unknown)
        )
    return findings
