"""Kernels against their bounds: which rules are whose, and what comes of it. Values are read; nothing is opened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from kernlens.analysis.comparison.pairs import KernelPair
from kernlens.analysis.kernel_names import kernels_named
from kernlens.errors import NotFoundError, UnknownKernelError, UnsupportedError
from kernlens.model.binary import Symbol
from kernlens.model.bounds import Bound, Rule, Tolerance
from kernlens.model.figure import Figure
from kernlens.model.figures import (
    EVERY_FIGURE,
    FIGURES,
    OBSERVED,
    OF_FAMILIES,
    WITHOUT_LAUNCH,
    figure_named,
    has_unknown_launch,
    unobserved_words,
)
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.spills import COUNTED_SPILLS, COUNTED_WORDS, SPILLED_BYTES
from kernlens.model.verdict import FAILED, PASSED, Finding, Place

_ORDER = {figure.key: number for number, figure in enumerate(EVERY_FIGURE)}


def places_of(programs: Iterable[Program]) -> list[Place]:
    """Return every entry point of the programs, and the code of functions that several kernels share."""
    return [(program, kernel) for program in programs for kernel in program.listed_kernels.values()]


def with_functions(chosen: Sequence[Place], every: Sequence[Place]) -> list[Place]:
    """Return the chosen kernels, and the code of functions that they call."""
    ids = {id(kernel) for _, kernel in chosen}
    programs = {id(program) for program, kernel in chosen if any(map(_is_function, _called_symbols(program, kernel)))}
    return [
        place for place in every if id(place[1]) in ids or (place[1].name == PSEUDO_KERNEL and id(place[0]) in programs)
    ]


def with_hidden_code(findings: Iterable[Finding], pairs: Mapping[tuple[int, str], KernelPair]) -> Iterator[Finding]:
    """Yield the findings; those that count code and would pass, though called code is not in them, name that code. Code
    that the baseline does not hold either is no worse."""
    findings = list(findings)
    counted = {(id(each.program), each.rule) for each in findings if each.kernel.name == PSEUDO_KERNEL}
    hidden: dict[int, str | None] = {}

    def of(place: Place) -> str | None:
        key = id(place[1])
        if key not in hidden:
            hidden[key] = _called_elsewhere(*place)
        return hidden[key]

    for finding in findings:
        if finding.figure in OBSERVED:
            finding = replace(finding, hidden=unobserved_words(finding.kernel))
        if is_of_code(finding.figure) and finding.bound is not None and not finding.bound.is_least:
            calls = of((finding.program, finding.kernel))
            both = pairs[id(finding.program), finding.kernel.name] if finding.tolerance else None
            # The functions in the program's own code may have a bound of the same kind.
            if calls == _SHARED:
                is_answered = (id(finding.program), finding.rule) in counted
            else:
                is_answered = both is not None and calls == of((both.old_program, both.old))
            if calls and not is_answered:
                finding = replace(finding, hidden=calls)
        yield finding


_SHARED = f"it calls functions in {PSEUDO_KERNEL}, for which there is no such bound"


def _called_elsewhere(program: Program, kernel: Kernel) -> str | None:
    """Return in words the code that a kernel, or the code of functions, calls outside of its own; None if there is
    none. Its relocations name what it calls by address."""
    if not _may_call_by_address(kernel):
        return None
    named = _called_symbols(program, kernel)
    if imports := [symbol.name for symbol in named if symbol.kind == "import" and not symbol.size]:
        return f"it calls {', '.join(imports)}, which the file does not hold"
    if any(map(_is_function, named)):
        return None if kernel.name == PSEUDO_KERNEL else _SHARED
    return "it calls code that nothing in the file names"


def _may_call_by_address(kernel: Kernel) -> bool:
    try:
        return kernel.calls_by_address
    except UnsupportedError:  # Some of its bytes look like such a call, and nobody can tell.
        return True


def _called_symbols(program: Program, kernel: Kernel) -> list[Symbol]:
    """Return the symbols whose addresses a kernel's code holds, functions among them."""
    symbols = {symbol.name: symbol for symbol in program.symbols}
    names = (each.symbol for each in program.relocations if each.section.removeprefix(".text.") == kernel.name)
    return [symbols[name] for name in dict.fromkeys(names) if name in symbols]


def _is_function(symbol: Symbol) -> bool:
    return symbol.kind == "export" and symbol.type == "func"


def is_of_code(figure: Figure) -> bool:
    """Return whether a figure is counted in code, so that functions have it as well as kernels."""
    return figure.needs_decoding or figure.key == "code_size"


#: Returns why a pattern means none of the known kernels, on a device if one is named.
Explain = Callable[[str, Collection[str], str | None], NotFoundError]


def named(places: Sequence[Place], rule: Rule, explain: Explain) -> list[Place]:
    """Return the kernels that a rule's pattern means. Raises NotFoundError, which begins with the rule's origin, if it
    means none: a misspelt pattern must not pass."""
    known = dict.fromkeys(kernel.name for _, kernel in places)
    try:
        names = set(kernels_named(rule.pattern, known))
    except UnknownKernelError as error:
        reason = explain(rule.pattern, error.known, rule.device)
        raise NotFoundError(f"{rule.origin}: {reason}" if rule.origin else str(reason)) from None
    return [place for place in places if place[1].name in names]


class Rules:
    """The rules of each kernel. ``idle`` are those for a device that no program is for; ``unused`` are those that
    fit no kernel of ``places``, each with the error that says so."""

    def __init__(
        self, rules: Iterable[Rule], places: Sequence[Place], is_for: Callable[[Program, str], bool], explain: Explain
    ) -> None:
        self._places = places
        self._of: dict[tuple[int, str], list[Rule]] = {}
        self.idle: list[str] = []
        self.unused: list[tuple[Rule, NotFoundError]] = []
        for rule in rules:
            there = [place for place in places if rule.device is None or is_for(place[0], rule.device)]
            if not there and rule.device is not None:
                self.idle.append(rule.origin)
                continue
            try:
                fitting = named(there, rule, explain)
            except NotFoundError as error:
                self.unused.append((rule, error))
                continue
            for program, kernel in fitting:
                self._of.setdefault((id(program), kernel.name), []).append(rule)

    def findings(self, place: Place, allows_unknown: bool) -> list[Finding]:
        """Return the findings of a kernel: of several bounds of one figure the last counts."""
        program, kernel = place
        rules = self._of.get((id(program), kernel.name), ())
        for rule in rules:
            allows_unknown = allows_unknown if rule.allows_unknown is None else rule.allows_unknown
        bounds = {bound.key: bound for rule in rules for bound in rule.bounds}
        findings = []
        for bound in sorted(bounds.values(), key=lambda bound: (_ORDER[bound.figure.key], bound.is_least)):
            finding = _by_counterpart(
                Finding(
                    program, kernel, bound.figure, bound.figure.limited(kernel), bound, allows_unknown=allows_unknown
                )
            )
            if finding.value is None and self._is_of_others(bound.figure, program):
                finding = replace(
                    finding, allows_unknown=True, reason=f"a metric of other devices than {program.device}"
                )
            finding = _without_arguments(finding)
            counted = _counted(finding)
            if kernel.name != PSEUDO_KERNEL or (is_of_code(bound.figure) and not bound.is_least):
                findings.append(_answered(finding) if counted else finding)
            findings += [each for each in counted if each.bound and each.bound.key not in bounds]
        return _strictest(findings)

    def _is_of_others(self, figure: Figure, program: Program) -> bool:
        """Return whether a figure is stated for another instruction set among the kernels, and not for this program's. Bytes of
        spills are asked of all: the spills in the code answer for them."""
        if figure.needs_decoding or figure == SPILLED_BYTES or program.device is None:
            return False
        isa = program.device.isa
        of_other_isas = (
            kernel for other, kernel in self._places if other.device is not None and other.device.isa != isa
        )
        return any(figure.read(kernel) is not None for kernel in of_other_isas)

    def needs_decoding(self, place: Place) -> bool:
        """Return whether a figure of the kernel is counted in its instructions."""
        rules = self._of.get((id(place[0]), place[1].name), ())
        figures = {bound.figure for rule in rules for bound in rule.bounds}
        return any(each.needs_decoding for each in figures) or (
            SPILLED_BYTES in figures and SPILLED_BYTES.read(place[1]) is None
        )


def _strictest(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in their order; of several upper limits that one value exceeds, as that of a counterpart, the
    lowest."""
    by_figure: dict[object, Finding] = {}
    for finding in findings:
        bound = finding.bound
        value = finding.value
        is_shared = bound is not None and not bound.is_least and value is not None and not bound.allows(value)
        key = finding.figure.key if is_shared else (finding.figure.key, len(by_figure))
        other = by_figure.get(key)
        if other is None or (bound is not None and other.bound is not None and bound.value < other.bound.value):
            by_figure[key] = finding
    return list(by_figure.values())


def _by_counterpart(finding: Finding) -> Finding:
    """Return the finding of a largest value that is not known with what the binary states instead: the same of another vendor,
    or a sum that is within the limit, as its part then is. As it is if there is neither."""
    bound, figure, kernel = finding.bound, finding.figure, finding.kernel
    if finding.value is not None or bound is None or bound.is_least:
        return finding
    is_of_others = kernel.resources.is_particular or figure in OF_FAMILIES
    named = (*figure.counterparts, *(figure.former_counterparts if bound.has_former_name else ()))
    for other in map(figure_named, named if is_of_others else ()):
        if (value := other.limited(kernel)) is not None:
            return replace(finding, figure=other, value=value)
    if figure.part_of:
        whole = figure_named(figure.part_of)
        if (value := whole.read(kernel)) is not None and bound.allows(value):
            return replace(finding, figure=whole, value=value)
    return finding


def _without_arguments(finding: Finding) -> Finding:
    """Return a finding of local memory that passed with what its value leaves out: memory for arguments, whose sizes are the
    launch's, and what a launch of CUDA's or HIP's adds."""
    kernel = finding.kernel
    if finding.state != PASSED or not finding.figure.grows_at_launch or kernel.launch_shared_bytes is not None:
        return finding
    if any(argument.address_space == "local" for argument in kernel.arguments):
        return replace(finding, reason="without the local memory of arguments, whose size each launch says")
    return replace(finding, reason=WITHOUT_LAUNCH) if has_unknown_launch(kernel) else finding


def _counted(finding: Finding) -> list[Finding]:
    """Return the findings that answer for a largest number of spilled bytes that is not known: no spill in the code is
    within every limit, and any is more than 0 bytes. None of them if that is no answer."""
    if finding.figure != SPILLED_BYTES or finding.value is not None or not finding.bound or finding.bound.is_least:
        return []
    origin = finding.bound.origin
    counted = [
        replace(finding, figure=figure, value=figure.read(finding.kernel), bound=Bound(figure, False, 0, origin))
        for figure in COUNTED_SPILLS
    ]
    return counted if not finding.bound.value or all(each.state != FAILED for each in counted) else []


def _answered(finding: Finding) -> Finding:
    """Return a finding of spilled bytes that are not known: the spills in the code answer for them."""
    return replace(finding, allows_unknown=True, reason=f"{COUNTED_WORDS} are checked instead")


def guarded(tolerances: Iterable[Tolerance]) -> list[Tolerance]:
    """Return by how much each figure may get worse than in a baseline: not at all by default. What code costs counts
    only if it is named."""
    by_key = {figure.key: Tolerance(figure) for figure in (*FIGURES, *OBSERVED)} | {
        each.figure.key: each for each in tolerances
    }
    return [each for each in by_key.values() if each.amount is not None]


def guarded_spills(tolerances: Iterable[Tolerance]) -> list[Tolerance]:
    """Return by how much the spills in the code may get worse where the spilled bytes, which are guarded, are not known: by
    as many percent. Those that are named by themselves are guarded as other costs are."""
    named = {each.figure.key: each for each in tolerances}
    stated = named.get(SPILLED_BYTES.key, Tolerance(SPILLED_BYTES))
    if stated.amount is None:
        return []
    amount = stated.amount if stated.is_percent else Fraction(0)
    return [Tolerance(figure, amount, stated.is_percent) for figure in COUNTED_SPILLS if figure.key not in named]


def states_spills(pair: KernelPair) -> bool:
    """Return whether both sides say how many bytes they spill."""
    return None not in (SPILLED_BYTES.read(pair.old), SPILLED_BYTES.read(pair.new))


def against_baseline(pair: KernelPair, tolerances: Iterable[Tolerance], allows_unknown: bool) -> list[Finding]:
    """Return the findings of a kernel against its counterpart in the baseline. What is not known of either is no worse."""
    findings = []
    for tolerance in tolerances:
        if pair.new.name == PSEUDO_KERNEL and not is_of_code(tolerance.figure):
            continue
        before, value = tolerance.figure.limited(pair.old), tolerance.figure.limited(pair.new)
        if tolerance.figure.is_observed and before is None:
            continue  # Nobody observed the kernel that it is compared with.
        bound = tolerance.bound(before) if before is not None else None
        finding = Finding(
            pair.new_program,
            pair.new,
            tolerance.figure,
            value,
            bound,
            before,
            tolerance,
            allows_unknown,
            baseline_toolchain=toolchain.name if (toolchain := pair.old_program.build.toolchain) else None,
        )
        if tolerance.figure == SPILLED_BYTES and None in (before, value):
            finding = _answered(finding)
        elif None in (before, value) and _states_whole(tolerance.figure, pair):
            whole = figure_named(tolerance.figure.part_of)
            finding = replace(finding, allows_unknown=True, reason=f"{whole.heading} counts instead, which includes it")
        elif before is None and value is None:
            finding = replace(finding, allows_unknown=True, reason="unknown in the baseline as well")
        findings.append(finding)
    return findings


def _states_whole(figure: Figure, pair: KernelPair) -> bool:
    """Return whether both sides state the sum that a figure is a part of."""
    whole = figure_named(figure.part_of) if figure.part_of else None
    return whole is not None and None not in (whole.read(pair.old), whole.read(pair.new))
