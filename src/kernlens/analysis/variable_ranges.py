"""The ranges of code over which a variable is in a place: those that the compiler states, cut where the code overwrites it,
and where no write of the code proves it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import Liveness, liveness_of
from kernlens.analysis.flow.variable_cuts import Cuts, RangeCuts, range_cuts
from kernlens.analysis.flow.written import Written, written_of
from kernlens.errors import TooManyError
from kernlens.model.kernel import Kernel
from kernlens.model.register_links import BEFORE_THE_CODE
from kernlens.model.variable import (
    CODE,
    COMPILER,
    COMPUTED,
    CONSTANT,
    HELD,
    OVERWRITTEN,
    REGISTER,
    STATED,
    THREAD_START,
    UPDATED,
    Location,
    StatedRange,
    Variable,
)


def stated_ranges(kernel: Kernel, variable: Variable) -> Iterator[StatedRange]:
    """Yield the ranges of a variable in a kernel's code, in the order of its locations. Raises UnsupportedError like
    ``instructions``."""
    instructions = kernel.instructions
    end = instructions.offsets[-1] + instructions.sizes[-1] if len(instructions) else 0
    declaring = _declaring(kernel, variable)
    for location in variable.locations:
        begin, stop = max(0, location.low), min(location.high, end)
        if begin < stop:
            clipped = Location(begin, stop, location.find_lanes)
            yield from _cut(kernel, variable, clipped, declaring)


def _cut(kernel: Kernel, variable: Variable, location: Location, declaring: frozenset[int]) -> Iterator[StatedRange]:
    is_constant = all(piece.kind in (CONSTANT, COMPUTED) for lane in location.lanes for piece in lane)
    whole = StatedRange(location, location.low, location.high, HELD if is_constant else None)
    if not any(piece.kind == REGISTER for lane in location.lanes for piece in lane):
        yield whole
        return
    instructions = kernel.instructions
    reader, liveness, written = range_cuts(instructions), liveness_of(instructions), written_of(instructions)
    is_given = variable.is_argument and not variable.calls
    try:
        cuts = reader.of(location, is_given, declaring) if reader else None
    except TooManyError:
        cuts = None
    if reader is None or cuts is None or liveness is None or written is None or not cuts.places or not cuts.rows:
        yield whole
        return
    cuts = replace(cuts, rows=_run(cuts.rows, liveness))
    yield from _of_rows(kernel, location, _Facts(cuts, liveness, written, _unproven(cuts, reader, written, is_given)))


def _run(rows: range, liveness: Liveness) -> range:
    """Return rows without the last ones to which no way leads from the first: what fills up the code behind its end."""
    blocks = liveness.blocks
    entry = blocks.entry_of[blocks.block_of(rows.start)]
    last = blocks.block_of(rows[-1])
    while blocks.entry_of[last] != entry:
        last -= 1
    return range(rows.start, min(rows.stop, blocks.code[last].stop))


class _Facts(NamedTuple):
    """The facts on one location. ``unproven``: instruction -> the bytes that no write is known to have put there."""

    cuts: Cuts
    liveness: Liveness
    written: Written
    unproven: dict[int, int]


def _unproven(cuts: Cuts, reader: RangeCuts, written: Written, is_given: bool) -> dict[int, int]:
    """Return at each row of a location the bytes that nothing wrote on every way to it, or for all that is known another
    value. What nobody reads any more at the start was one, but of an argument of the kernel, which is there from the
    beginning."""
    unproven = written.unwritten(cuts.rows, cuts.places)
    if is_given:
        return unproven
    if doubtful := reader.of_two_values(cuts.rows, cuts.places):
        for row in cuts.rows:
            unproven[row] = unproven.get(row, 0) | doubtful
    stale = written.stale(cuts.rows.start, cuts.places)
    for row, places in written.still(cuts.rows, stale).items() if stale else ():
        unproven[row] = unproven.get(row, 0) | places
    return unproven


def _of_rows(kernel: Kernel, location: Location, facts: _Facts) -> Iterator[StatedRange]:
    cuts, offsets = facts.cuts, kernel.instructions.offsets

    def key(row: int) -> tuple[int, int, int]:
        held, unproven = cuts.at(row), facts.unproven.get(row, 0)
        return held.lost, 0 if held.lost else unproven, 0 if unproven else held.updated

    for changes, group in groupby(cuts.rows, key):
        rows = list(group)
        begin = max(location.low, offsets[rows[0]])
        end = offsets[rows[-1] + 1] if rows[-1] + 1 < len(offsets) else location.high
        plain = StatedRange(location, begin, min(location.high, end), HELD, 0, cuts.places.bit_count())
        yield _changed(kernel, plain, facts, range(rows[0], rows[-1] + 1), changes)


def _changed(
    kernel: Kernel, plain: StatedRange, facts: _Facts, rows: range, changes: tuple[int, int, int]
) -> StatedRange:
    """Return the range of these rows as the code has it."""
    cuts, (lost, unproven, updated) = facts.cuts, changes
    if unproven:
        writers = definitions_of(facts.liveness, rows[0], unproven).keys() - {BEFORE_THE_CODE}
        return replace(
            plain, state=STATED, changed=unproven.bit_count(), writers=tuple(sorted(writers)), origin=COMPILER
        )
    origin = THREAD_START if facts.written.is_delivered(rows[0], cuts.places) else CODE
    if not lost and not updated:
        return replace(plain, origin=origin)
    known: Collection[int] = cuts.others if lost else cuts.updaters
    reaching = definitions_of(facts.liveness, rows[0], lost or updated)
    return replace(
        plain,
        state=OVERWRITTEN if lost else UPDATED,
        changed=(lost or updated).bit_count(),
        writers=tuple(sorted(row for row in reaching if row in known)),
        origin=origin,
    )


def _declaring(kernel: Kernel, variable: Variable) -> frozenset[int]:
    """Return the instructions of the line that declares a variable."""
    source_map, table = kernel.source_map, kernel.line_table
    if source_map is None or table is None or not variable.line or not 0 <= variable.file < len(table.files):
        return frozenset()
    path = table.files[variable.file].path
    places = map(source_map.place, range(len(kernel.instructions)))
    return frozenset(
        row for row, place in enumerate(places) if place and place.line == variable.line and place.path == path
    )
