"""``kernlens.annotate``: source lines with the instructions that they became, as text, as tables, and in notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from kernlens.analysis.cxx_names import kernel_title
from kernlens.dataclass import dataclass, in_short
from kernlens.errors import NotFoundError
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.model.columns import Cell, Table, Tabular
from kernlens.model.failed_builds import FailedBuilds
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.toolchain.sources.includes import join_options
from kernlens.verbs.check import PathName, answers_at, failed_in, programs_in, whole_in
from kernlens.verbs.programs import check_any, select

#: The most kernels that a notebook shows.
_SHOWN = 20
_LINES = {
    **{"program": str, "device": str, "kernel": str, "path": str, "line": int, "source": str},
    **{"certain": int, "inherited": int},
}
_INSTRUCTIONS = {
    **{"program": str, "device": str, "kernel": str, "offset": int, "size": int, "opcode": str, "text": str},
    **{"path": str, "line": int, "column": int, "line_origin": str},
}


@dataclass(frozen=True)
class Annotation(Tabular):
    """Kernels with their source lines: ``kernels`` are those that were asked for, each with its program. As text (``str``) it
    is what ``kernlens annotate`` prints; ``table`` and ``lines`` have a row for each source line. ``failed`` are the
    builds that gave no binary, path by path."""

    kernels: tuple[tuple[Program, Kernel], ...]
    failed: tuple[FailedBuilds, ...] = ()

    def __repr__(self) -> str:
        return in_short(f"<Annotation of {', '.join(kernel.name for _, kernel in self.kernels)}>")

    def __str__(self) -> str:
        from kernlens.report.failure_lines import failed_lines
        from kernlens.report.style import rendered_lines

        lines = [line for program, kernel in self.kernels for line in _listing(program, kernel)]
        return "\n".join(rendered_lines([*lines, *failed_lines(self.failed)]))

    def _repr_html_(self) -> str:
        from kernlens.model.notebook import preformatted
        from kernlens.report.style import html_line

        parts = []
        for program, kernel in self.kernels[:_SHOWN]:
            lines = "\n".join(map(html_line, _listing(program, kernel)))
            name = html_line(kernel_title(kernel.name))
            parts.append(f"<details open><summary>{name}</summary>{preformatted(lines)}</details>")
        more = len(self.kernels) - len(parts)
        notes = [f"<p>{html_line(group.sentence)}</p>" for group in self.failed]
        return "".join([*parts, f"<p>and {more:,} more kernels</p>" if more else "", *notes])

    @property
    def table(self) -> Table:
        """The same as ``lines``."""
        return self.lines

    @cached_property
    def lines(self) -> Table:
        """A row for each source line that has instructions, in the order of the files: its text, its costs by the keys of
        ``figures.COSTS``, the number of its ``instructions``, of those that are certainly its own (``certain``), and of those
        that only stand under it (``inherited``)."""
        from kernlens.model.figures import COSTS

        kinds = {**_LINES, "instructions": int, **dict.fromkeys((cost.key for cost in COSTS), int)}
        return Table.of_rows(kinds, (row for program, kernel in self.kernels for row in _line_rows(program, kernel)))

    @cached_property
    def instructions(self) -> Table:
        """A row for each instruction with its source place, as ``kernlens annotate --format csv`` has it."""
        rows = (row for program, kernel in self.kernels for row in _instruction_rows(program, kernel))
        return Table.of_rows(_INSTRUCTIONS, rows)


def annotate(
    paths: PathName | Program | Sequence[PathName | Program],
    *,
    kernel: str | Sequence[str] = (),
    device: str | Sequence[str] = (),
    toolchain: str | Sequence[str] = (),
    options: str | Sequence[str] = "",
    source_roots: Sequence[str] = (),
) -> Annotation:
    """Return kernels with the instructions that each source line became.

    ``paths`` are Programs, what holds machine code, or sources, which are compiled for each ``device`` by each ``toolchain``
    with ``options``. ``kernel`` are names or patterns of the kernels; none: all. ``source_roots`` are folders to look for
    source files in.

    Raises KernlensError: NotFoundError if there is no kernel, UnknownKernelError for a name that fits none, UnsupportedError
    where no libiga64 knows the device, ToolError if none of the sources compiles.
    """
    words = [[value] if isinstance(value, str) else list(value) for value in (kernel, device, toolchain)]
    answers, _ = answers_at(paths, words[1], words[2], join_options(options), source_roots)
    check_any(answers)
    selection = select(programs_in(answers), words[0], whole=whole_in(answers))
    if not selection:
        raise NotFoundError("there is no kernel to annotate")
    decode_kernels(selection, texts=True)
    places = tuple((program, each) for program, kernels in selection for each in kernels)
    return Annotation(places, failed_in(answers))


def _listing(program: Program, kernel: Kernel) -> list[str]:
    from kernlens.report.listing import annotated

    return annotated(program, kernel)


def _names(program: Program, kernel: Kernel) -> tuple[Cell, ...]:
    return program.name, program.device.name if program.device else None, kernel.name


def _line_rows(program: Program, kernel: Kernel) -> Iterator[tuple[Cell, ...]]:
    from kernlens.analysis.costs import costs_of
    from kernlens.analysis.line_texts import source_line

    if kernel.source_map is None:
        return
    texts, kinds, inherited = program.source_lines, kernel.instructions.kinds, kernel.source_map.inherited
    for (path, line), code in sorted(kernel.source_map.lines.items()):
        costs = costs_of(kind for run in code for kind in kinds[run.start : run.stop])
        under = sum(map(len, inherited.get((path, line), ())))
        values = (cost if key in kernel.costs else None for key, cost in costs.items())
        yield *_names(program, kernel), path, line, source_line(texts, path, line), code.certain, under, *values


def _instruction_rows(program: Program, kernel: Kernel) -> Iterator[tuple[Cell, ...]]:
    names, source_map, code = _names(program, kernel), kernel.source_map, kernel.instructions
    parts = zip(code.offsets, code.sizes, code.opcodes, code.texts, strict=True)
    for index, instruction in enumerate(parts):
        place = source_map.place(index) if source_map else None
        where = (place.path, place.line, place.column or None) if place else (None, None, None)
        yield *names, *instruction, *where, source_map.origin(index) if source_map else None
