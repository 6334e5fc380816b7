"""The text of a check: what is not within its bounds, each kernel with the line that is the likely cause."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from kernlens.model.bounds import Bound
from kernlens.model.figures import OBSERVED, WAITS, own_figures, unobserved_words
from kernlens.model.verdict import FAILED, PASSED, SKIPPED, UNKNOWN, Cause, Finding, Place, Verdict
from kernlens.report.check.verdict_sentences import doubt, fault_sentences
from kernlens.report.describe import kernel_heading, kernel_words, plural
from kernlens.report.failure_lines import failed_lines
from kernlens.report.program_titles import program_titles
from kernlens.report.style import cut, style

#: Characters that are shown of a source line.
_WIDEST = 100
#: How many names a line lists.
_NAMED = 4


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """Yield what failed and what could not be checked, kernel by kernel, and a line that sums it up."""
    listed = [*verdict.in_state(FAILED), *verdict.in_state(UNKNOWN)]
    reasons: set[str] = set()
    titles = program_titles([finding.program for finding in verdict.findings] + [program for program, _ in verdict.new])
    titles |= program_titles(program for program, _ in verdict.missing)
    for findings in grouped(listed, lambda finding: (id(finding.program), finding.kernel.name)):
        program, kernel = findings[0].program, findings[0].kernel
        title = titles[id(program)] + _baseline_words(findings)
        yield style(kernel_heading(program, kernel, title), bold=True)
        for finding in findings:
            yield from _finding_lines(finding, reasons)
        yield ""
    for words, places in (
        ("new, not in the baseline", verdict.new),
        ("missing, in the baseline alone", verdict.missing),
    ):
        yield from (f"{words}: {kernel_heading(program, kernel, titles[id(program)])}" for program, kernel in places)
    yield from (style(f"no program is for the device of {rule}", dim=True) for rule in verdict.idle)
    yield from (style(f"not checked: {sentence}", fg="yellow") for sentence in verdict.unused)
    if verdict.without_budget:
        yield style(f"no budget: {_names(verdict.without_budget)}", dim=True)
    yield from improved_lines(verdict)
    yield from failed_lines(verdict.failed)
    yield style(summary(verdict), fg="green" if verdict.ok else "red")


def improved_lines(verdict: Verdict) -> Iterator[str]:
    """Yield a line on values that are better than in the baseline, and on how that gets them: only then a later check fails
    for what is lost of them."""
    improved = verdict.improved
    if not improved:
        return
    words = [
        f"{kernel_words(each.kernel)} {each.figure.heading} {each.before:,} -> {each.value:,}"
        for each in improved[:_NAMED]
    ]
    more = f" and {len(improved) - _NAMED:,} more" if len(improved) > _NAMED else ""
    how = _accepting(verdict) or "replace it by what was checked to hold kernels to these"
    yield style(f"better than the baseline: {', '.join(words)}{more}; {how}", fg="green")


def _accepting(verdict: Verdict) -> str:
    """Return the command that makes a baseline of everything that was checked; empty where not all of it was compiled from
    sources, or kernels of the baseline are missing: a baseline without them would hold nobody to them any more."""
    programs = [each.program for each in verdict.findings] + [program for program, _ in verdict.new]
    builds = list({id(each.build): each.build for each in programs}.values())
    if verdict.missing or not all(build.path and build.toolchain and not build.created for build in builds):
        return ""
    words = ["kernlens", "sweep", *dict.fromkeys(build.path for build in builds)]
    words += ["--device", ",".join(dict.fromkeys(build.device or "" for build in builds))]
    toolchains = dict.fromkeys(build.toolchain.name for build in builds if build.toolchain)
    words += ["--toolchain", ",".join(toolchains), "-o", verdict.baseline or ""]
    return f"{shlex.join(words)} writes a new one"


def _baseline_words(findings: Iterable[Finding]) -> str:
    """Return the toolchain of a kernel's baseline in words, if it is another than the kernel's own."""
    for finding in findings:
        own = finding.program.build.toolchain
        if finding.baseline_toolchain and (own is None or own.name != finding.baseline_toolchain):
            return f", the baseline by {finding.baseline_toolchain}"
    return ""


def grouped(findings: Iterable[Finding], key: Callable[[Finding], Hashable]) -> list[list[Finding]]:
    """Return the findings in groups of one ``key``, in the order in which the first of each comes."""
    groups: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(key(finding), []).append(finding)
    return list(groups.values())


def _names(places: Sequence[Place]) -> str:
    names = list(dict.fromkeys(kernel.name for _, kernel in places))
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def summary(verdict: Verdict) -> str:
    """Return how much was checked, and what came of it, in one line."""
    words = [f"{verdict.coverage.words}, {plural(len(verdict.findings), 'bound')} checked"]
    if failed := len(verdict.in_state(FAILED)):
        words.append(f"{failed:,} not kept")
    if unknown := len(verdict.in_state(UNKNOWN)):
        words.append(f"{unknown:,} cannot be checked (--allow-unknown)")
    for reason, skipped in Counter(finding.reason for finding in verdict.in_state(SKIPPED)).items():
        words.append(f"{skipped:,} not known{f' ({reason})' if reason else ''}")
    words += [
        f"{len(places):,} {kind}" for kind, places in (("new", verdict.new), ("missing", verdict.missing)) if places
    ]
    if not verdict.allows_failed:
        words += [group.share for group in verdict.failed if group]
    if verdict.ok:
        words.append("all others kept" if verdict.in_state(SKIPPED) else "all kept")
    reasons = Counter(finding.reason for finding in verdict.in_state(PASSED) if finding.reason)
    words += [f"{passed:,} {reason}" for reason, passed in reasons.items()]
    of = [f"budgets of {verdict.budget_file}"] if verdict.budget_file else []
    of += [f"baseline {verdict.baseline}"] if verdict.baseline else []
    origins = f"  ({'; '.join(of)})" if of else ""
    return f"{words[0]}: {', '.join(words[1:])}{origins}"


def _finding_lines(finding: Finding, reasons: set[str]) -> Iterator[str]:
    """Yield the lines of a finding; a reason among ``reasons``, which other kernels had, is not given again."""
    is_failed = finding.state == FAILED
    words, semicolon, reason = finding_words(finding).partition("; ")
    again = f"{words}, as above" if reason in reasons else f"{words}{semicolon}{reason}"
    if reason:
        reasons.add(reason)
    yield style(f"  {finding.rule}: {again}", fg="red" if is_failed else "yellow")
    if finding.cause is not None:
        cause = finding.cause
        source = f" | {style(cut(cause.source, _WIDEST), bold=True)}" if cause.source is not None else ""
        yield f"    {style(cause.path, fg='green')}:{cause.line}{source}"
        yield style(f"      {cause_words(cause)}", dim=True)
    elif finding.reason:
        yield style(f"    {finding.reason}", dim=True)
    yield from (f"    fault: {each}" for each in fault_sentences(finding))


def finding_words(finding: Finding) -> str:
    """Return a finding in words: ``spill 64, at most 0 (kernlens.toml, kernel."*")``."""
    figure, bound = finding.figure, finding.bound
    value = "-" if finding.value is None else f"{finding.value:,}"
    if finding.tolerance is not None:
        before = "-" if finding.before is None else f"{finding.before:,}"
        value = f"{before} -> {value}"
    words = f"{figure.heading} {value}{_launch_words(finding)}"
    if finding.state == SKIPPED and finding.reason:
        return f"{words}: not known; {finding.reason}"
    if finding.value is None or bound is None:
        return f"{words}: cannot be checked; {_why_unknown(finding)}"
    if finding.hidden and finding.state != FAILED:
        return f"{words}: cannot be checked; {finding.hidden}"
    if finding.tolerance is None:
        return f"{words}, {bound_words(bound)}{f' ({bound.origin})' if bound.origin else ''}"
    return f"{words}, {bound_words(bound)} (tolerance {finding.tolerance})"


def _launch_words(finding: Finding) -> str:
    """Return how much of a value is the launch's, which the table of the kernel has apart; empty if nothing is."""
    added = finding.kernel.launch_shared_bytes if finding.figure.grows_at_launch else None
    return f" ({added:,} of them by the launch)" if added and finding.value is not None else ""


def _why_unknown(finding: Finding) -> str:
    """Return why the value of a figure is not known, and which figures the kernel has instead."""
    figure, kernel = finding.figure, finding.kernel
    instead = [each for each in own_figures(kernel) if each.key in figure.akin]
    if instead:
        limits = ", ".join(f"--{'min' if each.more_is_better else 'max'}-{each.names[0]}" for each in instead)
        return f"its binary states {', '.join(each.heading for each in instead)} instead: {limits}"
    if figure in WAITS and kernel.waits_reason and not _is_of_messages(finding):
        return kernel.waits_reason
    if figure in OBSERVED:
        return unobserved_words(kernel) or figure.unknown
    return figure.unknown or "the binary does not say it"


def _is_of_messages(finding: Finding) -> bool:
    device = finding.program.device
    return device is None or device.has_messages


def bound_words(bound: Bound) -> str:
    """Return a bound in words: ``at most 0``."""
    return f"at {'least' if bound.is_least else 'most'} {bound.value:,}"


def cause_words(cause: Cause) -> str:
    """Return how much of a kernel's cost a line has: ``41 of 245 instructions``; against a baseline what it had."""
    edited = ["edited"] if cause.is_edited else []
    if cause.before is None:
        return f"{cause.count:,} of {cause.total:,} {cause.counted}{doubt(cause)}"
    if cause.is_edited and cause.before == cause.count:
        return f"edited, with as many {cause.counted} as before" if cause.count else "edited"
    return ", ".join([*edited, f"{cause.counted} {cause.before:,} -> {cause.count:,}{doubt(cause)}"])
