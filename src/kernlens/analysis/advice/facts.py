"""The facts that the rules of advice share, each gathered when a rule asks for it first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from kernlens.analysis.advice.source_tokens import SourceTokens
from kernlens.model.advice import COUNTED, Advice
from kernlens.model.instruction import NO_MASK, Instructions
from kernlens.model.instruction_kind import InstructionKind
from kernlens.model.instruction_record import EXECUTION_SIZE_AT, RECORD_SIZE
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import INHERITED, SourcePlace


class Facts:
    """The facts of a kernel. Rows are indexes of its instructions.

    ``tokens`` are the words of the source. Raises UnsupportedError, when a fact is asked for, if no installed libiga64
    knows the device.
    """

    def __init__(self, program: Program, kernel: Kernel) -> None:
        self.program = program
        self.kernel = kernel
        self.tokens = SourceTokens(program)

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
        else 1."""
        sizes = bytes(self.code.records[EXECUTION_SIZE_AT::RECORD_SIZE])
        return bytes(size > 1 or not flags & NO_MASK for size, flags in zip(sizes, self.code.flags, strict=True))

    def vector(self, rows: Iterable[int]) -> list[int]:
        """Return those of the rows that work for lanes, rather than once for the whole thread."""
        return [row for row in rows if self.vector_rows[row]]

    def copies(self, rows: Iterable[int]) -> int:
        """Return through how many chains of inlined calls the rows came: the copies of a function that is called several
        times."""
        source_map = self.kernel.source_map
        return len({source_map.inlined_at(row) for row in rows}) if source_map else 1

    def types(self, row: int) -> tuple[str, tuple[str, ...]]:
        """Return the type of a row's destination and those of its sources, as the assembly has them (``f``, ``ud``)."""
        instruction = self.code[row]
        destination = instruction.destination
        return destination.type if destination else "", tuple(source.type for source in instruction.sources)

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

    def advice(
        self,
        rule: str,
        place: SourcePlace | None,
        rows: Sequence[int],
        subject: str,
        fact: str,
        action: str,
        *,
        origin: str = COUNTED,
    ) -> Advice:
        """Return a piece of advice on these rows; ``model.advice.Advice`` explains its parts."""
        path, line, column = (place.path, place.line, place.column) if place else (None, 0, 0)
        return Advice(rule, subject, fact, action, path, line, column, tuple(sorted(rows)), len(self.code), origin)
