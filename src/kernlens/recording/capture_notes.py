"""The notes of a capture on its builds: which call made which, and how often each kernel was launched.

It stands as JSON in a recording's metadata (docs/recording.md), and like all of that it may come from anybody.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kernlens.model.device_time import DeviceTime, times_together
from kernlens.recording.schema import damaged, typed

#: The key of a recording's metadata that holds it.
CAPTURE = "capture"
_COUNTS = ("created", "launches")
_OF_LAUNCHES = ("median_ns", "first_ns", "least_ns", "most_ns")
#: Times and launches are numbers of 64 bits.
_MOST = 1 << 64

_Row = dict[str, Any]


class CaptureNotes:
    """The notes of one or several recordings, about the programs of a new one."""

    def __init__(self) -> None:
        self._others: _Row | None = None
        self._builds: list[_Row] = []
        self._kernels: dict[tuple[str, str, str], _Row] = {}
        self._shapes: dict[tuple[str, str, str], dict[str, _Row]] = {}

    def add(self, metadata: Mapping[str, str], numbers: dict[int, int], names: dict[tuple[str, str], str]) -> None:
        """Add the notes in a recording's metadata about the programs that are kept, and about those that it does not
        know. ``numbers`` maps the numbers of the kept to their new ones, ``names`` their names and devices to their new
        names. Raises FormatError if the notes are damaged."""
        text = metadata.get(CAPTURE)
        if text is None:
            return
        notes = _decoded(text)
        self._others = {**notes, **(self._others or {})}
        for build in _rows(notes, "builds", program=int):
            if build["program"] in numbers:
                row = {**build, "program": numbers[build["program"]]}
                if "inputs" in build:
                    row["inputs"] = [numbers[number] for number in _inputs(build) if number in numbers]
                self._builds.append(row)
        for kernel in _rows(
            notes, "kernels", name=str, program=str, device=str, created=int, launches=int, shapes=list
        ):
            name = names.get((kernel["program"], kernel["device"])) if kernel["program"] else ""
            if name is not None:
                self._add_kernel({**kernel, "program": name})

    def text(self) -> str | None:
        """Return the notes as metadata holds them; None if there were none."""
        if self._others is None:
            return None
        kernels = [{**kernel, "shapes": list(self._shapes[key].values())} for key, kernel in self._kernels.items()]
        _share(kernels)
        kernels.sort(key=lambda kernel: (-_total(kernel), -kernel["launches"], -kernel["created"], kernel["name"]))
        return json.dumps({**self._others, "builds": self._builds, "kernels": kernels})

    def _add_kernel(self, kernel: _Row) -> None:
        key = kernel["program"], kernel["device"], kernel["name"]
        known = self._kernels.setdefault(key, kernel)
        if known is not kernel:
            known.update({count: known[count] + kernel[count] for count in _COUNTS})
            known["time"] = _added_times(known, kernel)
        shapes = self._shapes.setdefault(key, {})
        for shape in _rows(kernel, "shapes", launches=int):
            alike = shapes.setdefault(json.dumps([shape.get("global"), shape.get("local")]), shape)
            if alike is not shape:
                alike["launches"] += shape["launches"]


def _total(kernel: _Row) -> int:
    """Return the device's time of a kernel in nanoseconds; 0 where it is not known."""
    time = _time_of(kernel)
    return 0 if time is None else time.total_ns


def _share(kernels: list[_Row]) -> None:
    """Give the kernels their shares of all their times."""
    total = sum(map(_total, kernels))
    for kernel in kernels:
        if kernel.get("time") is not None:
            kernel["time"]["share"] = round(_total(kernel) / total, 4) if total else 0.0


def _time_of(kernel: _Row) -> DeviceTime | None:
    """Return the device's time of a kernel; None where it is not known. Raises FormatError if it is none."""
    if kernel.get("time") is None:
        return None
    time = typed(kernel["time"], dict, CAPTURE)
    launches, total = (_count(time.get(key)) for key in ("launches", "total_ns"))
    others = {key: None if time.get(key) is None else _count(time[key]) for key in _OF_LAUNCHES}
    share = time.get("share")
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        raise damaged("a kernel's share of the device's time is none")
    return DeviceTime(launches, total, share=float(share), **others)


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise damaged("a device's time of the capture is no number")
    return value


def _added_times(first: _Row, second: _Row) -> _Row | None:
    """Return the device's time of a kernel in two captures."""
    times = [time for time in (_time_of(first), _time_of(second)) if time is not None]
    return None if not times else (times[0] if len(times) == 1 else times_together(times)).document


def device_times(
    metadata: Mapping[str, str], programs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, DeviceTime]]:
    """Return the device's times of launches, by the names of program and device and by kernel, from a recording's metadata.
    ``programs`` are the names of all: of two programs alike nobody knows which one was timed. Raises FormatError if the notes
    are damaged."""
    notes = metadata.get(CAPTURE, "")
    if '"total_ns"' not in notes:
        return {}
    times: dict[tuple[str, str], dict[str, DeviceTime]] = {}
    alone = {names for names, count in Counter(programs).items() if count == 1}
    for kernel in _rows(_decoded(notes), "kernels", name=str, program=str, device=str):
        names, time = (kernel["program"], kernel["device"]), _time_of(kernel)
        if time is not None and names in alone:
            times.setdefault(names, {})[kernel["name"]] = time
    return times


def launches(metadata: Mapping[str, str]) -> Counter[tuple[str, str]] | None:
    """Return the launches of kernels by the names of their program and device, from a recording's metadata; None if it
    is no capture's. Raises FormatError if the notes are damaged."""
    if CAPTURE not in metadata:
        return None
    counted: Counter[tuple[str, str]] = Counter()
    for kernel in _rows(_decoded(metadata[CAPTURE]), "kernels", program=str, device=str, launches=int):
        counted[kernel["program"], kernel["device"]] += kernel["launches"]
    return counted


def linked_from(metadata: Mapping[str, str]) -> dict[int, list[int]]:
    """Return the numbers of the programs that each was linked from, by its number, from a recording's metadata. Raises
    FormatError if the notes are damaged."""
    linked: dict[int, list[int]] = {}
    for build in _builds_with("inputs", metadata):
        linked.setdefault(build["program"], []).extend(_inputs(build))
    return linked


def given_constants(metadata: Mapping[str, str]) -> dict[int, dict[int, int]]:
    """Return the specialization constants that each program was built with, by its number: their bits by number. Raises
    FormatError if the notes are damaged."""
    of_programs = {}
    for build in _builds_with("constants", metadata):
        constants = typed(build.get("constants", {}), dict, CAPTURE)
        try:
            of_programs[build["program"]] = {
                int(number): int(typed(bits, str, CAPTURE), 16) for number, bits in constants.items()
            }
        except ValueError as error:
            raise damaged("a specialization constant of the capture is no number") from error
    return of_programs


def _builds_with(key: str, metadata: Mapping[str, str]) -> list[_Row]:
    """Return the notes on builds, none where no build has this key: most recordings are not searched for it."""
    notes = metadata.get(CAPTURE, "")
    return _rows(_decoded(notes), "builds", program=int) if f'"{key}"' in notes else []


def _inputs(build: _Row) -> list[int]:
    return [typed(number, int, CAPTURE) for number in typed(build.get("inputs", []), list, CAPTURE)]


def _decoded(text: str) -> _Row:
    try:
        return typed(json.loads(text), dict, CAPTURE)
    except (ValueError, RecursionError) as error:
        raise damaged("what was noted of the capture cannot be read") from error


def _rows(notes: _Row, key: str, **kinds: type) -> list[_Row]:
    """Return the rows of a list of objects. Raises FormatError if their values are not of these types."""
    rows = [typed(row, dict, CAPTURE) for row in typed(notes.get(key, []), list, CAPTURE)]
    for row in rows:
        for name, kind in kinds.items():
            typed(row.get(name), kind, CAPTURE)
    return rows
