"""The behaviour of kernels, as a recording holds it: JSON with numbers in fixed order (docs/recording.md).

It may come from anybody: each number is checked, and so are lengths and what the numbers of places lead to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from math import isfinite
from typing import Any, NoReturn, TypeVar

from kernlens.dataclass import replace
from kernlens.model.behaviour import (
    KINDS,
    PATTERNS,
    SPACES,
    UNITS,
    Behaviour,
    ObservedAccess,
    ObservedBranch,
    ObservedLoop,
    ObservedMachine,
)
from kernlens.model.fault import Fault
from kernlens.model.source_map import SourcePlace
from kernlens.recording.schema import damaged

T = TypeVar("T")
#: The version that is written.
VERSION = 1
#: Bytes of one launch's counts, at most: a kernel of 10,000 lines with 5,000 accesses has a tenth. Bytes of all launches of a
#: kernel that are read at once, and how many more for each byte of the file: such numbers are packed to a tenth at best.
MOST_BYTES = 4 << 20
FREE_OF_KERNEL, RATIO_OF_KERNEL = 8 << 20, 20
#: The largest count.
_MOST = 1 << 63
#: Work-items of a sub-group, at most.
_WIDEST = 1024
#: The most characters of a text.
_LONGEST = 4096
#: Faults that are kept where the counts are too many.
_MOST_FAULTS = 100
_FAULT_KINDS = ("bounds", "race", "uninitialized", "barrier", "other")
_TOO_MANY = "the counts of its lines are too many to be kept"
_NUMBERS = ("groups", "groups_done", "instructions", "copied_bytes")


def encoded(observed: Behaviour) -> bytes:
    """Return the content for a recording; without the counts, and with the reason, if they are too many."""
    content = _Encoder().content(observed)
    if len(content) <= MOST_BYTES:
        return content
    return _Encoder().content(
        replace(observed.without_counts(_TOO_MANY), faults=observed.faults[:_MOST_FAULTS], buffers=())
    )


def decoded(content: bytes, kernel: str, launches: int) -> Behaviour:
    """Return what a launch of the kernel did, which ran so often. Raises FormatError if the content is damaged, and if a newer
    kernlens wrote it."""
    if len(content) > MOST_BYTES:
        _fail("it is too large")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        _fail("it cannot be read")
    row = _typed(document, dict)
    if row.get("version") != VERSION:
        _fail("it is of another version")
    return replace(_Decoder(row).behaviour(kernel), launches=_count(launches))


def redacted(observed: Behaviour, overwrite: Callable[[str], str]) -> Behaviour:
    """Return the behaviour with ``overwrite`` applied to its sentences: what tools say may quote source lines."""
    return replace(
        observed,
        faults=tuple(replace(fault, sentence=overwrite(fault.sentence)) for fault in observed.faults),
        notes=tuple(map(overwrite, observed.notes)),
        reason=overwrite(observed.reason),
    )


class RecordedBehaviours(Mapping[str, Sequence[Behaviour]]):
    """The launches of a recorded program's kernels, read from the recording when a kernel's are asked for. ``room`` is how many
    bytes those of one kernel may have; ``read`` gives a content by its number."""

    def __init__(self, rows: Iterable[tuple[str, int, int, int]], read: Callable[[int], bytes], room: int) -> None:
        self._rows: dict[str, list[tuple[int, int, int]]] = {}
        for kernel, *row in rows:
            self._rows.setdefault(kernel, []).append((row[0], row[1], row[2]))
        self._read, self._room = read, room

    def __getitem__(self, kernel: str) -> Sequence[Behaviour]:
        rows = self._rows[kernel]
        if sum(size for _, _, size in rows) > self._room:
            _fail("its launches are too many for the file")
        return [decoded(self._read(blob), kernel, launches) for launches, blob, _ in rows]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class _Encoder:
    """The content of one launch; places are numbered as they come."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._places: dict[SourcePlace, int] = {}

    def content(self, observed: Behaviour) -> bytes:
        """Return the bytes."""
        places = self._place
        document = {
            "version": VERSION,
            "source": observed.source,
            "device": observed.device,
            "machine": astuple(observed.machine),
            "global_size": observed.global_size,
            "local_size": observed.local_size,
            "is_out_of_time": observed.is_out_of_time,
            **{name: getattr(observed, name) for name in _NUMBERS},
            "pieces": [(places(place), *numbers) for place, *numbers in observed.pieces],
            "accesses": [self._access(access) for access in observed.accesses],
            "branches": [(places(each.place), each.sub_groups, each.parted, *each.shares) for each in observed.branches],
            "loops": [(places(loop.place), *astuple(loop)[1:]) for loop in observed.loops],
            "barriers": [(places(place), count) for place, count in observed.barriers],
            "faults": [
                [each.kind, each.sentence, list(map(places, each.places)), each.work_items, each.argument, each.count,
                 each.is_lockstep]
                for each in observed.faults
            ],
            "notes": observed.notes,
            "reason": observed.reason,
            "buffers": observed.buffers,
        }  # fmt: skip
        document["files"] = list(self._files)
        document["places"] = [(self._files[each.path], each.line, each.column) for each in self._places]
        return json.dumps(document, separators=(",", ":")).encode()

    def _place(self, place: SourcePlace | None) -> int:
        if place is None:
            return -1
        self._files.setdefault(place.path, len(self._files))
        return self._places.setdefault(place, len(self._places))

    def _access(self, access: ObservedAccess) -> list[Any]:
        own = {each.name: getattr(access, each.name) for each in fields(ObservedAccess)}
        return [*{**own, "place": self._place(access.place), "calls": list(map(self._place, access.calls))}.values()]


class _Decoder:
    """A launch's content as it was read. Raises FormatError where it is not what ``_Encoder`` writes."""

    def __init__(self, row: dict[str, Any]) -> None:
        self._row = row
        files = [_text(each) for each in self._list("files")]
        self._places = [
            SourcePlace(_one_of(files, file), _count(line), _count(column))
            for file, line, column in (_sized(each, 3) for each in self._list("places"))
        ]

    def _list(self, key: str) -> list[Any]:
        return _typed(self._row.get(key), list)

    def _place(self, number: object) -> SourcePlace | None:
        return None if type(number) is int and number == -1 else _one_of(self._places, number)

    def _own_place(self, number: object) -> SourcePlace:
        return _one_of(self._places, number)

    def behaviour(self, kernel: str) -> Behaviour:
        """Return the behaviour."""
        device = self._row.get("device")
        groups, groups_done, instructions, copied_bytes = (_count(self._row.get(name)) for name in _NUMBERS)
        return Behaviour(
            kernel,
            _machine(_sized(self._row.get("machine"), 7)),
            _sizes(self._row.get("global_size")),
            _sizes(self._row.get("local_size")),
            *(groups, groups_done, _typed(self._row.get("is_out_of_time"), bool), instructions, copied_bytes),
            pieces=tuple(self._piece(_sized(each, 5)) for each in self._list("pieces")),
            accesses=tuple(self._access(_sized(each, len(fields(ObservedAccess)))) for each in self._list("accesses")),
            branches=tuple(self._branch(_typed(each, list)) for each in self._list("branches")),
            loops=tuple(self._loop(_sized(each, 6)) for each in self._list("loops")),
            barriers=tuple(
                (self._place(place), _count(count))
                for place, count in (_sized(each, 2) for each in self._list("barriers"))
            ),
            faults=tuple(self._fault(_sized(each, 7)) for each in self._list("faults")),
            notes=tuple(map(_text, self._list("notes"))),
            source=_text(self._row.get("source")),
            device=None if device is None else _text(device),
            buffers=tuple(_counts(each, 2) for each in self._list("buffers")),  # type: ignore[misc]
            reason=_text(self._row.get("reason")),
        )

    def _piece(self, numbers: list[Any]) -> tuple[SourcePlace, int, int, int, bool]:
        place, instructions, runs, sub_groups, is_whole = numbers
        return self._own_place(place), _count(instructions), _count(runs), _count(sub_groups), _typed(is_whole, bool)

    def _access(self, row: list[Any]) -> ObservedAccess:
        place, calls, kind, space, *numbers = row
        (
            width,
            requests,
            lanes,
            asked,
            used,
            units,
            least,
            waves,
            fewest,
            distinct,
            contention,
            patterns,
            stride,
            rest,
        ) = numbers
        if kind not in KINDS or space not in SPACES:
            _fail("an access is of no kind or space")
        first, last = (None, None) if stride is None else _sized(stride, 2)
        return ObservedAccess(
            place=self._place(place),
            calls=tuple(map(self._own_place, _typed(calls, list))),
            kind=kind,
            space=space,
            width=_count(width),
            requests=_count(requests),
            lanes=_count(lanes),
            bytes=_count(asked),
            used=_count(used),
            units=_counts(units, len(UNITS)),  # type: ignore[arg-type]
            least=_counts(least, len(UNITS)),  # type: ignore[arg-type]
            wavefronts=None if waves is None else _count(waves),
            least_wavefronts=None if fewest is None else _count(fewest),
            distinct=_count(distinct),
            contention=_count(contention),
            patterns=_counts(patterns, len(PATTERNS)),  # type: ignore[arg-type]
            stride=None if first is None else (_whole(first), _whole(last)),
            ungrouped=_count(rest),
        )

    def _branch(self, row: list[Any]) -> ObservedBranch:
        if len(row) < 3:
            _fail("a branch has too few numbers")
        return ObservedBranch(self._place(row[0]), _count(row[1]), _count(row[2]), tuple(map(_count, row[3:])))

    def _loop(self, row: list[Any]) -> ObservedLoop:
        place, entries, least, mean, most, rounds = row
        average = None if rounds is None else _number(rounds)
        return ObservedLoop(self._place(place), _count(entries), _count(least), _number(mean), _count(most), average)

    def _fault(self, row: list[Any]) -> Fault:
        kind, sentence, places, items, argument, count, is_lockstep = row
        if kind not in _FAULT_KINDS:
            _fail("a fault is of no kind")
        return Fault(
            kind,
            _text(sentence),
            tuple(map(self._own_place, _typed(places, list))),
            tuple(_counts(each, 3) for each in _typed(items, list)),  # type: ignore[misc]
            None if argument is None else _text(argument),
            _count(count),
            _typed(is_lockstep, bool),
        )


def _machine(row: list[Any]) -> ObservedMachine:
    width, unit, banks, bank_bytes, has_phases, is_split, source = row
    if unit is not None and unit not in UNITS:
        _fail("its unit is none that is counted")
    if not 1 <= _count(width) <= _WIDEST:
        _fail("its sub-groups have no width")
    return ObservedMachine(
        *(_count(width), unit, _count(banks), _count(bank_bytes)),
        *(_typed(has_phases, bool), _typed(is_split, bool), _text(source)),
    )


def _sizes(value: object) -> tuple[int, int, int]:
    x, y, z = _sized(value, 3)
    return _count(x), _count(y), _count(z)


def _fail(what: str) -> NoReturn:
    raise damaged(f"the behaviour of a kernel: {what}")


def _typed(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        _fail(f"it has a {type(value).__name__} where a {kind.__name__} is expected")
    return value


def _sized(value: object, size: int) -> list[Any]:
    values = _typed(value, list)
    if len(values) != size:
        _fail(f"it has {len(values)} values where {size} are expected")
    return values


def _whole(value: object) -> int:
    number = _typed(value, int)
    if abs(number) >= _MOST:
        _fail("a number is too large")
    return number


def _count(value: object) -> int:
    number = _whole(value)
    if number < 0:
        _fail("a count is negative")
    return number


def _counts(value: object, size: int) -> tuple[int, ...]:
    return tuple(map(_count, _sized(value, size)))


def _number(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value < _MOST or not isfinite(value):  # type: ignore[operator,arg-type]
        _fail("an average is none")
    return float(value)  # type: ignore[arg-type]


def _text(value: object) -> str:
    text = _typed(value, str)
    if len(text) > _LONGEST:
        _fail("a text is too long")
    try:
        text.encode()
    except UnicodeEncodeError:
        _fail("a text is no Unicode")
    return text


def _one_of(values: Sequence[T], number: object) -> T:
    place = _count(number)
    if place >= len(values):
        _fail("a place or file is not there")
    return values[place]
