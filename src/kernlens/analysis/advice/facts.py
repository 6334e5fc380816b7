"""The facts that the rules of advice share, each gathered when a rule asks for it first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from kernlens.analysis.advice.source_tokens import SourceTokens
from kernlens.model.instruction import Instructions
from kernlens.model.instruction_kind import InstructionKind
from kernlens.model.instruction_record import EXECUTION_SIZE_AT, RECORD_SIZE, TYPES_AT
from kernlens.model.intel_instructions import NO_MASK, packed_of
from kernlens.model.kernel import Kernel
from kernlens.model.operand import type_name, type_number
from kernlens.model.program import Program
from kernlens.model.source_map import INHERITED, SourcePlace

DOUBLE = "double"


class Facts:
    """The facts of a kernel. Rows are indexes of its instructions.

    ``tokens`` are the words of the source. Raises UnsupportedError, when a fact is asked for, if no installed libiga64
    knows the device.
    """

    def __init__(self, program: Program, kernel: Kernel) -> None:
        self.program = program
        self.kernel = kernel
        self.tokens = SourceTokens.of(program)

    @cached_property
    def code(self) -> Instructions:
        """The kernel's instructions."""
        return self.kernel.instructions

    @property
    def kinds(self) -> Sequence[InstructionKind]:
        """The kind of each instruction."""
        return self.code.kinds

    @cached_property
    def sites(self) -> dict[SourcePlace, list[int]]:
        """The rows of each place in the source: file, line and column. The prologue, rows without a place, and rows that
        only inherit their neighbour's are left out; empty without a line table."""
        source_map = self.kernel.source_map
        if source_map is None:
            return {}
        sites: dict[SourcePlace, list[int]] = {}
        # Neighbours share their places.
        last, rows = None, list[int]()
        origins = source_map.origins if source_map.stated else None
        for row, place in enumerate(source_map.places):
            if place is None or (origins is not None and origins[row] == INHERITED):
                continue
            if place is not last:
                last, rows = place, sites.setdefault(place, [])
            rows.append(row)
        return sites

    @cached_property
    def vector_rows(self) -> bytes:
        """For each row 0 if it runs once for a hardware thread, whatever lanes are active, as ``(W) ... (1|M0)`` does;
        else 1, which it is too where the decoder does not tell."""
        packed = packed_of(self.code)
        if packed is None:
            return bytes([True]) * len(self.code)
        sizes = bytes(packed.records[EXECUTION_SIZE_AT::RECORD_SIZE])
        return bytes(size > 1 or not flags & NO_MASK for size, flags in zip(sizes, packed.flags, strict=True))

    def rows_in(self, path: str, code: range) -> list[int]:
        """Return the rows whose place, or that of a call around them, lies in these characters of a source."""
        in_code = self.tokens.lies_in(path, code)
        source_map = self.kernel.source_map
        rows = []
        for place, of_place in self.sites.items():
            if in_code(place):
                rows += of_place
            elif source_map is not None:
                rows += [row for row in of_place if any(map(in_code, source_map.inlined_at(row)))]
        return rows

    def vector(self, rows: Iterable[int]) -> list[int]:
        """Return those of the rows that work for lanes, rather than once for the whole thread."""
        return [row for row in rows if self.vector_rows[row]]

    def copies(self, rows: Iterable[int]) -> int:
        """Return through how many chains of inlined calls the rows came: at least so many copies of a function they are."""
        source_map = self.kernel.source_map
        return len({source_map.inlined_at(row) for row in rows}) if source_map else 1

    def types(self, row: int) -> tuple[str, tuple[str, ...]]:
        """Return the type of a row's destination and those of its sources, as the assembly has them (``f``, ``ud``); empty
        where the decoder does not tell types."""
        if not self._type_columns:
            return "", ()
        written, *sources = (type_name(column[row]) for column in self._type_columns)
        return written, tuple(filter(None, sources))

    @cached_property
    def _type_columns(self) -> list[bytes]:
        packed = packed_of(self.code)
        return [bytes(packed.records[at::RECORD_SIZE]) for at in TYPES_AT] if packed is not None else []

    @cached_property
    def double_rows(self) -> frozenset[int]:
        """The rows that work on doubles."""
        double = type_number("df")
        columns = (column for column in self._type_columns if double in column)
        return frozenset(row for column in columns for row, number in enumerate(column) if number == double)

    def conversions(self, rows: Iterable[int]) -> Counter[tuple[str, str]]:
        """Return how many of the rows copy a value of one type to another: (type before, type after) -> count."""
        opcodes = self.code.opcodes
        types = (self.types(row) for row in rows if opcodes[row] == "mov")
        return Counter((sources[0], written) for written, sources in types if sources and sources[0] != written)

    def works_on_doubles(self, rows: Iterable[int], path: str, words: Iterable[str]) -> bool:
        """Return whether a construct of these words may work on doubles: one of its rows does, or the build emulates doubles
        and a word is declared as one. Most instructions of a function of doubles work on their halves, as integers."""
        if any(row in self.double_rows for row in rows):
            return True
        emulates = "fp64-gen" in (self.program.build.options or "")
        return emulates and not self.tokens.declared_as(path, DOUBLE).isdisjoint(words)

    def works_on_halves(self, rows: Iterable[int]) -> bool:
        """Return whether a function works on halves: the compiler computes it with floats, and converts what it returns."""
        conversions = self.conversions(rows)
        return bool(conversions["f", "hf"] or conversions["hf", "f"])

    @cached_property
    def instructions_for_all_lanes(self) -> int:
        """The number of instructions that an operation on all lanes takes: 2 for SIMD32 where registers have 32 bytes."""
        is_wide = self.ip is not None and (self.ip >= (20, 0) or (self.ip[0] == 12 and self.ip[1] in (60, 61)))
        simd = self.kernel.resources.simd or 16
        return max(1, simd // (32 if is_wide else 16))

    @property
    def simd(self) -> int | None:
        """The kernel's SIMD width; None where the binary does not state it."""
        return self.kernel.resources.simd

    @property
    def log(self) -> str:
        """The compiler's log of the build; empty where it is not known."""
        return self.program.build.log

    @cached_property
    def ip(self) -> tuple[int, int] | None:
        """The device's architecture and release, ``(12, 55)``; None if it is not known."""
        device_id, device = self.program.device_id, self.program.device
        version = (device_id.ip if device_id else None) or (device.ip if device else None)
        return (version.architecture, version.release) if version else None
