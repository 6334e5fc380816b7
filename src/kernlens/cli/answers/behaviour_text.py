"""The behaviour of a kernel on its data, as text, as CSV and as a document for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernlens.cli.answers.rows import csv_line, spreadsheet_safe
from kernlens.model.behaviour import ATOMIC, LOCAL, UNITS, Behaviour, Fault, ObservedAccess, ObservedLine
from kernlens.model.source_map import SourcePlace
from kernlens.report.describe import plural
from kernlens.report.style import style
from kernlens.report.table import Cell, table

SCHEMA = 1
_HEADINGS = ("line", "runs", "lanes", "requests", "units", "ideal", "local", "waves", "ideal")
#: An access is told of from so many times its ideal on, and from so many lanes on one address.
_WORTH = 2
#: Places of faults that are listed.
_MOST_FAULTS = 20


def behaviour_lines(
    observed: Behaviour, texts: Mapping[str, Sequence[str]], *, uninitialized: bool = False
) -> Iterator[str]:
    """Yield the table of lines, then accesses that could move less, loops, branches and faults. ``texts`` has the lines of the
    source files by their paths; ``uninitialized``: values that were never set were looked for."""
    yield style(_title(observed), bold=True)
    yield from _sentences(observed)
    if observed.lines:
        yield ""
        yield from table((*_HEADINGS, "source"), [_row(line, observed, texts) for line in observed.lines])
        yield style(f"  {_legend(observed)}", dim=True)
        yield from (f"  {sentence}" for sentence in _totals(observed))
    for title, sentences in (
        ("Accesses", _access_sentences(observed)),
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
        yield f"No fault in what ran: no access out of bounds, no data race, no barrier that work-items miss; {unset}"


def _title(observed: Behaviour) -> str:
    sizes = " x ".join(f"{each:,}" for each in observed.global_size if each > 1) or "1"
    group = " x ".join(f"{each:,}" for each in observed.local_size if each > 1) or "1"
    device = f" for {observed.device}" if observed.device else ""
    return f"{observed.source}: {observed.kernel}, {sizes} work-items in groups of {group}{device}"


def _sentences(observed: Behaviour) -> Iterator[str]:
    machine = observed.machine
    yield f"Counted in an interpreter, on this data, for sub-groups of {machine.width} work-items. It is not time."
    if observed.groups_done == observed.groups:
        ran = f"All {observed.groups:,} work-groups" if observed.groups > 1 else "The only work-group"
        yield f"{ran} ran: {observed.instructions:,} LLVM instructions."
    else:
        yield (
            f"The first {observed.groups_done:,} of {observed.groups:,} work-groups ran until the time was over; all counts are"
            f" of these: {observed.instructions:,} LLVM instructions."
        )
    if observed.copied_bytes:
        yield f"Asynchronous copies of work-groups moved {observed.copied_bytes:,} bytes, which stand at no line."
    if any(access.ungrouped for access in observed.accesses):
        yield "Accesses of a work-item between two barriers were too many: only the first ones of each are grouped and counted."
    yield from observed.notes
    if observed.reason:
        yield observed.reason


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
        yield f"in all: {sum(line.requests for line in lines):,} requests, {units:,} units where {least:,} would do"
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


def _place(place: SourcePlace | None, observed: Behaviour) -> str:
    if place is None:
        return "no line"
    return f"line {place.line}" if place.path == observed.source else f"{place.path}:{place.line}"


def _access_sentences(observed: Behaviour) -> Iterator[str]:
    chosen = UNITS.index(observed.unit)
    for access in observed.accesses:
        if not access.requests:
            continue
        start = f"{_place(access.place, observed)}, {access.kind} of {access.width} bytes ({access.pattern}):"
        units, least = access.units[chosen], access.least[chosen]
        if access.space in ("global", "constant") and units >= _WORTH * least:
            yield (
                f"{start} {_mean(units, access)} units of {observed.unit} bytes a request where {_mean(least, access)} would"
                f" do; {100 * access.used // (units * observed.unit)}% of the bytes are used"
            )
        waves, fewest = access.wavefronts, access.least_wavefronts
        if access.space == LOCAL and waves and fewest and waves >= _WORTH * fewest:
            yield f"{start} bank conflicts: {_mean(waves, access)} wavefronts a request where {_mean(fewest, access)} would do"
        if access.kind == ATOMIC and access.contention >= _WORTH * access.requests:
            yield f"{start} {_mean(access.contention, access)} lanes of a request change the same address"


def _mean(number: int, access: ObservedAccess) -> str:
    return f"{number / access.requests:.1f}".removesuffix(".0")


def _loop_sentences(observed: Behaviour) -> Iterator[str]:
    for loop in observed.loops:
        rounds = (
            f"{loop.least:,}"
            if loop.least == loop.most
            else f"{loop.least:,} to {loop.most:,}, {loop.mean:.1f} on average"
        )
        apart = loop.sub_group_rounds
        more = f"; a sub-group runs {apart:.1f}" if apart is not None and apart > loop.mean + 0.05 else ""
        yield f"{_place(loop.place, observed)}: {plural(loop.entries, 'work-item')} came in, {rounds} rounds each{more}"


def _branch_sentences(observed: Behaviour) -> Iterator[str]:
    for branch in observed.branches:
        total = sum(branch.shares)
        if branch.parted and total:
            shares = " / ".join(f"{100 * share / total:.0f}%" for share in branch.shares)
            often = f"{branch.parted:,} of {branch.sub_groups:,} runs by sub-groups"
            yield f"{_place(branch.place, observed)}: in {often} ({shares})"


def _fault_sentences(faults: Sequence[Fault]) -> Iterator[str]:
    for fault in faults[:_MOST_FAULTS]:
        yield fault_sentence(fault)
    if len(faults) > _MOST_FAULTS:
        yield f"and {len(faults) - _MOST_FAULTS:,} more (--json has all)"


def fault_sentence(fault: Fault) -> str:
    """Return one sentence on a fault."""
    places = " and ".join(dict.fromkeys(f"{place.path}:{place.line}" for place in fault.places))
    items = " and ".join(f"({', '.join(map(str, each))})" for each in fault.work_items)
    details = [f"argument {fault.argument}"] if fault.argument else []
    details += [f"work-item{'s' if len(fault.work_items) > 1 else ''} {items}"] if items else []
    details += [f"{fault.count:,} times"] if fault.count > 1 else []
    start = f"{places}: " if places else ""
    end = f" ({'; '.join(details)})" if details else ""
    return f"{start}{fault.sentence}{end}"


def behaviour_csv(observed: Behaviour) -> Iterator[str]:
    """Yield the lines of the table as CSV, below a heading."""
    table = observed.table
    yield csv_line(table.columns)
    for row in table:
        yield csv_line(spreadsheet_safe(cell) if isinstance(cell, str) else cell for cell in row.values())


def behaviour_document(observed: Behaviour) -> dict[str, Any]:
    """Return the document of ``observe --json``."""
    machine = observed.machine
    return {
        "schema": SCHEMA,
        "source": observed.source,
        "kernel": observed.kernel,
        "device": observed.device,
        "sub_group_size": machine.width,
        "unit_bytes": machine.unit,
        "banks": machine.banks or None,
        "global_size": list(observed.global_size),
        "local_size": list(observed.local_size),
        "work_groups": observed.groups,
        "work_groups_run": observed.groups_done,
        "out_of_time": observed.is_out_of_time,
        "llvm_instructions": observed.instructions,
        "copied_bytes": observed.copied_bytes,
        "lines": list(observed.table),
        "accesses": [_access(access) for access in observed.accesses],
        "branches": [
            {
                **_where(branch.place),
                "sub_group_runs": branch.sub_groups,
                "parted": branch.parted,
                "taken": list(branch.shares),
            }
            for branch in observed.branches
        ],
        "loops": [
            {
                **_where(loop.place),
                "entries": loop.entries,
                "rounds": {"least": loop.least, "mean": round(loop.mean, 3), "most": loop.most},
                "sub_group_rounds": None if loop.sub_group_rounds is None else round(loop.sub_group_rounds, 3),
            }
            for loop in observed.loops
        ],
        "barriers": [{**_where(place), "work_groups": count} for place, count in observed.barriers],
        "faults": [_fault(fault) for fault in observed.faults],
        "notes": list(observed.notes),
        "launches": observed.launches,
        "reason": observed.reason or None,
    }


def _where(place: SourcePlace | None) -> dict[str, Any]:
    if place is None:
        return {"path": None, "line": None, "column": None}
    return {"path": place.path, "line": place.line, "column": place.column or None}


def _access(access: ObservedAccess) -> dict[str, Any]:
    return {
        **_where(access.place),
        "inlined_at": [_where(call) for call in access.calls],
        "kind": access.kind,
        "space": access.space,
        "width": access.width,
        "requests": access.requests,
        "lanes": access.lanes,
        "bytes": access.bytes,
        "used_bytes": access.used,
        "units": {str(unit): count for unit, count in zip(UNITS, access.units, strict=True)},
        "least_units": {str(unit): count for unit, count in zip(UNITS, access.least, strict=True)},
        "wavefronts": access.wavefronts,
        "least_wavefronts": access.least_wavefronts,
        "distinct_addresses": access.distinct,
        "contention": access.contention,
        "pattern": access.pattern,
        "ungrouped": access.ungrouped,
    }


def _fault(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind,
        "sentence": fault.sentence,
        "places": [_where(place) for place in fault.places],
        "work_items": [list(each) for each in fault.work_items],
        "argument": fault.argument,
        "count": fault.count,
    }
