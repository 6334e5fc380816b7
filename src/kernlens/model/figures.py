"""Figures: what can be said of a kernel in one number each. The only list of them.

All tables, JSON documents, the viewer, the words above a listing and the table of ``docs/figures.md`` are made from
``FIGURES``: a new figure is one entry in the module of its family (and, if a binary states it, a field of ``KernelResources``,
or a key of its mappings, which that format's reader fills). ``OF_FAMILIES`` are those that some vendors' binaries state: they
stand beside the others where a kernel has them. ``COSTS`` are figures of source lines too, ``PRESSURES`` those of the registers
that code needs. ``model`` computes nothing: what takes an analysis is read through a part of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, UnsupportedError, likeliest
from kernlens.model.analysed_figures import (
    CYCLES,
    EXCESS,
    FAULTS,
    ISSUE_CYCLES,
    MOVED,
    OBSERVED,
    OBSERVED_ORDERS,
    PEAK,
    PERCENT,
    PRESSURES,
    RUNS,
    UNITS,
    WAIT,
    WAIT_CYCLES,
    WAIT_SHARE,
    WAITS,
    WASTE,
    WAVES,
    unobserved_words,
)
from kernlens.model.figure import Figure, Measured, MeasuredKernel, as_name
from kernlens.model.run_figures import DEVICE_TIME, OF_RUNS
from kernlens.model.stated_figures import FIGURES
from kernlens.model.vendor_figures import OF_CORES, OF_FAMILIES, OF_LAUNCHES, WITHOUT_LAUNCH

#: What others import from here, though it stands in the modules of the figures' families.
__all__ = [
    "COSTS",
    "CYCLES",
    "DEVICE_TIME",
    "EVERY_FIGURE",
    "EXCESS",
    "FAULTS",
    "FIGURES",
    "ISSUE_CYCLES",
    "LINE_COLUMNS",
    "LINE_ORDERS",
    "MOVED",
    "OBSERVED",
    "OBSERVED_ORDERS",
    "OF_CORES",
    "OF_FAMILIES",
    "OF_RUNS",
    "PEAK",
    "PERCENT",
    "PREFETCHES",
    "PRESSURES",
    "RUNS",
    "STATED",
    "UNITS",
    "WAIT",
    "WAITS",
    "WAIT_COLUMNS",
    "WAIT_CYCLES",
    "WAIT_SHARE",
    "WASTE",
    "WAVES",
    "WITHOUT_LAUNCH",
    "LineColumn",
    "at",
    "figure_named",
    "figure_words",
    "figures_of",
    "has_unknown_launch",
    "known_name",
    "largest_first",
    "notes_on_unknown",
    "own_figures",
    "shown_figures",
    "unobserved_words",
    "with_order",
    "without_details",
]

PREFETCHES = "global_prefetches"


def _cost(
    key: str, meaning: str, unit: str = "instructions", *, is_upper_bound: bool = False, former: tuple[str, ...] = ()
) -> Figure:
    """Return a figure that a kernel's instructions add up to, and those of a line."""
    origin = "the sum over the decoded messages" if unit == "bytes" else "counted in the decoded code"
    return Figure(
        key=key,
        heading=key.replace("_", " "),
        unit=unit,
        meaning=meaning,
        origin=f"{origin}, an upper bound: assumes all lanes active" if is_upper_bound else origin,
        read=lambda kernel: kernel.costs.get(key),
        needs_decoding=True,
        is_upper_bound=is_upper_bound,
        caused_by=(key,),
        former=former,
    )


def _costs_of_memory(space: str, meaning: str) -> Iterable[Figure]:
    for action, words in (("loads", "read"), ("stores", "write"), ("atomics", "read and write in one step")):
        yield _cost(f"{space}_{action}", f"messages that {words} {meaning}", "messages")
    if space == "global":
        words = "messages that bring global memory into a cache, and nothing into a register: no sum has their bytes"
        yield _cost(PREFETCHES, words, "messages")
    for action, words in (("load", "read"), ("store", "write")):
        meaning = f"bytes that messages {words} there, atomics included"
        yield _cost(f"{space}_{action}_bytes", meaning, "bytes", is_upper_bound=True)


#: By the names of ``instruction_kind.SPACES``.
_MEMORIES = {
    "global": "buffers and other global memory; private memory too, up to Xe-HPG",
    "slm": "shared local memory",
    "scratch": "the thread's scratch memory: spilled values, and private memory from Xe-HPC on",
    "image": "images, through samplers too",
}

#: What instructions cost, each counted once however often it runs: of a kernel, and of each source line.
COSTS = (
    _cost("float_instructions", "arithmetic and comparison with a floating-point operand"),
    _cost("integer_instructions", "other arithmetic, logic, comparison and selection"),
    _cost("math_instructions", "the extended math unit's: division, roots, exponential and trigonometric functions"),
    _cost("systolic_instructions", "matrix products: `dpas`"),
    _cost("move_instructions", "moves and conversions"),
    _cost("control_instructions", "branches, calls, returns and ends of threads"),
    _cost("synchronisation_instructions", "waits, fences and barriers"),
    _cost("other_instructions", "no operation, bytes that are no instruction, messages to units of graphics"),
    _cost("sends", "messages to shared functions, of every kind", "messages"),
    *(cost for space, meaning in _MEMORIES.items() for cost in _costs_of_memory(space, meaning)),
    _cost("spill_stores", "`scratch_stores` that spill a register", "messages", former=("spills",)),
    _cost("fill_loads", "`scratch_loads` that fill a register with its spilled value", "messages", former=("fills",)),
    _cost("spill_store_bytes", "bytes that `spill_stores` write", "bytes"),
    _cost("spill_load_bytes", "bytes that `fill_loads` read", "bytes"),
    _cost(
        "dynamic_messages",
        "messages with a dynamic descriptor, which is computed at run time, and other vendors' memory instructions whose bytes"
        " the code does not tell: no sum has their bytes",
        "messages",
        former=("unsized_messages",),
    ),
)


_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class LineColumn:
    """A column of the table of costliest lines: the sum of the costs ``keys``; ``by`` names it as an order, if it is one."""

    heading: str
    keys: tuple[str, ...]
    by: str = ""

    def sum(self, costs: Mapping[str, int]) -> int:
        """Return the column's number for a line with these costs."""
        return sum(costs.get(key, 0) for key in self.keys)


LINE_COLUMNS = (
    LineColumn("instructions", ("instructions",), by="instructions"),
    LineColumn("sends", ("sends",)),
    LineColumn(
        "memory bytes", tuple(f"{space}_{way}_bytes" for space in _MEMORIES for way in ("load", "store")), by="memory"
    ),
    LineColumn("spill stores", ("spill_stores",)),
    LineColumn("fill loads", ("fill_loads",)),
    LineColumn("spill/fill bytes", ("spill_store_bytes", "spill_load_bytes"), by="spill"),
    LineColumn("math", ("math_instructions",), by="math"),
)
#: The columns that stand beside them where waits are asked for.
WAIT_COLUMNS = tuple(LineColumn(key.replace("_", " "), (key,), by) for key, by in zip(CYCLES, ("", WAIT), strict=True))
#: What lines can be ordered by.
LINE_ORDERS = {column.by: column for column in (*LINE_COLUMNS, *WAIT_COLUMNS) if column.by}
#: The figures that are there without decoding.
STATED = tuple(figure for figure in FIGURES if not figure.needs_decoding)


#: Every figure: what can be named, bounded, and ordered by.
EVERY_FIGURE = (*FIGURES, *OF_FAMILIES, *OF_CORES, *PRESSURES, *WAITS, *COSTS, *OBSERVED)


def figure_named(name: str, origin: str = "") -> Figure:
    """Return the figure of this key, heading or former name; ``origin`` says where it is named. Raises NotFoundError, with
    the nearest names, if there is none."""
    named = {word: figure for figure in EVERY_FIGURE for word in figure.all_names}
    return named[known_name({word: figure.names[0] for word, figure in named.items()}, name, "metric", origin)]


def known_name(known: Mapping[str, str], name: str, kind: str, origin: str = "") -> str:
    """Return the one of ``known`` that is meant, as ``as_name`` writes it. Raises NotFoundError with the nearest names, which
    are the values: the current names."""
    if as_name(name) in known:
        return as_name(name)
    near = dict.fromkeys(known[each] for each in likeliest(as_name(name), known))
    hint = f"did you mean {', '.join(near)}?" if near else "docs/figures.md lists the metrics"
    raise NotFoundError(f"{at(origin)}there is no {kind} {name!r}; {hint}")


def at(origin: str) -> str:
    """Return the beginning of a message about what stands there."""
    return f"{origin}: " if origin else ""


def largest_first(kernels: Iterable[MeasuredKernel], figure: Figure) -> list[MeasuredKernel]:
    """Return the kernels by their value of ``figure``, the largest first; those of which it is not known are last."""
    values = [(figure.read(kernel), kernel) for kernel in kernels]
    ordered = sorted(values, key=lambda item: (item[0] is None, -(item[0] or 0)))
    return [kernel for _, kernel in ordered]


def with_order(order: Figure | None) -> tuple[Figure, ...]:
    """Return the stated figures, and the one that kernels are ordered by, if it is another."""
    return STATED if order is None or order in STATED else (*STATED, order)


def figures_of(kernel: Measured, figures: Iterable[Figure] = STATED) -> dict[str, int | None]:
    """Return a kernel's values by their figures' keys, in the figures' order."""
    return {figure.key: figure.read(kernel) for figure in figures}


def costs_of(kernel: MeasuredKernel) -> Mapping[str, int]:
    """Return a kernel's costs; none if its code cannot be decoded here."""
    try:
        return kernel.costs
    except UnsupportedError:
        return {}


def own_figures(kernel: Measured) -> tuple[Figure, ...]:
    """Return the figures of ``OF_FAMILIES`` that the kernel's binary states, or what lies beside it; nothing is decoded."""
    if not kernel.resources.is_particular:
        return tuple(figure for figure in OF_LAUNCHES if figure.read(kernel) is not None)
    return tuple(figure for figure in OF_FAMILIES if figure.read(kernel) is not None)


def has_unknown_launch(kernel: Measured) -> bool:
    """Return whether launches may ask for local memory besides what the kernel declares, and nothing says how much: CUDA's
    and HIP's launches may, of any kernel."""
    return kernel.launch_shared_bytes is None and any(
        figure.grows_at_launch and figure.read(kernel) is not None for figure in OF_FAMILIES
    )


def shown_figures(
    kernels: Iterable[Measured], figures: Sequence[Figure] = STATED, *, has_details: bool = False
) -> tuple[Figure, ...]:
    """Return the columns of a table of these kernels: ``figures``, and behind them what else a kernel's binary states. If
    all kernels state such, or neither a width nor registers, those of ``STATED`` that none of them has are left out; without
    ``has_details`` so are parts of a sum of which none has any."""
    kernels = list(kernels)
    own = {figure.key for kernel in kernels for figure in own_figures(kernel)}
    are_all = bool(kernels) and all(kernel.resources.has_no_grf for kernel in kernels)
    shown = [
        figure
        for figure in (figures if has_details else without_details(figures, kernels, _value))
        if not are_all or figure not in STATED or any(figure.read(kernel) is not None for kernel in kernels)
    ]
    return (*shown, *(figure for figure in OF_FAMILIES if figure.key in own and figure not in shown))


def without_details(
    figures: Iterable[Figure], rows: Collection[_Row], read: Callable[[_Row, Figure], int | None]
) -> list[Figure]:
    """Return ``figures`` without those parts of a sum of which no row has any: the sum says it all, where it is known."""
    by_key = {figure.key: figure for figure in FIGURES}

    def has_any(figure: Figure) -> bool:
        values = ((read(row, figure), read(row, by_key[figure.part_of])) for row in rows)
        return any(value or (value == 0 and whole is None) for value, whole in values)

    return [figure for figure in figures if not figure.is_detail or has_any(figure)]


def _value(kernel: Measured, figure: Figure) -> int | None:
    return figure.read(kernel)


def notes_on_unknown(values: Iterable[Mapping[str, object]], shown: Collection[Figure] | None = None) -> list[str]:
    """Return why some of these kernels' values, by their figures' keys, are None: a line for each figure that knows it, of
    those that are ``shown``; None: of all."""
    own = [
        figure.key for figure in OF_FAMILIES if figure not in OF_LAUNCHES
    ]  # What a family does not have is not unknown.
    rows = [row for row in values if row.get("scratch_bytes", 0) is not None and not any(map(row.get, own))]
    return [
        f"{figure.heading}: unknown for some kernels (-), because {figure.unknown}"
        for figure in FIGURES
        if figure.unknown
        and (shown is None or figure in shown)
        and not figure.is_detail
        and any(figure.key in row and row[figure.key] is None for row in rows)
    ]


def figure_words(kernel: Measured) -> str:
    """Return the stated figures in words, ``SIMD32, 128 GRFs available, no spill``; what is not known is left out."""
    figures = (*STATED, *own_figures(kernel))
    return ", ".join(words for figure in figures if (words := figure.phrase(figure.read(kernel))))
