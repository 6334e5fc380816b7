"""The behaviour of a kernel on its data, as text and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernlens.analysis.observed_causes import observed_causes
from kernlens.cli.answers.rows import csv_line, spreadsheet_safe
from kernlens.model.behaviour import Behaviour, ObservedLine
from kernlens.model.fault import Fault
from kernlens.report.behaviour_words import (
    cause_sentence,
    coverage_sentences,
    fault_sentence,
    launch_title,
    no_fault_words,
    place_words,
)
from kernlens.report.describe import plural
from kernlens.report.style import style
from kernlens.report.table import Cell, table

_HEADINGS = ("line", "runs", "lanes", "requests", "units", "ideal units", "local", "waves", "ideal waves")
#: Places of faults that are listed.
_MOST_FAULTS = 20


def behaviour_lines(
    observed: Behaviour, texts: Mapping[str, Sequence[str]], *, uninitialized: bool = False
) -> Iterator[str]:
    """Yield the table of lines, then causes of waste, loops, branches and faults. ``texts`` has the lines of the
    source files by their paths; ``uninitialized``: values that were never set were looked for."""
    yield style(launch_title(observed), bold=True)
    yield from coverage_sentences(observed)
    if observed.lines:
        yield ""
        yield from table((*_HEADINGS, "source"), [_row(line, observed, texts) for line in observed.lines])
        yield style(f"  {_legend(observed)}", dim=True)
        yield from (f"  {sentence}" for sentence in _totals(observed))
    for title, sentences in (
        ("Causes, by what they waste", _cause_sentences(observed, texts)),
        ("Loops", _loop_sentences(observed)),
        ("Branches whose lanes part", _branch_sentences(observed)),
        ("Faults", _fault_sentences(observed.faults)),
    ):
        listed = list(sentences)
        if listed:
            yield ""
            yield style(title, bold=True)
            yield from (f"  {sentence}" for sentence in listed)
    if not observed.faults:
        unset = "no value that was never set" if uninitialized else "values that were never set: see --uninitialized"
        yield ""
        words = no_fault_words(observed.notes)
        yield f"{words[0].upper()}{words[1:]}; {unset}"


def _legend(observed: Behaviour) -> str:
    if observed.device is None:
        return f"units of global memory: {observed.unit} bytes; --device D counts in those of a device, and its banks"
    banks = (
        f", {observed.machine.banks} banks" if observed.machine.banks else "; its banks are not known for this device"
    )
    unknown = "" if observed.machine.unit else " (that of the device is not known)"
    return f"units of global memory: {observed.unit} bytes{unknown}; local memory: requests and wavefronts{banks}"


def _totals(observed: Behaviour) -> Iterator[str]:
    """Yield the sums of what all lines move, to compare two kernels by."""
    lines = [line for line in observed.lines if line.requests]
    if lines:
        units, least = (sum(getattr(line, name) for line in lines) for name in ("units", "least"))
        start = "in all" if observed.groups_done == observed.groups else "in all that ran"
        told = f"{sum(line.requests for line in lines):,} requests, {units:,} units where {least:,} would do"
        yield f"{start}: {told} (no cache is modelled)"
    lines = [line for line in observed.lines if line.local_requests]
    waves = [line.wavefronts for line in lines if line.wavefronts is not None]
    if lines and len(waves) == len(lines):
        requests, least = (
            sum(getattr(line, name) for line in lines) for name in ("local_requests", "least_wavefronts")
        )
        yield f"in local memory: {requests:,} requests, {sum(waves):,} wavefronts where {least:,} would do"


def _row(line: ObservedLine, observed: Behaviour, texts: Mapping[str, Sequence[str]]) -> list[Cell]:
    place = line.place
    own = texts.get(place.path, ())
    text = own[place.line - 1].strip() if 0 < place.line <= len(own) else ""
    name: Cell = place.line if place.path == observed.source else f"{place.path}:{place.line}"
    lanes = None if line.lanes is None else f"{line.lanes:.1f}".rjust(5)
    moved = (line.requests, line.units, line.least) if line.requests else (None, None, None)
    local = (line.local_requests, line.wavefronts, line.least_wavefronts) if line.local_requests else (None, None, None)
    return [name, line.runs, lanes, *moved, *local, text]


def _cause_sentences(observed: Behaviour, texts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for cause in observed_causes(observed, texts):
        yield cause_sentence(cause, observed.source)
        yield f"  {cause.action}"


def _loop_sentences(observed: Behaviour) -> Iterator[str]:
    for loop in observed.loops:
        rounds = (
            f"{loop.least:,}"
            if loop.least == loop.most
            else f"{loop.least:,} to {loop.most:,}, {loop.mean:.1f} on average"
        )
        apart = loop.sub_group_rounds
        more = f"; a sub-group runs {apart:.1f}" if apart is not None and apart > loop.mean + 0.05 else ""
        yield f"{place_words(loop.place, observed)}: {plural(loop.entries, 'work-item')} came in, {rounds} rounds each{more}"


def _branch_sentences(observed: Behaviour) -> Iterator[str]:
    for branch in observed.branches:
        total = sum(branch.shares)
        if branch.parted and total:
            shares = " / ".join(f"{100 * share / total:.0f}%" for share in branch.shares)
            often = f"{branch.parted:,} of {branch.sub_groups:,} runs by sub-groups"
            yield f"{place_words(branch.place, observed)}: in {often} ({shares})"


def _fault_sentences(faults: Sequence[Fault]) -> Iterator[str]:
    for fault in faults[:_MOST_FAULTS]:
        yield fault_sentence(fault)
    if len(faults) > _MOST_FAULTS:
        yield f"and {len(faults) - _MOST_FAULTS:,} more (--json has all)"


def behaviour_csv(observed: Behaviour) -> Iterator[str]:
    """Yield the lines of the table as CSV, below a heading."""
    table = observed.table
    yield csv_line(table.columns)
    for row in table:
        yield csv_line(spreadsheet_safe(cell) if isinstance(cell, str) else cell for cell in row.values())
