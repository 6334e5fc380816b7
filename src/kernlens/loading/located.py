"""Where each instruction of a source map came from, with the paths as the compiler saw them."""

from __future__ import annotations

from kernlens.model.source_map import SourceMap, SourcePlace
from kernlens.model.source_path import joined


def located(source_map: SourceMap) -> list[tuple[SourcePlace | None, tuple[SourcePlace, ...]]]:
    """Each instruction's place, None if it has none, and the calls it was inlined through, innermost first."""
    directory = source_map.table.directory
    # A line table repeats few places very often.
    full: dict[SourcePlace, SourcePlace] = {}

    def absolute(place: SourcePlace) -> SourcePlace:
        if place not in full:
            full[place] = SourcePlace(joined(directory, place.path), place.line, place.column)
        return full[place]

    locations = []
    for index in range(len(source_map.row_of)):
        place = source_map.place(index)
        calls = tuple(absolute(call) for call in source_map.inlined_at(index))
        locations.append((absolute(place) if place else None, calls))
    return locations
