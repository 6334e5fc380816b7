"""The behaviour of kernels, as a recording holds it: JSON with numbers in fixed order (docs/recording.md).

It may come from anybody: each number is checked, and so are lengths and what the numbers of places lead to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, ClassVar, NewType, TypeVar, get_args, get_origin, get_type_hints

from kernlens.dataclass import replace
from kernlens.model.behaviour import (
    KINDS,
    SPACES,
    UNITS,
    Behaviour,
    ObservedAccess,
    ObservedBranch,
    ObservedLoop,
    ObservedMachine,
    ObservedRequest,
)
from kernlens.model.fault import FAULT_KINDS, Fault
from kernlens.model.source_map import SourcePlace
from kernlens.recording.checked_json import CheckedJson

T = TypeVar("T")
_Whole = NewType("_Whole", int)
_CHECKED = CheckedJson("the behaviour of a kernel")
_fail, _typed, _text = _CHECKED.fail, _CHECKED.typed, _CHECKED.text
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
#: Faults that are kept where the counts are too many.
_MOST_FAULTS = 100
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
    row = _CHECKED.document(content, MOST_BYTES, VERSION)
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
        example = None if access.example is None else astuple(access.example)
        own |= {"place": self._place(access.place), "calls": list(map(self._place, access.calls)), "example": example}
        return [*own.values()]


class _Decoder:
    """A launch's content as it was read. Raises FormatError where it is not what ``_Encoder`` writes."""

    def __init__(self, row: dict[str, Any]) -> None:
        self._row = row
        self._readers: dict[Any, Callable[[Any], Any]] = {}
        files = self._read(tuple[str, ...], row.get("files"))
        self._places = [
            SourcePlace(_one_of(files, file), _count(line), _count(column))
            for file, line, column in (_sized(each, 3) for each in _typed(row.get("places"), list))
        ]

    def behaviour(self, kernel: str) -> Behaviour:
        """Return the behaviour."""
        hints = _hints(Behaviour)
        values = {name: self._read(hints[name], self._row.get(name)) for name in hints.keys() - _NOT_HELD}
        behaviour = Behaviour(kernel, **values)
        if any(each.kind not in KINDS or each.space not in SPACES for each in behaviour.accesses):
            _fail("an access is of no kind or space")
        if not all(each.example is None or each.example.is_bounded for each in behaviour.accesses):
            _fail("a request is of no sub-group")
        if any(each.kind not in FAULT_KINDS for each in behaviour.faults):
            _fail("a fault is of no kind")
        machine = behaviour.machine
        if machine.unit is not None and machine.unit not in UNITS:
            _fail("its unit is none that is counted")
        if not 1 <= machine.width <= _WIDEST:
            _fail("its sub-groups have no width")
        return behaviour

    def _read(self, hint: Any, value: object) -> Any:
        """Return a value of the type that an annotation states: numbers count something, places are meant by number."""
        if hint not in self._readers:
            self._readers[hint] = self._reader(hint)
        return self._readers[hint](value)

    def _reader(self, hint: Any) -> Callable[[Any], Any]:
        origin, parts = get_origin(hint), get_args(hint)
        if hint in _PLAIN:
            return _PLAIN[hint]
        if hint == SourcePlace:
            return lambda value: _one_of(self._places, value)
        if hint in _ROWS:
            fields_of = [self._reader(each) for each in _hints(hint).values()]

            def row(value: object) -> Any:
                values = _typed(value, list)
                if hint is ObservedBranch:  # All that is left of the row are the shares.
                    values = [*values[:3], values[3:]]
                if hint is ObservedAccess and len(values) == len(fields_of) - 1:  # An earlier kernlens kept no example.
                    values = [*values, None]
                return hint(*[read(each) for read, each in zip(fields_of, _sized(values, len(fields_of)), strict=True)])

            return row
        if origin is UnionType:
            known = self._reader(_STRIDE if parts[0] == tuple[int, int] else parts[0])
            if parts[0] == SourcePlace:
                return lambda value: None if type(value) is int and value == -1 else known(value)
            return lambda value: None if value is None else known(value)
        first = self._reader(parts[0])
        if origin is not tuple or parts[1:] == (Ellipsis,):
            return lambda value: tuple([first(each) for each in _typed(value, list)])
        each_of = [self._reader(each) for each in parts]
        return lambda value: tuple([read(each) for read, each in zip(each_of, _sized(value, len(parts)), strict=True)])


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, localns={"SourcePlace": SourcePlace})
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


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


def _number(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value < _MOST or not isfinite(value):  # type: ignore[operator,arg-type]
        _fail("an average is none")
    return float(value)  # type: ignore[arg-type]


def _one_of(values: Sequence[T], number: object) -> T:
    place = _count(number)
    if place >= len(values):
        _fail("a place or file is not there")
    return values[place]


#: A stride may go back.
_STRIDE = tuple[_Whole, _Whole]
#: What is told by the type alone.
_PLAIN: dict[Any, Callable[[object], Any]] = {
    int: _count, float: _number, str: _text, bool: lambda value: _typed(value, bool), _Whole: _whole,
}  # fmt: skip
#: What is held as a row of its fields.
_ROWS = (ObservedMachine, ObservedAccess, ObservedRequest, ObservedBranch, ObservedLoop, Fault)
#: What stands beside the content in a recording.
_NOT_HELD = {"kernel", "launches", "ran"}
