"""The statements of the compiler itself on each instruction of a kernel, where the stages of its compile were kept.

In the listing of machine code (``gen-assembly``) each instruction has the number of the vISA instruction that it is of
(``$N``), and in ``visa-llvm-map`` each LLVM instruction that became vISA has the number of its first one, with its
debug location or none. This is the place that the compiler gave to the very instruction; its line table and the line
comments of its listings are made from it, with faults of their own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernlens.formats.listings.gen_assembly import read_visa_numbers
from kernlens.formats.listings.visa_llvm_map import VisaStart, read_visa_starts
from kernlens.loading.stage_maps import Beside
from kernlens.model.instruction import Instructions
from kernlens.model.intel_instructions import packed_of
from kernlens.model.line_table import LineTable
from kernlens.model.source_map import SourceMap, SourcePlace, StatedPlace
from kernlens.model.source_path import is_nameless, joined
from kernlens.model.stage import TEXT


def with_stated_places(source_map: SourceMap, kernel: str, instructions: Instructions, beside: Beside) -> SourceMap:
    """Return the source map with what the kept stages say of each instruction; as it is if they do not."""
    listing = beside.find("gen-assembly", TEXT, kernel)
    llvm = beside.find("visa-llvm-map", TEXT, kernel)
    codegen = beside.codegen.get(llvm.attempt) if llvm is not None else None
    if listing is None or llvm is None or codegen is None:
        return source_map
    numbered = read_visa_numbers(listing.listing)
    if trailer := instructions.trailer:
        first = bisect_left(instructions.offsets, trailer.offset)
        del numbered[first : first + trailer.count]
    numbered = numbered[: len(instructions)]
    packed = packed_of(instructions)
    if packed is None or packed.compacted != [compacted for _, compacted in numbered]:
        return source_map  # The listing is of another attempt.
    starts = read_visa_starts(llvm.listing, codegen)
    every = [start.number for start in starts]
    numbers = [number for number, _ in numbered]
    table = source_map.table
    names = table_names(table)
    stated: list[StatedPlace | None] = []
    for code in [function.code for function in source_map.functions] or [range(len(numbers))]:
        # Which LLVM function it is: the one that most of its numbers fall into. (Numbers rise through all functions.)
        votes = Counter(
            starts[position - 1].function
            for index in code
            if (number := numbers[index]) is not None and (position := bisect_right(every, number))
        )
        function = votes.most_common(1)[0][0] if votes else None
        stated += [_stated(numbers[index], function, starts, every, names) for index in code]
    return replace(source_map, stated=stated)


def table_names(table: LineTable) -> dict[str, str]:
    """Return the line table's names of the files that the stages call by their whole path. The name of a source without
    one, which each build may call otherwise, is that of ""."""
    names = {joined(table.directory, file.path): file.path for file in table.files if file.path}
    own = {path for number in set(table.files_of) if is_nameless(path := table.files[number].path)}
    return names | dict.fromkeys([""] if len(own) == 1 else [], *own)


def _stated(
    number: int | None,
    function: str | None,
    starts: Sequence[VisaStart],
    every: Sequence[int],
    names: Mapping[str, str],
) -> StatedPlace | None:
    """Return the place; None for an instruction without a number, or with one that does not tell whose it is."""
    position = bisect_right(every, number) if number is not None else 0
    if not position or (start := starts[position - 1]).function != function:
        return None
    following = starts[position] if position < len(starts) else start
    is_same = (start.place, start.calls) == (following.place, following.calls)
    # What comes before a branch may be of it: all but the first one's number, and that too if nothing came of the other.
    is_exact = number == start.number and start.place is not None
    if following.is_branch and not is_exact and not is_same:
        return None
    place = renamed(start.place, names) if start.place else None
    return StatedPlace(place, tuple(renamed(call, names) for call in start.calls) if place else ())


def renamed(place: SourcePlace, names: Mapping[str, str]) -> SourcePlace:
    """Return the place with its path as the line table has it."""
    return replace(place, path=names.get(place.path) or names.get("" if is_nameless(place.path) else "/", place.path))
