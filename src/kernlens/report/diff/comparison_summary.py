"""The first screen of a comparison of many kernels: the sums, what came of the sources, and what follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from kernlens.analysis.comparison.data_changes import DataChanges
from kernlens.analysis.comparison.edit_hunks import HunkChange
from kernlens.analysis.comparison.kernel_changes import KernelChange
from kernlens.analysis.comparison.pairs import Pairing
from kernlens.analysis.comparison.totals import Mean, Totals, ValueChange
from kernlens.dataclass import dataclass
from kernlens.model.coverage import Coverage
from kernlens.model.failed_builds import FailedBuilds
from kernlens.model.source_change import SourceChange, SourceChanges
from kernlens.report.describe import kernel_words, plural
from kernlens.report.diff.comparison import figure_changes, summary, unpaired_lines
from kernlens.report.failure_lines import failed_lines
from kernlens.report.program_document import place_document
from kernlens.report.style import style

#: Kernels, and sources, that a line of the summary names.
_NAMED = 5
_SUMS = "old -> new, sum"
_NOT_COMPARED = "not compared: no kernel has it on both sides"
#: Sources that do not compile, of which the reason is told.
_FAILURES = 10


@dataclass(frozen=True, slots=True)
class Summary:
    """A comparison, as its first screen has it: both sides in words, the kernels, the sums, programs of equal code whose
    sources differ, what their data have otherwise, the sources that were compiled, if sources were compared, each side's builds
    that failed, what each hunk does of sources with several, and what was looked at."""

    old: str
    new: str
    pairing: Pairing
    changes: Sequence[KernelChange]
    totals: Totals
    equal_code: Sequence[tuple[str, int]]
    data: DataChanges
    sources: SourceChanges | None
    failed: Sequence[FailedBuilds] = ()
    hunks: Sequence[HunkChange] = ()
    coverage: Coverage = Coverage(0, 0)


def summary_lines(what: Summary, most: int | None = None) -> Iterator[str]:
    """Yield the first screen; of the kernels that only one side has ``most`` are named."""
    lines = summary(what.old, what.new, what.pairing, what.changes, most)
    # Where no source differs, nothing was compiled, and no kernel is known.
    yield from lines if what.sources is None or what.sources.compiled else islice(lines, 2)
    if what.sources is not None:
        yield from source_lines(what.sources)
        yield from hunk_lines(what.hunks)
    is_all = not (what.changes or what.pairing.only_old or what.pairing.only_new or what.data.changes)
    is_built = not (any(what.failed) or (what.sources and what.sources.failed))
    proof = equal_code_line(what.equal_code, is_all and is_built)
    if proof is not None:
        yield style(proof, fg="green")
    yield from data_lines(what.data)
    if not what.changes or any(change.has_code for change in what.changes):
        yield from totals_lines(what.totals)


def closing_lines(what: Summary, shown: int | None) -> Iterator[str]:
    """Yield the lines on the kernels that are not shown, on builds that failed, and on what was looked at."""
    if shown is not None and len(what.changes) > shown:
        yield ""
        left = len(what.changes) - shown
        verb = "differs" if left == 1 else "differ"
        yield f"{plural(left, 'more kernel')} {verb}; --all prints all, --kernel K one"
    yield from failed_lines(what.failed)
    if what.sources is None or what.sources.compiled:
        yield what.coverage.words


def totals_lines(totals: Totals) -> Iterator[str]:
    """Yield the lines of the sums; none of less than two kernels, of which the comparison itself says all."""
    if totals.compared < 2 or totals.compared == totals.equal:
        return
    counts = ((totals.equal, "equal"), (totals.grown, "grown"), (totals.shrunk, "shrunk"))
    words = [f"{count:,} {what}" for count, what in counts]
    others = totals.others
    yield "  " + ", ".join([*words, *([f"{others:,} changed with as many instructions"] if others else [])])
    yield ""
    sums = [f"{mean.old:,} -> {mean.new:,}" for mean in totals.means]
    width = max(map(len, (_SUMS, *sums)))
    yield style(f"  {'metric':<15}  {_SUMS:<{width}}  new / old, geometric mean", dim=True)
    for mean, both in zip(totals.means, sums, strict=True):
        if mean.ratio is None and not totals.knows_simd:
            yield f"  {mean.figure.heading:<15}  {_NOT_COMPARED}"
        else:
            yield _mean_line(mean, f"{both:<{width}}", totals.compared - totals.equal)
    narrower = [each for each in totals.simd if each.new < each.old]
    wider = [each for each in totals.simd if each.new > each.old]
    yield _changes_line("SIMD width", totals.knows_simd, (narrower, "narrower", "red"), (wider, "wider", "green"))
    more = [each for each in totals.spills if each.new > each.old]
    less = [each for each in totals.spills if each.new < each.old]
    yield _changes_line("spills", totals.knows_spills, (more, "more", "red"), (less, "less", "green"))


def _mean_line(mean: Mean, sums: str, differing: int) -> str:
    if mean.ratio is None:
        return f"  {mean.figure.heading:<15}  unknown: {mean.reason or mean.figure.unknown}"
    percent = (mean.ratio - 1) * 100
    words = f"{mean.ratio:.3f} ({percent:+.1f}%)"
    colour = "red" if round(percent, 1) > 0 else "green" if round(percent, 1) < 0 else None
    note = f"  of {mean.kernels:,} of the {differing:,} kernels" if mean.kernels != differing else ""
    return f"  {mean.figure.heading:<15}  {sums}  {style(words, fg=colour)}{note}"


def _changes_line(heading: str, is_known: bool, *groups: tuple[Sequence[ValueChange], str, str]) -> str:
    if not is_known:
        return f"  {heading:<15}  {_NOT_COMPARED}"
    parts = []
    for changes, what, colour in groups:
        if changes:
            named = ", ".join(
                f"{kernel_words(each.change.pair.new)} {each.old:,} -> {each.new:,}" for each in changes[:_NAMED]
            )
            more = f" and {len(changes) - _NAMED:,} more" if len(changes) > _NAMED else ""
            parts.append(f"{style(f'{len(changes):,} {what}', fg=colour)}: {named}{more}")
    return f"  {heading:<15}  {'; '.join(parts) or 'as before'}"


def first_lines(what: Summary, most: int) -> Iterator[str]:
    """Yield what is to be read first, a line each, at most ``most`` of them: sources that do not compile, data that
    differ, what hunks do, and kernels that are new or gone."""
    failed = [change for change in what.sources.compiled if change.failed] if what.sources else []
    lines = [next(_failure_lines(change)) for change in failed]
    lines += data_lines(what.data) if what.data.changes else ()
    lines += hunk_lines(what.hunks)
    lines += unpaired_lines(what.pairing, None)
    yield from lines if len(lines) <= most else lines[: most - 1]
    if len(lines) > most:
        yield f"  and {len(lines) - most + 1:,} more lines below"


def source_lines(sources: SourceChanges) -> Iterator[str]:
    """Yield the lines on what was compiled, and what does not compile."""
    count = sources.unchanged
    includes, they_are = ("that it includes", "it is") if count == 1 else ("that they include", "they are")
    if sources.compiled:
        words = f"{plural(len(sources.compiled), 'source')} compiled"
        yield f"  {words}; {count:,} not, as {they_are} equal with all {includes}" if count else f"  {words}"
    else:
        yield f"  {plural(count, 'source')} and all {includes} are equal on both sides, so none was compiled"
    renamed = [each for each in sources.compiled if each.old and each.new and each.old != each.new]
    for heading, named in (
        ("renamed", [f"{each.old} -> {each.new}" for each in renamed]),
        ("added", [each.name for each in sources.compiled if each.old is None]),
        ("removed", [each.name for each in sources.compiled if each.new is None]),
    ):
        if named:
            more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
            yield f"  {heading}: {', '.join(named[:_NAMED])}{more}"
    failed = [each for each in sources.compiled if each.failed]
    for each in failed[:_FAILURES]:
        yield from _failure_lines(each)
    if len(failed) > _FAILURES:
        yield f"  and {len(failed) - _FAILURES:,} more do not compile"


def _failure_lines(change: SourceChange) -> Iterator[str]:
    if change.old_failure and change.new_failure:
        words = "compiles on neither side"
    elif change.old is None or change.new is None:
        words = "does not compile, and is on one side only"
    else:
        words = f"compiles on the {'new' if change.old_failure else 'old'} side only"
    yield style(f"! {change.name} {words}", fg="yellow")
    for side, reason in (("-", change.old_failure), ("+", change.new_failure)):
        if reason:
            yield f"  {side} {reason}"


def hunk_lines(hunks: Sequence[HunkChange]) -> Iterator[str]:
    """Yield what each hunk does by itself, and those together that change no kernel."""
    for change in hunks:
        if not change.is_silent:
            how = "left out" if change.is_left_out else "alone"
            yield f"  {change.hunk.path}:{change.hunk.line} {how}: {_effect(change)}"
    silent = [f"{change.hunk.path}:{change.hunk.line}" for change in hunks if change.is_silent]
    if silent:
        more = f" and {len(silent) - _NAMED:,} more" if len(silent) > _NAMED else ""
        yield f"  no kernel changes by {', '.join(silent[:_NAMED])}{more}"


def _effect(change: HunkChange) -> str:
    if change.failure:
        return change.failure
    words = [
        f"{kernel_words(each.pair.new)} {figure_changes(each) or 'has other instructions'}"
        for each in change.changes[:_NAMED]
    ]
    words += [f"and {len(change.changes) - _NAMED:,} more kernels"] if len(change.changes) > _NAMED else []
    for verb, entries in (("removes", change.pairing.only_old), ("adds", change.pairing.only_new)):
        words += [f"{verb} {kernel_words(each.kernel)}" for each in entries[:_NAMED] if each.kernel]
    return "; ".join(words)


def data_lines(data: DataChanges) -> Iterator[str]:
    """Yield whether constants and initialised variables are equal; nothing where programs have none."""
    if data.changes:
        named = [
            f"{change.new.name} ({change.name}: {change.differing:,} of {max(change.old_size, change.new_size):,} bytes)"
            for change in data.changes
        ]
        more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
        yield style(f"  constants and initialised variables differ: {', '.join(named[:_NAMED])}{more}", fg="yellow")
    elif data.compared:
        yield f"  constants and initialised variables of {plural(data.compared, 'program')} are equal"
    formats = sorted({program.format for program in data.unread})
    if formats:
        yield f"  constants and initialised variables were not compared ({', '.join(formats)})"


def data_document(data: DataChanges) -> dict[str, Any]:
    """Return the same as JSON has it."""
    return {
        "compared": data.compared,
        "unread": len(data.unread),
        "differing": [
            {
                "name": change.name,
                **place_document(change.new),
                "old_size": change.old_size,
                "new_size": change.new_size,
                "bytes": change.differing,
            }
            for change in data.changes
        ],
    }


def equal_code_line(equal: Sequence[tuple[str, int]], is_all: bool) -> str | None:
    """Return the proof that an edit changed no code, None if there is none: ``equal`` are the programs whose sources differ,
    with the number of lines, and whose code is the same; ``is_all``: there is no other difference."""
    if not equal:
        return None
    lines = sum(count for _, count in equal)
    if is_all:
        return f"  the sources differ in {plural(lines, 'line')}, the code is equal"
    named = ", ".join(f"{name} ({plural(count, 'line')})" for name, count in equal[:_NAMED])
    more = f" and {len(equal) - _NAMED:,} more" if len(equal) > _NAMED else ""
    return f"  the source differs, the code is equal: {named}{more}"


def totals_document(totals: Totals) -> dict[str, Any]:
    """Return the sums as JSON has them (docs/json.md)."""
    return {
        "equal": totals.equal,
        "grown": totals.grown,
        "shrunk": totals.shrunk,
        "others": totals.others,
        "means": [
            {
                "metric": mean.figure.key,
                "ratio": mean.ratio,
                "kernels": mean.kernels,
                "old": mean.old,
                "new": mean.new,
            }
            for mean in totals.means
        ],
        "simd": list(map(_value_document, totals.simd)),
        "spills": list(map(_value_document, totals.spills)),
    }


def _value_document(value: ValueChange) -> dict[str, Any]:
    pair = value.change.pair
    return {"kernel": pair.new.name, **place_document(pair.new_program), "old": value.old, "new": value.new}


def sources_document(sources: SourceChanges) -> dict[str, Any]:
    """Return what came of the sources as JSON has it."""
    return {
        "unchanged": sources.unchanged,
        "compiled": [
            {
                "old": each.old,
                "new": each.new,
                "lines": each.lines,
                "old_failure": each.old_failure or None,
                "new_failure": each.new_failure or None,
            }
            for each in sources.compiled
        ],
    }
