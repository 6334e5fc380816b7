"""Figures: what can be said of a kernel in one number each. The only list of them.

The tables of ``compile`` and ``inspect``, the JSON documents, the HTML page, the words above a listing, notebooks and the
table of ``docs/figures.md`` are all made from ``FIGURES``: a new figure is one entry here (and, if a binary states it, a
field of ``KernelResources``, which that format's reader fills). What takes an analysis is read through a part of the
kernel, as its source map is: ``model`` computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What a kernel takes of the machine, as its binary states it; a field is None where the binary does not say.

    Meaning and unit of ``simd``, ``registers``, ``spill_bytes``, ``scratch_bytes``, ``slm_bytes`` and ``barriers`` are
    those of the figures with these keys. ``private_bytes`` is private memory per work-item. The two sizes that the
    source requires count work-items. ``prologue_bytes`` is the code before the kernel's own first instruction, which
    loads its payload.
    """

    simd: int | None = None
    registers: int | None = None
    spill_bytes: int | None = None
    scratch_bytes: int | None = None
    private_bytes: int | None = None
    slm_bytes: int | None = None
    barriers: int | None = None
    required_work_group_size: tuple[int, int, int] | None = None
    required_sub_group_size: int | None = None
    prologue_bytes: int | None = None


class Measured(Protocol):
    """What figures are read from: a ``Kernel``, which imports this module."""

    @property
    def resources(self) -> KernelResources: ...

    @property
    def instructions(self) -> Sized: ...

    @property
    def code_size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. ``key`` names it in JSON, ``heading`` in tables; ``origin`` says how it is obtained.

    ``read`` gives a kernel's value, None where it is not known. ``words`` is the phrase of a value, with ``{}`` for the
    number and ``(s)`` for the ending of a plural, ``zero`` the phrase of 0; where they are empty a line of words leaves
    the figure out. ``unknown`` says, for those who see a dash in a table, why a value may be missing.
    ``needs_decoding``: reading it decodes the instructions, which listing a large file must not do.
    """

    key: str
    heading: str
    unit: str
    meaning: str
    origin: str
    read: Callable[[Measured], int | None]
    words: str = ""
    zero: str = ""
    unknown: str = ""
    needs_decoding: bool = False

    def phrase(self, value: int | None) -> str:
        """The value in words (``128 registers``); empty where there is nothing to say."""
        if value is None:
            return ""
        words = self.words if value else self.zero
        return words.replace("{}", f"{value:,}").replace("(s)", "" if value == 1 else "s")


FIGURES = (
    Figure(
        key="simd",
        heading="SIMD",
        unit="channels",
        meaning="the compiled width: work-items that a hardware thread executes together",
        origin="zebin: `simd_size`; patch tokens: execution environment",
        read=attrgetter("resources.simd"),
        words="SIMD{}",
    ),
    Figure(
        key="registers",
        heading="registers",
        unit="registers per hardware thread",
        meaning="general registers that the compiler could use",
        origin="zebin: `grf_count`; patch tokens: execution environment",
        read=attrgetter("resources.registers"),
        words="{} register(s)",
    ),
    Figure(
        key="spill_bytes",
        heading="spill",
        unit="bytes per hardware thread",
        meaning="values that did not fit into registers and live in memory",
        origin="zebin: `spill_size`, before ze_info 1.39 the buffers for spills; patch tokens: 0 without scratch space,"
        " else unknown",
        read=attrgetter("resources.spill_bytes"),
        words="spills {} byte(s)",
        zero="no spill",
        unknown="a patch-token binary holds only the rounded sum of spilled and private memory, which is its scratch space",
    ),
    Figure(
        key="scratch_bytes",
        heading="scratch",
        unit="bytes per hardware thread",
        meaning="all scratch space: spilled values, private memory, stack frames",
        origin="zebin: the sum of the scratch buffers; patch tokens: scratch slots, which are rounded up to a power of two",
        read=attrgetter("resources.scratch_bytes"),
        words="{} byte(s) scratch",
    ),
    Figure(
        key="slm_bytes",
        heading="SLM",
        unit="bytes per work-group",
        meaning="shared local memory that the kernel declares itself",
        origin="zebin: `slm_size`; patch tokens: local surface",
        read=attrgetter("resources.slm_bytes"),
        words="{} byte(s) SLM",
    ),
    Figure(
        key="barriers",
        heading="barriers",
        unit="barriers per work-group",
        meaning="hardware barriers that a work-group needs",
        origin="zebin: `barrier_count`; patch tokens: execution environment",
        read=attrgetter("resources.barriers"),
        words="{} barrier(s)",
    ),
    Figure(
        key="instructions",
        heading="instructions",
        unit="instructions",
        meaning="machine instructions",
        origin="counted in the decoded code",
        read=lambda kernel: len(kernel.instructions),
        needs_decoding=True,
    ),
    Figure(
        key="code_size",
        heading="code bytes",
        unit="bytes",
        meaning="machine code without padding",
        origin="zebin: the size of the kernel's symbol; patch tokens: the unpadded size in the kernel's header",
        read=attrgetter("code_size"),
    ),
)

#: The figures that are there without decoding.
STATED = tuple(figure for figure in FIGURES if not figure.needs_decoding)


def figures_of(kernel: Measured, figures: Iterable[Figure] = STATED) -> dict[str, int | None]:
    """A kernel's values by their figures' keys, in the figures' order."""
    return {figure.key: figure.read(kernel) for figure in figures}


def notes_on_unknown(values: Iterable[Mapping[str, object]]) -> list[str]:
    """Why some of these kernels' values, by their figures' keys, are None: a line for each figure that knows it."""
    rows = list(values)
    return [
        f"{figure.heading} is not known everywhere (-): {figure.unknown}"
        for figure in FIGURES
        if figure.unknown and any(figure.key in row and row[figure.key] is None for row in rows)
    ]


def figure_words(kernel: Measured) -> str:
    """The stated figures in one line of words: ``SIMD32, 128 registers, no spill``; what is not known is left out."""
    return ", ".join(words for figure in STATED if (words := figure.phrase(figure.read(kernel))))
