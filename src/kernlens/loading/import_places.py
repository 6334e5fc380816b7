"""The places in the source where modules use their imports. Nothing is read before a place is asked for.

The site of a relocation is in the instruction that loads the symbol's address, which Intel's compilers may move away from
the call and give the line of a neighbour. Where the SPIR-V is at hand, it says which places can be meant.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.errors import FormatError, UnsupportedError
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.module import ImportUse
from kernlens.model.program import Program
from kernlens.model.source_map import SourceMap, SourcePlace
from kernlens.model.source_path import end_alike

if TYPE_CHECKING:
    from kernlens.formats.spirv.uses import SpirvUses

FindPlaces = Callable[[ImportUse], tuple[SourcePlace, ...]]


def places_in_binary(program: Program) -> FindPlaces:
    """Return the finder of places: of the instruction that a site lies in, as the kernel's source map says it; if the
    SPIR-V shows that the source does not name the symbol there, or the map says nothing, the places where it does."""

    @cache
    def source_map(kernel: str) -> SourceMap | None:
        try:
            return program.kernels[kernel].source_map
        except (FormatError, UnsupportedError) as error:
            # Links do not depend on line tables, and can be told about without them.
            log.debug("loading", "%s of %s: no source places: %s", kernel, program.name, error)
            return None

    @cache
    def spirv() -> _SpirvPlaces:
        return _SpirvPlaces(program)

    def find(use: ImportUse) -> tuple[SourcePlace, ...]:
        if use.segment is None or use.offset is None or use.holder not in program.kernels:
            return ()
        possible = spirv().below(use.holder, use.symbol)
        joined = source_map(use.holder)
        index = bisect_right(joined.offsets, use.offset) - 1 if joined else -1
        place = joined.place(index) if joined and index >= 0 else None
        if place and (
            not possible
            or any(place.line == candidate.line and end_alike(place.path, candidate.path) for candidate in possible)
        ):
            return (place,)
        files = [file.path for file in joined.table.files] if joined else []
        return tuple(_renamed(candidate, files) for candidate in possible)

    return find


def places_in_spirv(program: Program, functions: Sequence[int], imported: Mapping[int, str]) -> FindPlaces:
    """Return the finder of all places where a use's function names the import. ``functions`` are ids by the uses' segments."""

    @cache
    def places() -> _SpirvPlaces:
        return _SpirvPlaces(program, imported)

    def find(use: ImportUse) -> tuple[SourcePlace, ...]:
        return () if use.segment is None else places().of([functions[use.segment]], use.symbol)

    return find


class _SpirvPlaces:
    """The places where the functions of a program's SPIR-V name imports; none if there is no SPIR-V, or it has no lines."""

    def __init__(self, program: Program, imported: Mapping[int, str] | None = None) -> None:
        from kernlens.formats.spirv.use_lines import read_use_lines

        module = program.spirv_module
        self._data = program.spirv
        self._imported = imported or {
            linkage.id: linkage.name for linkage in (module.linkages if module else ()) if linkage.kind == "Import"
        }
        self._places = read_use_lines(program.spirv, module.strings, self._imported) if module else {}
        self._entry_points = {point.name: point.id for point in module.entry_points} if module else {}
        self._uses: SpirvUses | None = None

    def of(self, functions: Collection[int], symbol: str) -> tuple[SourcePlace, ...]:
        """Return the places in these functions that name ``symbol``, each once."""
        ids = [id for id, name in self._imported.items() if name == symbol]
        of_names = (self._places.get((function, id), ()) for function in functions for id in ids)
        return tuple(dict.fromkeys(place for places in of_names for place in places))

    def below(self, kernel: str, symbol: str) -> tuple[SourcePlace, ...]:
        """Return the places in a kernel and in all that it calls; in all functions if ``kernel`` is what stands for them."""
        if not self._places:
            return ()
        if self._uses is None:
            from kernlens.formats.spirv.uses import read_spirv_uses

            self._uses = read_spirv_uses(self._data)
        if kernel == PSEUDO_KERNEL:
            return self.of(self._uses.in_functions, symbol)
        return self.of(self._uses.reached([self._entry_points[kernel]]), symbol) if kernel in self._entry_points else ()


def _renamed(place: SourcePlace, files: Sequence[str]) -> SourcePlace:
    """Return the place with its path as the line table has it."""
    return replace(place, path=next((path for path in files if end_alike(path, place.path)), place.path))
