"""The rows of a recording that hold what was kept of launches: what an interpreter counted, and launches kept whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol

from kernlens.model.allowance import Allowance
from kernlens.recording import schema
from kernlens.recording.blobs import PackedBlob, RecordedContents
from kernlens.recording.launches import (
    FREE_MEMORY,
    FREE_OF_PROGRAM,
    RATIO_OF_MEMORY,
    RATIO_OF_PROGRAM,
    LaunchRow,
    PackedLaunch,
    PieceRow,
    RecordedLaunches,
)
from kernlens.recording.schema import typed


class Rows(Protocol):
    """An open recording, as it is read here."""

    allowance: Allowance
    contents: RecordedContents
    schema_version: int

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]: ...


def behaviour_rows(recording: Rows, program: int) -> list[tuple[str, int, int, int]]:
    """Return the launches of a program that were observed: kernel, how often it ran so, number and size of the content."""
    if recording.schema_version < schema.FIRST_OBSERVED:
        return []
    query = (
        "SELECT kernel, launches, blob, blob.size FROM behaviour LEFT JOIN blob ON blob.id = behaviour.blob"
        " WHERE program = ? ORDER BY position"
    )
    return [
        (typed(kernel, str, schema.BEHAVIOUR), *(typed(each, int, schema.BEHAVIOUR) for each in numbers))  # type: ignore[misc]
        for kernel, *numbers in recording.rows(query, program)
    ]


def packed_behaviours(recording: Rows, program: int) -> list[tuple[str, int, PackedBlob]]:
    """Return the launches of a program that were observed: kernel, how often it ran so, and the content as it is here."""
    contents = recording.contents
    return [
        (kernel, launches, contents.packed(blob, recording.rows))
        for kernel, launches, blob, _ in behaviour_rows(recording, program)
    ]


def launch_rows(recording: Rows, program: int) -> list[LaunchRow]:
    """Return the launches of a program that were kept, in their order."""
    if recording.schema_version < schema.FIRST_WITH_LAUNCHES:
        return []
    query = (
        "SELECT position, kernel, number, process, blob, blob.size FROM launch LEFT JOIN blob ON blob.id = launch.blob"
        " WHERE program = ? ORDER BY position"
    )
    return [
        LaunchRow(*(typed(each, str if place == 1 else int, schema.LAUNCH) for place, each in enumerate(row)))  # type: ignore[arg-type]
        for row in recording.rows(query, program)
    ]


def piece_rows(recording: Rows, program: int, position: int) -> list[PieceRow]:
    """Return the pieces of the memory of a launch, by its place in its program."""
    query = (
        "SELECT number, moment, piece, blob, blob.size FROM memory LEFT JOIN blob ON blob.id = memory.blob"
        " WHERE program = ? AND launch = ? ORDER BY number, moment, piece"
    )
    return [
        (
            typed(number, int, schema.MEMORY),
            typed(moment, str, schema.MEMORY),
            *(typed(each, int, schema.MEMORY) for each in numbers),
        )  # type: ignore[misc]
        for number, moment, *numbers in recording.rows(query, program, position)
    ]


def recorded_launches(recording: Rows, program: int) -> RecordedLaunches:
    """Return the launches of a program that were kept. What their memory may unpack to is counted apart from all else: whoever
    asks for it runs the launch, which takes as much."""
    size = recording.allowance.size
    memory = RecordedContents(_memory_allowance(size))
    return RecordedLaunches(
        launch_rows(recording, program),
        lambda blob: recording.contents.read(blob, recording.rows),
        partial(piece_rows, recording, program),
        lambda blob: memory.read(blob, recording.rows),
        FREE_OF_PROGRAM + RATIO_OF_PROGRAM * size,
    )


def packed_launches(recording: Rows, program: int) -> Iterator[PackedLaunch]:
    """Yield the launches of a program that were kept, each as it is in the file."""
    memory = RecordedContents(_memory_allowance(recording.allowance.size))

    def contents(position: int) -> Iterator[tuple[int, str, int, PackedBlob]]:
        for number, moment, piece, blob, _ in piece_rows(recording, program, position):
            yield number, moment, piece, memory.packed(blob, recording.rows)

    for row in launch_rows(recording, program):
        packed = recording.contents.packed(row.blob, recording.rows)
        yield PackedLaunch(row.kernel, row.number, row.process, packed, partial(contents, row.position))


def _memory_allowance(size: int) -> Allowance:
    allowance = Allowance(size)
    allowance.limit = FREE_MEMORY + RATIO_OF_MEMORY * size
    return allowance
