"""The behaviour of a kernel in words that commands and the viewer share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlens.analysis.observed_causes import Cause
from kernlens.analysis.observed_code import Line, ObservedCode
from kernlens.model.behaviour import ATOMIC, CONSTANT, GLOBAL, LOCAL, UNITS, Behaviour, ObservedAccess, ObservedLine
from kernlens.model.fault import NO_RACES, Fault
from kernlens.model.source_map import SourcePlace
from kernlens.report.describe import plural

#: The words that stand wherever there are counts.
COUNTED = "counted in an interpreter, on this data; not time"
#: An access is told of from so many times its ideal on, and from so many lanes on one address.
_WORTH = 2
#: Where work-groups lie in their launch.
_STRATA = ("at corners", "at other edges", "inside")
#: Launches that are named one by one.
_NAMED = 4


def no_fault_words(notes: Iterable[str]) -> str:
    """Return what is said where no fault was seen, but for values that were never set; ``notes`` are those on the counts."""
    races = "no data race in the other buffers" if any(NO_RACES in note for note in notes) else "no data race"
    return f"no fault in what ran: no access out of bounds, {races}, no barrier that work-items miss"


def launch_title(observed: Behaviour) -> str:
    """Return the heading of a launch: source, kernel, sizes and device."""
    device = f" for {observed.device}" if observed.device else ""
    return f"{observed.source}: {observed.kernel}, {sizes_words(observed)}{device}"


def sizes_words(observed: Behaviour) -> str:
    """Return the sizes of a launch: ``64 x 64 work-items in groups of 16 x 16``."""
    sizes, group = (
        " x ".join(f"{each:,}" for each in all_ if each > 1) or "1"
        for all_ in (observed.global_size, observed.local_size)
    )
    return f"{sizes} work-items in groups of {group}"


def launch_words(observed: Behaviour) -> str:
    """Return a launch in short: its sizes, how often it ran, and how much of it was counted, or why nothing was."""
    often = f"{observed.launches:,} launches of " if observed.launches > 1 else ""
    if observed.reason:
        return f"{often}{sizes_words(observed)}: nothing counted: {observed.reason}"
    done, groups = observed.groups_done, observed.groups
    ran = f"all {groups:,}" if done == groups else f"{done:,} of {groups:,}"
    return f"{often}{sizes_words(observed)}: {'the group' if groups == 1 else f'{ran} groups'} ran"


def coverage_sentences(observed: Behaviour) -> Iterator[str]:
    """Yield what the counts of a launch are of, and what they are not."""
    machine = observed.machine
    yield f"Counted in an interpreter, on this data, for sub-groups of {machine.width} work-items. It is not time."
    if observed.groups_done == observed.groups:
        ran = f"All {observed.groups:,} work-groups" if observed.groups > 1 else "The only work-group"
        yield f"{ran} ran: {observed.instructions:,} LLVM instructions."
    else:
        until = " until the time was over (observe --seconds gives more)" if observed.is_out_of_time else ""
        yield (
            f"{observed.groups_done:,} of {observed.groups:,} work-groups ran{until}; all counts are of these:"
            f" {observed.instructions:,} LLVM instructions."
        )
    if observed.copied_bytes:
        yield f"Asynchronous copies of work-groups moved {observed.copied_bytes:,} bytes, which stand at no line."
    if any(access.ungrouped for access in observed.accesses):
        yield "Accesses of a work-item between two barriers were too many: only the first ones of each are grouped and counted."
    yield from observed.notes
    if observed.reason:
        yield observed.reason


def group_sentences(observed: Behaviour) -> Iterator[str]:
    """Yield which work-groups ran, how far they differ, and what of the others may be missing in the counts."""
    ran = observed.ran
    if ran is None or not 0 < observed.groups_done < observed.groups:
        return
    strata = ", ".join(
        f"{done:,} of {total:,} {where}" for (total, done), where in zip(ran.strata, _STRATA, strict=True) if total
    )
    start = "They are a sample of the launch" if ran.is_sample else "They are the first ones in the order of their ids"
    yield f"{start}: {strata}."
    units = ran.units[UNITS.index(observed.unit)]
    moved = f" and touched {_range(units)} units of {observed.unit} bytes" if units[2] else ""
    yield f"Each ran {_range(ran.instructions)} LLVM instructions{moved}."
    if units[2]:
        start = f"If the others do the same, all {observed.groups:,} touch"
        yield f"{start} {'' if units[0] == units[2] else 'about '}{units[1] * observed.groups:,.0f} units."
    if ran.shared:
        yield (
            f"The kernel reads what it writes through {', '.join(ran.shared)}: what one work-group leaves there for others is"
            " missing where it did not run."
        )


def _range(numbers: tuple[int, float, int]) -> str:
    least, mean, most = numbers
    return f"{least:,}" if least == most else f"{least:,} to {most:,} (on average {mean:,.0f})"


def place_words(place: SourcePlace | None, observed: Behaviour) -> str:
    """Return a place of a launch; of its own source only the line."""
    if place is None:
        return "no line"
    return f"line {place.line}" if place.path == observed.source else f"{place.path}:{place.line}"


def access_words(access: ObservedAccess, unit: int) -> Iterator[str]:
    """Yield what is worth saying of an access, without its place; ``unit`` is that of memory, in bytes."""
    if not access.requests:
        return
    start = f"{access.kind} of {access.width} bytes ({access.pattern}):"
    chosen = UNITS.index(unit)
    units, least = access.units[chosen], access.least[chosen]
    if access.space in (GLOBAL, CONSTANT) and units >= _WORTH * least:
        yield (
            f"{start} {_mean(units, access)} units of {unit} bytes a request where {_mean(least, access)} would"
            f" do; {100 * access.used // max(1, units * unit)}% of the bytes are used"
        )
    waves, fewest = access.wavefronts, access.least_wavefronts
    if access.space == LOCAL and waves and fewest and waves >= _WORTH * fewest:
        yield f"{start} bank conflicts: {_mean(waves, access)} wavefronts a request where {_mean(fewest, access)} would do"
    if access.kind == ATOMIC and access.contention >= _WORTH * access.requests:
        yield f"{start} {_mean(access.contention, access)} lanes of a request change the same address"


def _mean(number: int, access: ObservedAccess) -> str:
    return f"{number / access.requests:.1f}".removesuffix(".0")


def cause_sentence(cause: Cause, source: str = "") -> str:
    """Return a sentence on a cause of waste; of the launch's own ``source`` only the line is named."""
    place = cause.place
    own = place is not None and place.path == source
    where = "" if place is None else f"line {place.line}, " if own else f"{place.path}:{place.line}, "
    return f"{where}{cause_words(cause)}"


def cause_words(cause: Cause) -> str:
    """Return a cause without its place."""
    waste = "" if cause.share is None else f"; {100 * cause.share:.0f}% of all {cause.resource} are waste here"
    return f"{cause.kind}: {cause.sentence}{waste}"


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


def observed_sentences(observed: ObservedCode) -> Iterator[str]:
    """Yield what the counts are, and of what."""
    yield f"observed: {COUNTED}"
    named = (*observed.launches, *observed.uncounted)
    yield from (launch_words(each) for each in named[:_NAMED])
    if len(named) > _NAMED:
        yield f"and {len(named) - _NAMED:,} more kinds of launches, whose counts are added to these"
    if observed.others:
        yield f"{plural(len(observed.others), 'kind')} of launches counted for another machine: not in these counts"


def line_sentences(observed: ObservedCode, line: Line) -> Iterator[str]:
    """Yield a sentence on each access of a line that moves more than it must, each once."""
    told = (
        words
        for launch in observed.launches
        for access in launch.accesses
        if access.place is not None and (observed.paths.get(access.place.path), access.place.line) == line
        for words in access_words(access, launch.unit)
    )
    yield from dict.fromkeys(told)


def count_words(line: ObservedLine, observed: ObservedCode) -> str:
    """Return the counts of a line in words."""
    words = [f"{plural(line.runs, 'run')} by work-items"]
    if line.lanes is not None:
        words.append(f"{line.lanes:.1f} of {observed.machine.width} lanes active")
    if line.requests:
        units = f"{line.units:,} units of {observed.unit} bytes where {line.least:,} would do"
        words.append(f"{plural(line.requests, 'request')} to global memory, {units}")
    if line.local_requests:
        waves = (
            ""
            if line.wavefronts is None
            else f", {line.wavefronts:,} wavefronts where {line.least_wavefronts:,} would do"
        )
        words.append(f"{plural(line.local_requests, 'request')} to local memory{waves}")
    return "; ".join(words)
