"""Figures: what can be said of a kernel in one number each. The only list of them.

All tables, JSON documents, the viewer, the words above a listing and the table of ``docs/figures.md`` are made from
``FIGURES``: a new figure is one entry here (and, if a binary states it, a field of ``KernelResources``, which that format's
reader fills). ``COSTS`` are figures of source lines too, ``PRESSURES`` those of the registers that code needs. ``model``
computes nothing: what takes an analysis is read through a part of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, likeliest

if TYPE_CHECKING:
    from kernlens.model.pressure import Pressure
    from kernlens.model.waits import Waits


@dataclass(frozen=True, slots=True)
class KernelResources:
    """The resources of a kernel, as its binary states them; a field is None where the binary does not.

    Meaning and unit of ``simd``, ``grf_count``, ``spill_bytes``, ``scratch_bytes``, ``slm_bytes`` and ``barriers`` are
    those of the figures with these keys. ``private_bytes`` is private memory per work-item. The two sizes that the
    source requires count work-items. ``prologue_bytes`` is the code before the kernel's own first instruction, which
    loads its payload.
    """

    simd: int | None = None
    grf_count: int | None = None
    spill_bytes: int | None = None
    scratch_bytes: int | None = None
    private_bytes: int | None = None
    slm_bytes: int | None = None
    barriers: int | None = None
    required_work_group_size: tuple[int, int, int] | None = None
    required_sub_group_size: int | None = None
    prologue_bytes: int | None = None

    @property
    def registers(self) -> int | None:
        """The former name of ``grf_count``, for one release."""
        return self.grf_count


class Measured(Protocol):
    """The object that figures are read from: a ``Kernel``, which imports this module."""

    @property
    def resources(self) -> KernelResources: ...

    @property
    def instructions(self) -> Sized: ...

    @property
    def code_size(self) -> int: ...

    @property
    def costs(self) -> Mapping[str, int]: ...

    @property
    def pressure(self) -> Pressure | None: ...

    @property
    def waits(self) -> Waits | None: ...


MeasuredKernel = TypeVar("MeasuredKernel", bound=Measured)


PEAK = "live_grfs"
#: The figures of ``WAITS`` that instructions, and so source lines, have too.
WAIT = "wait"  # As an order of lines.
WAIT_SHARE = "wait_share"
#: The unit of shares.
PERCENT = "%"
CYCLES = ISSUE_CYCLES, WAIT_CYCLES = ("issue_cycles", "wait_cycles")


def as_name(words: str) -> str:
    """Return words as options and files write a key or a heading: in small letters, with hyphens."""
    return words.lower().replace("_", "-").replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. ``key`` names it in JSON, ``heading`` in tables; ``origin`` says how it is obtained.

    ``read`` gives a kernel's value, None where it is not known. ``words`` is the phrase of a value, with ``{}`` for the
    number and ``(s)`` for the ending of a plural, ``zero`` the phrase of 0; where they are empty a line of words leaves
    the figure out. ``unknown`` says, for those who see a dash in a table, why a value may be missing.
    ``needs_decoding``: reading it decodes the instructions, which listing a large file must not do.
    ``is_upper_bound``: the true value depends on the run, and is never more. ``more_is_better``: less of it is worse.
    ``caused_by`` are the keys of the costs of which the likely cause of a large value has most, among the source lines, or
    PEAK, the line of the peak pressure. ``former`` are its key and headings before the current release: see ``former_keys``.
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
    is_upper_bound: bool = False
    more_is_better: bool = False
    caused_by: tuple[str, ...] = ()
    former: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Figure {self.key}: {self.heading}, in {self.unit}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names in options and files, the shortest first: key and heading in small letters, with hyphens."""
        return tuple(sorted({as_name(self.key), as_name(self.heading)}, key=lambda name: (len(name), name)))

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names, and behind them those that it had before."""
        return tuple(dict.fromkeys((*self.names, *map(as_name, self.former))))

    def phrase(self, value: int | None) -> str:
        """Return the value in words (``128 GRFs available``); empty where there is nothing to say."""
        if value is None:
            return ""
        words = self.words if value else self.zero
        return words.replace("{}", f"{value:,}").replace("(s)", "" if value == 1 else "s")


# fmt: off
FIGURES = (
    Figure(
        key="simd", heading="SIMD", unit="channels",
        meaning="the compiled width: work-items that a hardware thread executes together",
        origin="zebin: `simd_size`; patch tokens: execution environment",
        read=attrgetter("resources.simd"), words="SIMD{}", more_is_better=True, caused_by=(PEAK,),
    ),
    Figure(
        key="grf_count", heading="GRF count", unit="registers per hardware thread",
        meaning="size of the register file (GRF mode): general registers that the compiler may use, whether it does or not",
        origin="zebin: `grf_count`; patch tokens: execution environment",
        read=attrgetter("resources.grf_count"), words="{} GRF(s) available", caused_by=(PEAK,), former=("registers",),
    ),
    Figure(
        key="spill_bytes", heading="spill bytes", unit="bytes per hardware thread",
        meaning="memory for spilled values: those that did not fit into registers",
        origin="zebin: `spill_size`, before ze_info 1.39 the size of the spill buffers; unknown if it is not 0 and the kernel"
        " calls functions (`has_stack_calls`), whose stack it includes; patch tokens: 0 without scratch space, else unknown",
        read=attrgetter("resources.spill_bytes"), words="spills {} byte(s)", zero="no spill",
        unknown="the binary states only their sum with other memory of the thread; count the spills instead: spill_stores"
        " (check --max-spill-stores, annotate --top)",
        caused_by=("spill_store_bytes", "spill_load_bytes"),
        former=("spill_bytes", "spill"),
    ),
    Figure(
        key="scratch_bytes", heading="scratch", unit="bytes per hardware thread",
        meaning="all scratch space: spilled values, private memory, stack frames",
        origin="zebin: the sum of the scratch buffers; patch tokens: scratch slots, which are rounded up to a power of two",
        read=attrgetter("resources.scratch_bytes"), words="{} byte(s) scratch",
        caused_by=("scratch_store_bytes", "scratch_load_bytes"),
    ),
    Figure(
        key="slm_bytes", heading="SLM", unit="bytes per work-group",
        meaning="shared local memory that the kernel declares itself",
        origin="zebin: `slm_size`; patch tokens: local surface",
        read=attrgetter("resources.slm_bytes"), words="{} byte(s) SLM", caused_by=("slm_loads", "slm_stores", "slm_atomics"),
    ),
    Figure(
        key="barriers", heading="barriers", unit="barriers per work-group",
        meaning="hardware barriers that a work-group needs",
        origin="zebin: `barrier_count`; patch tokens: execution environment",
        read=attrgetter("resources.barriers"), words="{} barrier(s)",
    ),
    Figure(
        key="instructions", heading="instructions", unit="instructions",
        meaning="machine instructions", origin="counted in the decoded code",
        read=lambda kernel: len(kernel.instructions), needs_decoding=True, caused_by=("instructions",),
    ),
    Figure(
        key="code_size", heading="code size", unit="bytes",
        meaning="machine code without padding, functions in it included",
        origin="zebin: the kernel's section up to the end of its last function; patch tokens: the unpadded size in the"
        " kernel's header",
        read=attrgetter("code_size"), caused_by=("instructions",), former=("code_size", "code bytes"),
    ),
)
# fmt: on


def _analysed(part: str, attribute: str, **words: Any) -> Figure:
    """Return a figure that is one of a part of the kernel, which takes an analysis; it is unknown where that is."""

    def read(kernel: Measured) -> int | None:
        known = getattr(kernel, part)
        return None if known is None else getattr(known, attribute)

    return Figure(read=read, needs_decoding=True, **words)


_PRESSURE = {
    "unit": "registers per hardware thread",
    "unknown": "the decoder does not tell what the instructions do to registers, or their branches are too many to follow",
    "caused_by": (PEAK,),
}
# fmt: off
#: How many registers the code needs.
PRESSURES = (
    _analysed(
        "pressure", "peak", key=PEAK, heading="live GRFs", former=("peak_registers",), **_PRESSURE,
        meaning="peak register pressure: the most general registers that are live at once",
        origin="liveness over the decoded code, for active lanes; in a function, for all its callers together",
    ),
    _analysed(
        "pressure", "named", key="referenced_grfs", heading="referenced GRFs", former=("named_registers",), **_PRESSURE,
        meaning="general registers that at least one instruction reads or writes", origin="decoded operands",
    ),
)
_WAITS = {
    "origin": "IGC's estimate, one thread alone, loops once",
    "unknown": "before Xe-LP the code does not state who waits for whom, and kernlens does not decode messages of Xe3P",
}
#: What IGC estimates of issuing and waiting: it is computed only where it is asked for.
WAITS = (
    _analysed(
        "waits", ISSUE_CYCLES, key=ISSUE_CYCLES, heading="issue cycles", unit="cycles", caused_by=(ISSUE_CYCLES,), **_WAITS,
        meaning="cycles for which instructions occupy their pipes, all blocks added up", words="{} issue cycle(s)",
    ),
    _analysed(
        "waits", WAIT_CYCLES, key=WAIT_CYCLES, heading="wait cycles", unit="cycles", caused_by=(WAIT_CYCLES,), **_WAITS,
        meaning="cycles that instructions wait for others of their block, all blocks added up", words="{} wait cycle(s)",
    ),
    _analysed(
        "waits", WAIT_SHARE, key=WAIT_SHARE, heading="wait share", unit=PERCENT, caused_by=(WAIT_CYCLES,), **_WAITS,
        meaning="`wait_cycles` in percent of these and `issue_cycles` together, rounded up", words="{}% waits",
    ),
)
# fmt: on


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
        read=lambda kernel: kernel.costs[key],
        needs_decoding=True,
        is_upper_bound=is_upper_bound,
        caused_by=(key,),
        former=former,
    )


def _costs_of_memory(space: str, meaning: str) -> Iterable[Figure]:
    for action, words in (("loads", "read"), ("stores", "write"), ("atomics", "read and write in one step")):
        yield _cost(f"{space}_{action}", f"messages that {words} {meaning}", "messages")
    for action, words in (("load", "read"), ("store", "write")):
        yield _cost(
            f"{space}_{action}_bytes",
            f"bytes that messages {words} there, atomics included",
            "bytes",
            is_upper_bound=True,
        )


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
        "messages with a dynamic descriptor, which is computed at run time: no sum has their bytes",
        "messages",
        former=("unsized_messages",),
    ),
)


@dataclass(frozen=True, slots=True)
class LineColumn:
    """A column of the table of costliest lines: the sum of the costs ``keys``; ``by`` names it as an order, if it is one."""

    heading: str
    keys: tuple[str, ...]
    by: str = ""

    def sum(self, costs: Mapping[str, int]) -> int:
        """Return the column's number for a line with these costs."""
        return sum(costs[key] for key in self.keys)


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
EVERY_FIGURE = (*FIGURES, *PRESSURES, *WAITS, *COSTS)


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


def notes_on_unknown(values: Iterable[Mapping[str, object]]) -> list[str]:
    """Return why some of these kernels' values, by their figures' keys, are None: a line for each figure that knows it."""
    rows = list(values)
    return [
        f"{figure.heading}: unknown for some kernels (-), because {figure.unknown}"
        for figure in FIGURES
        if figure.unknown and any(figure.key in row and row[figure.key] is None for row in rows)
    ]


def figure_words(kernel: Measured) -> str:
    """Return the stated figures in words, ``SIMD32, 128 GRFs available, no spill``; what is not known is left out."""
    return ", ".join(words for figure in STATED if (words := figure.phrase(figure.read(kernel))))
