"""The notes of a capture on its builds: which call made which, and how often each kernel was launched.

It stands as JSON in a recording's metadata (docs/recording.md), and like all of that it may come from anybody.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kernlens.recording.schema import damaged, typed

#: The key of a recording's metadata that holds it.
CAPTURE = "capture"
_COUNTS = ("created", "launches")

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
            known["time"] = _added_times(known.get("time"), kernel.get("time"))
        shapes = self._shapes.setdefault(key, {})
        for shape in _rows(kernel, "shapes", launches=int):
            alike = shapes.setdefault(json.dumps([shape.get("global"), shape.get("local")]), shape)
            if alike is not shape:
                alike["launches"] += shape["launches"]


def _total(kernel: _Row) -> int:
    """Return the device's time of a kernel in nanoseconds; 0 where it is not known."""
    time = kernel.get("time")
    return 0 if time is None else typed(typed(time, dict, CAPTURE).get("total_ns"), int, CAPTURE)


def _share(kernels: list[_Row]) -> None:
    """Give the kernels their shares of all their times."""
    total = sum(map(_total, kernels))
    for kernel in kernels:
        if kernel.get("time") is not None:
            kernel["time"]["share"] = round(_total(kernel) / total, 4) if total else 0.0


def _added_times(first: Any, second: Any) -> _Row | None:
    """Return the device's time of a kernel in two captures: of both together no median is known."""
    if first is None or second is None:
        return first if second is None else typed(second, dict, CAPTURE)
    both = typed(first, dict, CAPTURE), typed(second, dict, CAPTURE)
    sums = {key: sum(typed(each.get(key), int, CAPTURE) for each in both) for key in ("launches", "total_ns")}
    return {**sums, "median_ns": None, "share": 0.0}


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
