"""The variables of a kernel with the places that they have over its rows, as columns."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from kernlens.errors import FormatError
from kernlens.model.kernel import Kernel
from kernlens.report.range_words import RangeWords

#: Locations that are followed through the code: beyond these ``annotate --variable`` answers, one variable at a time.
MOST_LOCATIONS = 4_000


def variable_columns(kernel: Kernel) -> dict[str, Any]:
    """Return the ``variables`` of a kernel's code; nothing without debug data that names some, or with too many of them.

    ``list``: ``{"name", "type", "function", "is_argument", "scope": [first row, end, ...], "ranges": [first row, end, number,
    ...]}`` each, in threes; a number is the index in ``words``. The rows of a scope are all rows if there are none.
    """
    try:
        variables = kernel.variables
    except FormatError:  # annotate --variable says what is damaged. The code needs none of it.
        return {}
    if not variables or sum(len(variable.locations) for variable in variables) > MOST_LOCATIONS:
        return {}
    offsets, range_words = kernel.instructions.offsets, RangeWords(kernel)
    words: dict[str, int] = {}

    def rows(begin: int, end: int) -> list[int]:
        return [bisect_left(offsets, begin), bisect_left(offsets, end)]

    entries = []
    for variable in variables:
        ranges: list[int] = []
        for each in kernel.variable_ranges(variable):
            text = range_words.of(each)
            ranges += [*rows(each.begin, each.end), words.setdefault(text, len(words))]
        entries.append(
            {
                "name": variable.name,
                "type": variable.type_name,
                "function": variable.function,
                "is_argument": variable.is_argument,
                "scope": [row for low, high in variable.scope for row in rows(low, high)],
                "ranges": ranges,
            }
        )
    return {"variables": {"words": list(words), "list": entries}}
