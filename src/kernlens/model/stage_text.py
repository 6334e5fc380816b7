"""The texts of a compile's stages as they are shown beside a kernel: its part of each, with what each row came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kernlens.dataclass import dataclass, field
from kernlens.model.source_map import SourcePlace


class StageName(NamedTuple):
    """A stage of a compile that has a text, and the attempt that it is of (see ``Snapshot``). ``scope`` is ``program`` or
    ``kernel``; ``has_tables``: its text ends with tables of metadata, which are a text of their own here."""

    stage: str
    attempt: int
    scope: str
    has_tables: bool


@dataclass(frozen=True, slots=True)
class StageText:
    """One kernel's part of a stage's text, row by row. ``of`` is the stage.

    ``lines`` are the rows' numbers in the whole text of the stage, from 1. ``instructions`` are the indexes of the rows
    that are one's first; by them go ``places`` (None where the stage names none), ``calls`` (those that the instruction
    was inlined through, innermost first), and ``visa``: the numbers of the vISA instructions that are certainly of this one,
    empty where nothing tells them. ``functions`` are the functions with their first rows. ``missing`` is why there is no
    text, empty if there is one.
    """

    of: StageName
    rows: Sequence[str] = field(default=(), repr=False)
    lines: Sequence[int] = field(default=(), repr=False)
    instructions: Sequence[int] = field(default=(), repr=False)
    places: Sequence[SourcePlace | None] = field(default=(), repr=False)
    calls: Sequence[tuple[SourcePlace, ...]] = field(default=(), repr=False)
    visa: Sequence[range] = field(default=(), repr=False)
    functions: Sequence[tuple[str, int]] = field(default=(), repr=False)
    missing: str = ""


class PassPart(NamedTuple):
    """A kernel and the functions that it calls, after a pass. ``rows`` are its text, ``instructions`` those of its
    instructions that have a source line: path, line, function and text."""

    rows: Sequence[str]
    instructions: Sequence[tuple[str, int, str, str]]


class PassText(NamedTuple):
    """The program after a pass of the compiler; ``name`` is empty for the program before an attempt's first pass.

    ``parts`` are those of the kernels whose machine code is of this ``attempt``, empty ones of kernels that are not defined
    there, and where the compiler dumped only a part of the program: then ``is_whole`` is false."""

    name: str
    attempt: int
    parts: Mapping[str, PassPart]
    is_whole: bool = True


class StageTexts(Protocol):
    """The source of the texts of a program's stages; each is read when it is asked for. Here there are none."""

    @property
    def stages(self) -> Sequence[StageName]:
        """The stages that have a text, in pipeline order."""
        return ()

    def of_kernel(self, kernel: str) -> Sequence[StageText]:
        """Return the kernel's part of each stage, of the attempt whose machine code is in the program."""
        return ()

    def tables(self, of: StageName) -> str:
        """Return the metadata of a whole program's LLVM IR."""
        return ""

    def visa_numbers(self, kernel: str, compacted: Sequence[bool]) -> Sequence[int | None]:
        """Return for each of a kernel's machine instructions the number of the vISA instruction that it is of; empty if
        no listing tells it, or one of other code: ``compacted`` says which of the instructions are."""
        return ()

    def passes(self, kernels: Sequence[str]) -> Iterator[PassText]:
        """Yield the program before and after each single pass, attempt by attempt, cut to each of the kernels."""
        return iter(())


class NoStages(StageTexts):
    """The texts of a program whose stages were not kept: none."""
