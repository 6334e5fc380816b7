"""The waits of rows for others by the distances of the software scoreboard, counted within straight code."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernlens.model.instruction import Instructions
from kernlens.model.intel_instructions import END_OF_THREAD, LABEL, IntelInstructions, packed_of


class DistanceWait(NamedTuple):
    """A wait of row ``waiter`` until the rows ``producers`` have read and written their registers: one of each pipe
    that its distance counts in, the nearest first, as far as the code alone says who they are. Where a count goes back
    over a place that control may come to from elsewhere, it depends on the way."""

    waiter: int
    producers: Sequence[int]


def distance_waits(instructions: Instructions) -> Iterator[DistanceWait]:
    """Yield every row that has a distance; nothing before Xe, which counts none, and if the decoder does not tell the pipes."""
    packed = packed_of(instructions)
    pipes = packed.pipes if packed is not None else None
    if packed is None or pipes is None or not pipes.distances:
        return
    starts = _starts(packed)
    latest: dict[str, list[int]] = {}  # Pipe -> its rows so far, in this straight code.
    for row, pipe in enumerate(pipes.own):
        if starts is None or row in starts:
            latest = {}
        distance = pipes.distances.get(row)
        if distance is not None:
            counted = [rows for awaited in distance.pipes if len(rows := latest.get(awaited, ())) >= distance.back]
            producers = sorted((rows[-distance.back] for rows in counted), reverse=True)
            is_behind_uncounted = row - 1 in pipes.uncounted and instructions.opcodes[row] == "sync"
            yield DistanceWait(row, [row - 1] if is_behind_uncounted else producers)
        if pipe and row not in pipes.uncounted:
            latest.setdefault(pipe, []).append(row)


def _starts(instructions: IntelInstructions) -> set[int] | None:
    """Return the rows that control may come to from elsewhere than the row before: any that a branch names, for the thread as
    for a lane, and what is behind calls and behind what never falls through. None where a branch may go anywhere."""
    effects = instructions.effects
    if effects is None:
        return None
    offsets, flags = instructions.offsets, instructions.flags
    starts = {bisect_left(offsets, target) for target in instructions.targets}
    for row, route in effects.routes.items():
        is_told = route.is_call or route.returns or flags[row] & (LABEL | END_OF_THREAD)
        if not is_told:
            return None
        if route.is_call or not route.falls:
            starts.add(row + 1)
    return starts
