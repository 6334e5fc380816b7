"""The uses of imports with their source places, as text and as documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernlens.model.module import ImportUse, Module
from kernlens.model.source_map import SourcePlace

#: Places of one use that a text shows; the document has them all.
_PLACES = 4


def places_text(places: Sequence[SourcePlace]) -> str:
    """Return the places as ``kernels.cl:4, 7``; empty if there is none."""
    words: list[str] = []
    path = None
    for path_of, line in dict.fromkeys((place.path, place.line) for place in places[: 4 * _PLACES]):
        words.append(str(line) if path_of == path else f"{path_of}:{line}")
        path = path_of
    more = ["..."] if len(words) > _PLACES else []
    return ", ".join([*words[:_PLACES], *more])


def use_documents(module: Module, uses: Sequence[ImportUse]) -> Iterator[dict[str, Any]]:
    """Yield each use with the source places that it may mean; ``path`` and ``line`` are None if it is not one place."""
    for use in uses:
        places = [
            {"path": path, "line": line}
            for path, line in dict.fromkeys((place.path, place.line) for place in module.find_places(use))
        ]
        yield {
            "holder": use.holder,
            "segment": use.segment,
            "offset": use.offset,
            "type": use.type_name,
            **(places[0] if len(places) == 1 else {"path": None, "line": None}),
            "places": places,
        }
