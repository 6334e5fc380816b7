"""The source places of a kernel, each written once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernlens.model.source_map import SourcePlace
from kernlens.model.source_path import joined

#: A place's number where nothing says where an instruction came from.
NO_PLACE = -1
#: The largest number that viewers keep: lines beyond are damage.
_MOST = (1 << 31) - 1


class Places:
    """The numbered places of a kernel, with the calls through which they were inlined; callers come before what they
    call.

    ``names`` maps a file's path as the stages write it to the path of the line table.
    """

    def __init__(self, names: dict[str, str] | None = None) -> None:
        self._names = names or {}
        self._files: dict[str, int] = {}
        self._places: dict[tuple[int, int, int, int], int] = {}
        self._known: dict[tuple[SourcePlace | None, tuple[SourcePlace, ...]], int] = {}

    def number(self, place: SourcePlace | None, calls: Sequence[SourcePlace] = ()) -> int:
        """Return the number of a place that was inlined through ``calls``, innermost first; NO_PLACE for none."""
        key = place, tuple(calls)
        if key not in self._known:
            self._known[key] = self._number(place, key[1])
        return self._known[key]

    def _number(self, place: SourcePlace | None, calls: tuple[SourcePlace, ...]) -> int:
        if place is None or not 0 < place.line <= _MOST:
            return NO_PLACE
        caller = NO_PLACE
        for each in (*reversed(calls), place):
            path = self._names.get(each.path, each.path)
            file = self._files.setdefault(path, len(self._files))
            column = each.column if 0 < each.column <= _MOST else 0
            line = each.line if 0 < each.line <= _MOST else 0
            caller = self._places.setdefault((file, line, column, caller), len(self._places))
        return caller

    def file(self, path: str) -> int | None:
        """Return the number of a file; None if no place is in it."""
        return self._files.get(self._names.get(path, path))

    def own_files(self, is_own: Callable[[str], bool]) -> list[int]:
        """Return the numbers of the files whose paths are own ones; empty if no place of another file was inlined into
        one of them, so that every place is laid on itself."""
        own = [is_own(path) for path in self._files]
        #: For each place whether it, or a place that it was inlined into, is in an own file.
        is_below: list[bool] = []
        is_moved = False
        for file, line, _, caller in self._places:
            stays = own[file] and line > 0
            is_laid = caller != NO_PLACE and is_below[caller]
            is_moved |= is_laid and not stays
            is_below.append(stays or is_laid)
        return [number for number, each in enumerate(own) if each] if is_moved else []

    def document(self) -> dict[str, Any]:
        """Return the files and places as columns."""
        from kernlens.report.explore.packing import deltas

        columns = list(zip(*self._places, strict=True)) or [(), (), (), ()]
        file, line, column, caller = columns
        return {
            "files": list(self._files),
            "places": {"file": list(file), "line": deltas(line), "column": list(column), "caller": list(caller)},
        }


def names_of_table(directory: str, paths: Sequence[str]) -> dict[str, str]:
    """Return the paths of a line table by the paths that stages write for them."""
    return {joined(directory, path): path for path in paths if path}
