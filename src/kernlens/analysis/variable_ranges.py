"""The ranges of code over which a variable is in a place: those that the compiler states, cut where the code overwrites it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import liveness_of
from kernlens.analysis.flow.variable_cuts import range_cuts
from kernlens.errors import TooManyError
from kernlens.model.kernel import Kernel
from kernlens.model.variable import (
    COMPUTED,
    CONSTANT,
    HELD,
    OVERWRITTEN,
    REGISTER,
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
    reader = range_cuts(kernel.instructions)
    liveness = liveness_of(kernel.instructions)
    try:
        cuts = reader.of(location, variable.is_argument and not variable.calls, declaring) if reader else None
    except TooManyError:
        cuts = None
    if cuts is None or liveness is None or not cuts.places:
        yield whole
        return
    offsets, size = kernel.instructions.offsets, cuts.places.bit_count()

    def key(row: int) -> tuple[int, int]:
        held = cuts.at(row)
        return held.lost, held.updated

    for (lost, updated), group in groupby(cuts.rows, key):
        rows = list(group)
        begin = max(location.low, offsets[rows[0]])
        end = offsets[rows[-1] + 1] if rows[-1] + 1 < len(offsets) else location.high
        end = min(location.high, end)
        changed = lost or updated
        state = OVERWRITTEN if lost else UPDATED if updated else HELD
        writers: tuple[int, ...] = ()
        if changed:
            known = set(cuts.others if lost else cuts.updaters)
            reaching = definitions_of(liveness, rows[0], changed)
            writers = tuple(sorted(row for row in reaching if row in known))
        yield StatedRange(location, begin, end, state, changed.bit_count(), size, writers)


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
