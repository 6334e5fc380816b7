"""``--trips``: the rounds of loops as a user states them, and the error where a line is in no loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from kernlens.cli import option
from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.trips import Trips, TripWeights

if TYPE_CHECKING:
    from kernlens.verbs.programs import Selection

#: More rounds than a loop runs in a thread that ends.
_MOST_ROUNDS = 1 << 31
#: The most lines of loops that an error lists.
_MOST_LINES = 8


class LoopNote(NamedTuple):
    """The note on a kernel of a weighed listing: the choices that name no loop of it, those of them from which instructions
    came, the lines of its loops, and why they are not known."""

    missing: frozenset[LineChoice]
    with_code: frozenset[LineChoice]
    lines: frozenset[tuple[str, int]]
    reason: str | None


def trips_of(words: Sequence[str]) -> Trips:
    """Return the value of ``--trips``, which may be repeated: ``[FILE:]N=ROUNDS`` or ``depth=ROUNDS``. Raises UsageError."""
    of_lines: dict[LineChoice, int] = {}
    of_others = None
    for word in words:
        name, is_stated, rounds = word.rpartition("=")
        if not is_stated or not name:
            raise click.UsageError(f"--trips {word!r} is not of the form blur.cl:16=10 or depth=10")
        count = option.number_of(rounds, "--trips")
        if not 1 <= count <= _MOST_ROUNDS:
            raise click.UsageError(f"--trips {word!r}: a loop runs 1 to {_MOST_ROUNDS:,} rounds")
        if name == "depth":
            of_others = count
        else:
            of_lines[option.line_of(name, "--trips")] = count
    return Trips(tuple(of_lines.items()), of_others)


def weighed(selection: Selection, words: Sequence[str]) -> Selection:
    """Return the kernels with the weights that ``--trips`` states; as they are without it. Raises what ``check_trips`` and
    ``kernel_with_trips`` raise."""
    from kernlens.analysis.trip_weights import kernel_with_trips
    from kernlens.loading.decoded_kernels import decode_kernels

    if not words:
        return selection
    trips = trips_of(words)
    decode_kernels(selection, texts=False)
    views = [(program, [kernel_with_trips(kernel, trips) for kernel in kernels]) for program, kernels in selection]
    every = [kernel for _, kernels in views for kernel in kernels]
    check_trips([loop_note(each, each.trip_weights) for each in every if each.trip_weights is not None])
    return views


def loop_note(kernel: Kernel, weights: TripWeights) -> LoopNote | None:
    """Return the note on a kernel, None if all choices name a loop of it."""
    missing = frozenset(choice for choice, _ in weights.trips.of_lines) - weights.matched
    if not missing:
        return None
    source_map, loops = kernel.source_map, kernel.loops
    places = [source_map.places[row] for loop in loops.loops for row in loop.back_rows] if source_map and loops else []
    coded = source_map.places if source_map else ()
    with_code = frozenset(choice for choice in missing if any(map(choice.holds, coded)))
    lines = frozenset((place.path, place.line) for place in places if place)
    return LoopNote(missing, with_code, lines, kernel.line_table_reason)


def check_trips(notes: Sequence[LoopNote | None]) -> None:
    """Raise NotFoundError if a choice names a loop of no kernel, with the lines of loops that are nearest; UnsupportedError if
    no kernel has a line table to know it from."""
    missing = frozenset.intersection(*(note.missing if note else frozenset() for note in notes)) if notes else ()
    stated = [note for note in notes if note is not None]
    for choice in missing:
        reasons = [note.reason for note in stated]
        if None not in reasons:
            raise UnsupportedError(
                f"there is no line information for {choice}: {reasons[0]}; --trips depth=N needs none"
            )
        lines = {line for note in stated for line in note.lines}
        has_code = any(choice in note.with_code for note in stated)
        words = f"{choice} is in no loop"
        words = words if has_code else f"no instruction of the selected kernels came from {choice}, so it names no loop"
        if not lines:
            raise NotFoundError(f"{words}: the selected kernels have no loops")
        nearest = sorted(lines, key=lambda line: (abs(line[1] - choice.line), line))
        shown = ", ".join(f"{path}:{number}" for path, number in sorted(nearest[:_MOST_LINES]))
        more = f" and {len(lines) - _MOST_LINES:,} more" if len(lines) > _MOST_LINES else ""
        raise NotFoundError(f"{words}; there are loops at {shown}{more}")
