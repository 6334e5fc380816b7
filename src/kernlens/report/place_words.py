"""Places of variables in words: ``r5.1:d``, ``r23.0:f for lanes 0 to 15``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernlens.model.variable import COMPUTED, CONSTANT, MEMORY, NOWHERE, REGISTER, Pieces, Place

#: The letters of types of so many bytes, as listings of Intel's code have them.
_LETTERS = {1: "b", 2: "w", 4: "d", 8: "q"}
_MOST_PIECES = 4
_MOST_RUNS = 4
_SHOWN_BYTES = 16
#: Lanes of one vector register follow each other at most so many bits apart.
_LARGEST_STEP = 512


class _Run(NamedTuple):
    """Neighbouring lanes whose places are at one distance from each other."""

    first: int
    last: int
    places: Sequence[Place]


def place_words(lanes: Sequence[Pieces], register_bytes: int | None) -> str:
    """Return the places of a variable, of all its lanes, in words. ``register_bytes`` is the size of a general register, None
    if it is not known."""
    if len(lanes) == 1:
        return _pieces(lanes[0], register_bytes)
    count = max(map(len, lanes), default=0)
    columns = [list(_runs([_at(lane, number) for lane in lanes], register_bytes)) for number in range(count)]
    divided = [[(run.first, run.last) for run in column] for column in columns]
    if not all(each == divided[0] for each in divided):
        parts = [
            _cut([f"lanes {run.first}-{run.last}: {_run(run, register_bytes)}" for run in column]) for column in columns
        ]
        return _joined([f"[{number}] {part}" for number, part in enumerate(parts)])
    parts = []
    for number, (first, last) in enumerate(divided[0] if divided else []):
        words = _joined([_run(column[number], register_bytes) for column in columns])
        parts.append(f"lanes {first}-{last}: {words}" if last > first else f"lane {first}: {words}")
    return _cut(parts)


def _at(lane: Pieces, number: int) -> Place:
    return lane[number] if number < len(lane) else Place(NOWHERE, text="no such piece")


def _runs(places: Sequence[Place], register_bytes: int | None) -> Iterator[_Run]:
    first, step = 0, None
    for lane in range(1, len(places) + 1):
        if lane < len(places):
            before, place = places[lane - 1], places[lane]
            distance = _position(place, register_bytes) - _position(before, register_bytes)
            is_alike = place._replace(number=0, bit=0) == before._replace(number=0, bit=0)
            if is_alike and 0 <= distance <= _LARGEST_STEP and step in (None, distance):
                step = distance
                continue
        yield _Run(first, lane - 1, places[first:lane])
        first, step = lane, None


def _position(place: Place, register_bytes: int | None) -> int:
    return place.number * 8 * (register_bytes or 1) + place.bit


def _run(run: _Run, register_bytes: int | None) -> str:
    first, last = (_place(place, register_bytes) for place in (run.places[0], run.places[-1]))
    return first if first == last else f"{first} to {last}"


def _cut(parts: list[str]) -> str:
    return ", ".join(
        parts if len(parts) <= _MOST_RUNS else [*parts[:_MOST_RUNS], f"and {len(parts) - _MOST_RUNS} more"]
    )


def _pieces(pieces: Pieces, register_bytes: int | None) -> str:
    return _joined([_place(piece, register_bytes) for piece in pieces])


def _joined(words: list[str]) -> str:
    if len(words) > _MOST_PIECES:
        words = [*words[:_MOST_PIECES], f"... ({len(words)} pieces)"]
    return " | ".join(words)


def _place(place: Place, register_bytes: int | None) -> str:
    if place.kind == REGISTER:
        return _register(place, register_bytes)
    if place.kind == MEMORY:
        return f"memory at {place.text}"
    if place.kind == CONSTANT:
        return f"constant {_value(place.value)}"
    if place.kind == COMPUTED:
        return f"computed as {place.text}"
    return place.text


def _register(place: Place, register_bytes: int | None) -> str:
    number, bit = place.number, place.bit
    if register_bytes and place.file == "r":
        number, bit = number + bit // (8 * register_bytes), bit % (8 * register_bytes)
    name = f"{place.file}{number}"
    if place.bits is None:
        return name
    letter = _LETTERS.get(place.bits // 8) if place.bits % 8 == 0 else None
    if letter and bit % place.bits == 0:
        return f"{name}.{bit // place.bits}:{letter}"
    if bit % 8 == 0 and place.bits % 8 == 0:
        return f"{name} bytes {bit // 8} to {(bit + place.bits) // 8 - 1}"
    return f"{name} bits {bit} to {bit + place.bits - 1}"


def _value(content: bytes) -> str:
    if len(content) > _SHOWN_BYTES:
        return f"{content[:_SHOWN_BYTES].hex()}..."
    return f"{int.from_bytes(content, 'little'):#x}"
