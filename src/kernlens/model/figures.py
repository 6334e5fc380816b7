"""Figures: what can be said of a kernel in one number each. The only list of them.

All tables, JSON documents, the viewer, the words above a listing and the table of ``docs/figures.md`` are made from
``FIGURES``: a new figure is one entry here (and, if a binary states it, a field of ``KernelResources``, or a key of its
mappings, which that format's reader fills). ``OF_FAMILIES`` are those that some vendors' binaries state: they stand beside the
others where a kernel has them. ``COSTS`` are figures of source lines too, ``PRESSURES`` those of the registers that
code needs. ``model`` computes nothing: what takes an analysis is read through a part of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, likeliest
from kernlens.model.figure import Figure, Measured, MeasuredKernel, as_name
from kernlens.model.launch_limits import MAX_WORK_GROUP

PEAK = "live_grfs"
#: The figures of ``WAITS`` that instructions, and so source lines, have too.
WAIT = "wait"  # As an order of lines.
WAIT_SHARE = "wait_share"
#: The unit of shares.
PERCENT = "%"
CYCLES = ISSUE_CYCLES, WAIT_CYCLES = ("issue_cycles", "wait_cycles")


# fmt: off
FIGURES = (
    Figure(
        key="simd", heading="SIMD", unit="channels",
        meaning="the compiled width: work-items that a hardware thread executes together",
        origin="zebin: `simd_size`; patch tokens: execution environment",
        read=attrgetter("resources.simd"), words="SIMD{}", more_is_better=True, caused_by=(PEAK,), akin=("wave_size",),
    ),
    Figure(
        key="grf_count", heading="GRF count", unit="registers per hardware thread",
        meaning="size of the register file (GRF mode): general registers that the compiler may use, whether it does or not",
        origin="zebin: `grf_count`; patch tokens: execution environment",
        read=attrgetter("resources.grf_count"), words="{} GRF(s) available", caused_by=(PEAK,), former=("registers",),
        akin=("vgprs", "sgprs", "agprs", "thread_registers"),
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
        former=("spill_bytes", "spill"), akin=("vgpr_spills", "sgpr_spills"),
    ),
    Figure(
        key="scratch_bytes", heading="scratch", unit="bytes per hardware thread",
        meaning="all scratch space: spilled values, private memory, stack frames",
        origin="zebin: the sum of the scratch buffers; patch tokens: scratch slots, which are rounded up to a power of two",
        read=attrgetter("resources.scratch_bytes"), words="{} byte(s) scratch",
        caused_by=("scratch_store_bytes", "scratch_load_bytes"), akin=("private_segment_bytes", "stack_bytes"),
    ),
    Figure(
        key="slm_bytes", heading="SLM", unit="bytes per work-group",
        meaning="shared local memory that the kernel declares itself",
        origin="zebin: `slm_size`; patch tokens: local surface", akin=("lds_bytes", "shared_bytes"),
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
        meaning="machine instructions", origin="counted in the machine code",
        read=attrgetter("instruction_count"), needs_decoding=True, caused_by=("instructions",),
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


def _of_family(key: str, heading: str, unit: str, meaning: str, origin: str, words: str, **more: Any) -> Figure:
    """Return a figure that some binaries state, by its key among ``KernelResources.stated``."""
    return Figure(
        key=key,
        heading=heading,
        unit=unit,
        meaning=meaning,
        origin=origin,
        read=lambda kernel: kernel.resources.stated.get(key),
        words=words,
        **more,
    )


def _file(key: str, name: str, unit: str, meaning: str, origin: str, words: str) -> Figure:
    """Return the number of registers of a file."""
    read = lambda kernel: kernel.resources.register_files.get(name)  # noqa: E731
    return Figure(
        key, words.removeprefix("{} ").replace("(s)", "s"), unit, meaning, origin, read, words, caused_by=(PEAK,)
    )


def _spilled(key: str, name: str, origin: str) -> Figure:
    """Return the number of registers of a file that were spilled: their bytes are not stated, and not counted here."""
    read = lambda kernel: kernel.resources.spilled_registers.get(name)  # noqa: E731
    words = f"spills {{}} {name}(s)"
    return Figure(
        key, f"{name} spills", "registers", f"registers of the file {name} that were spilled", origin, read, words
    )


# fmt: off
_METADATA = "AMD's code object metadata"
#: What some vendors' binaries state. A table shows one where a kernel of it has it.
OF_FAMILIES = (
    _file(
        "vgprs", "VGPR", "registers per work-item", "vector registers that a wavefront takes for each work-item",
        f"{_METADATA}: `.vgpr_count`", "{} VGPR(s)",
    ),
    _file(
        "sgprs", "SGPR", "registers per wavefront", "scalar registers that a wavefront takes",
        f"{_METADATA}: `.sgpr_count`", "{} SGPR(s)",
    ),
    _file(
        "agprs", "AGPR", "registers per work-item", "accumulation registers that a wavefront takes for each work-item",
        f"{_METADATA}: `.agpr_count`", "{} AGPR(s)",
    ),
    _spilled("vgpr_spills", "VGPR", f"{_METADATA}: `.vgpr_spill_count`"),
    _spilled("sgpr_spills", "SGPR", f"{_METADATA}: `.sgpr_spill_count`"),
    _file(
        "thread_registers", "registers", "registers per thread", "registers that each thread takes",
        "NVIDIA's cubin: `EIATTR_REGCOUNT`", "{} register(s) per thread",
    ),
    _of_family(
        "lds_bytes", "LDS", "bytes per work-group", "local data share that the kernel declares itself",
        f"{_METADATA}: `.group_segment_fixed_size`", "{} byte(s) LDS",
    ),
    _of_family(
        "shared_bytes", "shared memory", "bytes per work-group", "shared memory that a kernel declares, not what launches add",
        "NVIDIA's cubin: the size of `.nv.shared.NAME`", "{} byte(s) shared memory",
    ),
    _of_family(
        "private_segment_bytes", "private segment", "bytes per work-item", "spilled values, private memory, stack frames",
        f"{_METADATA}: `.private_segment_fixed_size`", "{} byte(s) private segment",
    ),
    _of_family(
        "stack_bytes", "stack", "bytes per thread", "the stack frame of the kernel",
        "NVIDIA's cubin: `EIATTR_FRAME_SIZE`", "{} byte(s) stack",
    ),
    _of_family(
        "wave_size", "wave size", "work-items", "work-items that execute together: a wavefront",
        f"{_METADATA}: `.wavefront_size`", "wave{}", more_is_better=True,
    ),
    _of_family(
        "occupancy", "occupancy", "wavefronts per SIMD", "the most wavefronts that fit beside one another",
        "the compiler's own statement", "occupancy {}", more_is_better=True,
    ),
    Figure(
        MAX_WORK_GROUP, "largest work-group", "work-items", "work-items of the largest work-group that it may be launched in",
        f"Intel: by the driver's rules, from SIMD and GRF count; {_METADATA}: `.max_flat_workgroup_size`; NVIDIA's cubin:"
        " `EIATTR_MAX_THREADS`", attrgetter("launch_limits.max_work_group"), more_is_better=True,
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
        read=lambda kernel: kernel.costs.get(key),
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
        "messages with a dynamic descriptor, which is computed at run time, and other vendors' memory instructions whose bytes"
        " the code does not tell: no sum has their bytes",
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
EVERY_FIGURE = (*FIGURES, *OF_FAMILIES, *PRESSURES, *WAITS, *COSTS)


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


def own_figures(kernel: Measured) -> tuple[Figure, ...]:
    """Return the figures of ``OF_FAMILIES`` that the kernel's binary states; nothing is decoded."""
    if not kernel.resources.is_particular:
        return ()
    return tuple(figure for figure in OF_FAMILIES if figure.read(kernel) is not None)


def shown_figures(kernels: Iterable[Measured], figures: Sequence[Figure] = STATED) -> tuple[Figure, ...]:
    """Return the columns of a table of these kernels: ``figures``, and behind them what else a kernel's binary states. If
    all kernels state such, or neither a width nor registers, those of ``STATED`` that none of them has are left out."""
    kernels = list(kernels)
    own = {figure.key for kernel in kernels for figure in own_figures(kernel)}
    are_all = bool(kernels) and all(kernel.resources.has_no_grf for kernel in kernels)
    shown = [
        figure
        for figure in figures
        if not are_all or figure not in STATED or any(figure.read(kernel) is not None for kernel in kernels)
    ]
    return (*shown, *(figure for figure in OF_FAMILIES if figure.key in own and figure not in shown))


def notes_on_unknown(values: Iterable[Mapping[str, object]]) -> list[str]:
    """Return why some of these kernels' values, by their figures' keys, are None: a line for each figure that knows it."""
    own = [figure.key for figure in OF_FAMILIES]  # What a family does not have is not unknown.
    rows = [row for row in values if row.get("scratch_bytes", 0) is not None and not any(map(row.get, own))]
    return [
        f"{figure.heading}: unknown for some kernels (-), because {figure.unknown}"
        for figure in FIGURES
        if figure.unknown and any(figure.key in row and row[figure.key] is None for row in rows)
    ]


def figure_words(kernel: Measured) -> str:
    """Return the stated figures in words, ``SIMD32, 128 GRFs available, no spill``; what is not known is left out."""
    figures = (*STATED, *own_figures(kernel))
    return ", ".join(words for figure in figures if (words := figure.phrase(figure.read(kernel))))
