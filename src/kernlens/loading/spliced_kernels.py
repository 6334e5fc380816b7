"""Kernels into which oneDNN spliced micro kernels, with the lines of the same kernel from before, if that is at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from kernlens.analysis.spliced_code import MOST_NUMBER, START, MarkedCode, Splice, splice_of
from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.spirv.inline_assembly import assembly_functions
from kernlens.model.code_function import CodeFunction
from kernlens.model.intel_instructions import packed_of
from kernlens.model.source_map import IN_PROLOGUE, NO_LINE, NO_ROW, SourceMap, SourcePlace

if TYPE_CHECKING:
    from kernlens.model.kernel import Kernel

_MARK = re.compile(r"0x([0-9a-fA-F]{8}):ud")
Of = TypeVar("Of")


@dataclass(frozen=True)
class SplicedMap(SourceMap):
    """The map of spliced code: the compiler's instructions have the places of the same ones in ``before``, others none."""

    before: SourceMap | None = field(default=None, repr=False)
    origins_before: Sequence[int | None] = field(default=(), repr=False)

    def place(self, index: int) -> SourcePlace | None:
        """Return where instruction ``index`` came from, None if nothing says it."""
        return self.places[index]

    def origin(self, index: int) -> str:
        """Return what the line of instruction ``index`` is from."""
        return self.origins[index]

    @cached_property
    def places(self) -> list[SourcePlace | None]:
        """The ``place`` of each instruction."""
        return self._of_each(self._before.places, None)

    @cached_property
    def origins(self) -> list[str]:
        """The ``origin`` of each instruction."""
        return self._of_each(self._before.origins, NO_LINE)

    @cached_property
    def certain(self) -> bytes:
        """For each instruction 1 if its line is certainly its own, or it has certainly none."""
        return bytes(self._of_each(self._before.certain, 1))

    @cached_property
    def stacks(self) -> list[tuple[SourcePlace, ...]]:
        """The ``inlined_at`` of each instruction."""
        return self._of_each(self._before.stacks, ())

    @property
    def _before(self) -> SourceMap:
        assert self.before is not None, "who makes the map gives it"
        return self.before

    def _of_each(self, column: Sequence[Of], other: Of) -> list[Of]:
        return [other if origin is None else column[origin] for origin in self.origins_before]


class SplicedKernel:
    """A spliced kernel: ``before`` is the kernel as the compiler left it, ``functions`` are the parts of the code."""

    def __init__(self, name: str, before: Kernel, splice: Splice, new: MarkedCode, names: dict[int, str]) -> None:
        self.before = before
        self._splice = splice
        self._new = new
        self._name = name
        self._names = names

    @cached_property
    def functions(self) -> tuple[CodeFunction, ...]:
        """The compiler's code and the micro kernels in it, in the order of the code."""
        parts: list[tuple[int, str]] = [(0, self._name)]
        for block in self._splice.blocks:
            parts += [(block.code.start, self._title(block.number, block.replaced)), (block.code.stop, self._name)]
        offsets, count = [*self._new.instructions.offsets, len(self._new.code)], len(self._new.instructions)
        ends = [*map(itemgetter(0), parts), count]
        return tuple(
            CodeFunction(name, range(start, stop), offsets[start], offsets[stop] - offsets[start], is_spliced=start > 0)
            for (_, name), (start, stop) in zip(parts, pairwise(ends), strict=True)
        )

    def _title(self, number: int, replaced: range) -> str:
        title, source_map = f"micro kernel {self._names[number] or number}", self.before.source_map
        calls = {stack[0] for row in replaced if (stack := source_map.inlined_at(row))} if source_map else set()
        return ", called at ".join([title, *(f"{call.path}:{call.line}" for call in calls if len(calls) == 1)])

    def source_map(self) -> SourceMap | None:
        """Return the map of the spliced code; None if the compiler's has none."""
        before = self.before.source_map
        if before is None:
            return None
        origins = self._splice.origins
        return SplicedMap(
            table=before.table,
            offsets=self._new.instructions.offsets,
            row_of=[NO_ROW if origin is None else before.row_of[origin] for origin in origins],
            prologue=before.origins.count(IN_PROLOGUE),
            functions=self.functions,
            stated=[None if origin is None or not before.stated else before.stated[origin] for origin in origins],
            begins_own=before.begins_own,
            stages_by=before.stages_by,
            before=before,
            origins_before=origins,
        )


def micro_kernels(spirv: memoryview) -> dict[int, str]:
    """Return the micro kernels that a module calls, by their numbers, with the names of the functions around them."""
    try:
        functions = assembly_functions(spirv)
    except FormatError:
        return {}  # It is not known what a damaged one was.
    marks = ((int(mark, 16) ^ START, name) for name, text in functions for mark in _MARK.findall(text))
    return {number: name for number, name in marks if number < MOST_NUMBER}


def spliced_words(code: memoryview, spirv: memoryview) -> str:
    """Return that micro kernels were spliced into code of which it is not known where; "" if they were not."""
    names, held = micro_kernels(spirv), bytes(code)
    gone = [name or str(number) for number, name in names.items() if (number ^ START).to_bytes(4, "little") not in held]
    return (
        f"; micro kernels were spliced in ({', '.join(gone)}): a recording of both builds tells where" if gone else ""
    )


def spliced_kernel(
    kernel: Kernel, sites: Sequence[int], spirv: memoryview, before: Iterator[tuple[Kernel, Sequence[int]]]
) -> SplicedKernel | None:
    """Return the kernel as one that was spliced from one of ``before``, each with its sites; None if it was from none.
    ``sites`` are its own, ``spirv`` is the module that it was made from."""
    names = micro_kernels(spirv)
    instructions = packed_of(kernel.instructions) if names else None
    if instructions is None:
        return None
    new = MarkedCode(kernel.code, instructions, sites)
    for other, other_sites in before:
        decoded = packed_of(other.instructions)
        splice = splice_of(MarkedCode(other.code, decoded, other_sites), new) if decoded is not None else None
        if splice is not None and all(block.number in names for block in splice.blocks):
            return SplicedKernel(kernel.name, other, splice, new, names)
    return None
