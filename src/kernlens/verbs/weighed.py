"""Programs whose loops run as many rounds as a user states (``--trips``), and the error where a line is in no loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kernlens.analysis.trip_weights import kernel_with_trips
from kernlens.dataclass import replace
from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Kernels, Program
from kernlens.model.trips import Trips, TripWeights

if TYPE_CHECKING:
    from kernlens.loading import Contents
    from kernlens.verbs.programs import Opened

#: The most lines of loops that an error lists.
_MOST_LINES = 8


class LoopNote(NamedTuple):
    """The note on a kernel of a weighed listing: the choices that name no loop of it, those of them from which instructions
    came, the lines of its loops, and why they are not known."""

    missing: frozenset[LineChoice]
    with_code: frozenset[LineChoice]
    lines: frozenset[tuple[str, int]]
    reason: str | None


def weighed(programs: Sequence[Program], trips: Trips | None, *, must_name: bool = True) -> Sequence[Program]:
    """Return the programs, their kernels with the weights that ``--trips`` states; as they are without it. Raises what
    ``kernel_with_trips`` raises, and ``check_trips`` where each loop ``must_name`` one."""
    if trips is None:
        return programs
    decode_kernels([(program, list(program.kernels.values())) for program in programs])
    views = [
        replace(
            program, kernels=Kernels({name: kernel_with_trips(each, trips) for name, each in program.kernels.items()})
        )
        for program in programs
    ]
    if must_name:
        check_weights(views)
    return views


def weighed_answers(answers: Sequence[Opened], trips: Trips | None) -> list[Opened]:
    """Return what was opened, weighed; the other words are those of ``weighed``."""
    views = [replace(each, programs=weighed(each.programs, trips, must_name=False)) for each in answers]
    check_weights(program for each in views for program in each.programs)
    return views


def weighed_contents(contents: Contents, trips: Trips) -> Contents:
    """Return what is in a path, weighed; the other words are those of ``weighed``."""
    from kernlens.loading import Contents

    programs = weighed([*contents.programs], trips)
    whole = Contents(contents.path, contents.containers, programs, contents.recorded)
    whole.damaged = contents.damaged
    return whole


def check_weights(programs: Iterable[Program]) -> None:
    """Raise what ``check_trips`` does of the kernels that are weighed."""
    every = [kernel for program in programs for kernel in program.kernels.values()]
    check_trips([loop_note(each, each.trip_weights) for each in every if each.trip_weights is not None])


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
