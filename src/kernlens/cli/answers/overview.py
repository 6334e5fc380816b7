"""The overview of a file: its containers, programs, kernels and symbols, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kernlens.analysis.cxx_names import kernel_title
from kernlens.errors import FormatError
from kernlens.model.binary import Container
from kernlens.model.containers import CONTAINERS
from kernlens.model.figure import Figure
from kernlens.model.figures import (
    WITHOUT_LAUNCH,
    figures_of,
    has_unknown_launch,
    largest_first,
    notes_on_unknown,
    shown_figures,
    with_order,
)
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.describe import MOST_FUNCTIONS, device_words, plural
from kernlens.report.launch_words import launch_lines
from kernlens.report.style import fitting_width, style
from kernlens.report.table import Cell, table
from kernlens.report.width import Name, one_line

#: The characters of an offset and a size behind a title.
_BESIDE = 30
#: Kernel debug ELFs and archive members beyond this many are counted, not listed.
LISTED = 40


#: The beginning of a compressed offload bundle.
_PACKED = b"CCOB"
#: The lines of one program, and why it cannot be read, if so.
ProgramLines = tuple[list[str], FormatError | None]


def overview(
    path: str,
    containers: Iterable[Container],
    programs: Iterable[ProgramLines],
    summary: Iterable[str] = (),
    *,
    has_sections: bool = False,
) -> Iterator[str]:
    """Yield the lines that ``kernlens inspect`` prints: the lines of ``summary``, the kernels, then what they lie in.
    ``programs`` are from ``program_lines``."""
    yield style(path, bold=True)
    yield from summary
    unread: FormatError | None = None
    read = 0
    for lines, error in programs:
        yield ""
        yield from lines
        read += error is None
        unread = unread or error
    if unread is not None and not read:
        raise unread
    blank = [""] if read else []
    for container in containers:
        yield from blank
        yield from container_overview(container, has_sections=has_sections)
        blank = []


def program_lines(program: Program, order: Figure | None = None, *, has_bounds: bool = False) -> ProgramLines:
    """Return one program's overview; of one that cannot be read, a line with the reason."""
    try:
        return [*program_overview(program, order), *(_bound_lines(program) if has_bounds else ())], None
    except FormatError as error:
        return [f"{style(program.name, bold=True)}, {program.format}" + _unreadable(str(error))], error


def _bound_lines(program: Program) -> Iterator[str]:
    """Yield what bounds each kernel of a program, which is analysed for that."""
    from kernlens.analysis.kernel_bound import kernel_bound
    from kernlens.report.bound_words import bound_words

    for name, kernel in program.entry_kernels.items():
        yield style(f"  {kernel_title(name)}: {bound_words(kernel_bound(program, kernel))}", dim=True)


def program_overview(program: Program, order: Figure | None = None) -> Iterator[str]:
    """Yield one program: device, options, its kernels with resources, those with most of ``order`` first, its symbols
    that are not kernels."""
    name = style(program.name, bold=True)
    words = [name if program.format == "stages" else f"{name} on {device_words(program)}"]
    words.append(" ".join(filter(None, (program.format, program.format_version))))
    if title := program.build.toolchain_title:
        words.append(title)
    yield ", ".join(words)
    if program.build.options:
        yield f"  options: {program.build.options}"
    if program.image is not None:
        from kernlens.report.sycl_words import image_lines

        yield from image_lines(program.image)
    if program.format == "stages":
        yield f"  {', '.join(dict.fromkeys(snapshot.stage for snapshot in program.build.snapshots))}"
    if kernels := program.entry_kernels:
        if order is not None:
            kernels = {kernel.name: kernel for kernel in largest_first(kernels.values(), order)}
        columns = shown_figures(kernels.values(), with_order(order))
        figures = {name: figures_of(kernel, columns) for name, kernel in kernels.items()}
        yield from table(
            ("kernel", *(figure.heading for figure in columns), "lines"),
            [_row(kernel, columns, figures[name]) for name, kernel in kernels.items()],
        )
        yield from (style(f"  {note}", dim=True) for note in notes_on_unknown(figures.values()))
        unknown = [kernel for kernel in kernels.values() if has_unknown_launch(kernel)]
        if headings := {figure.heading for figure in columns if figure.grows_at_launch} if unknown else ():
            yield style(f"  {', '.join(sorted(headings))}: {WITHOUT_LAUNCH}", dim=True)
        titles = {kernel_title(name): kernel for name, kernel in kernels.items()}
        yield from (style(f"  {line}", dim=True) for line in launch_lines(titles))
        reasons = {kernel.line_table_reason for kernel in kernels.values()} - {None}
        yield from (style(f"  no lines: {reason}", fg="yellow") for reason in sorted(map(str, reasons)))
        warnings = [(name, kernel.line_warning) for name, kernel in kernels.items() if kernel.line_warning]
        yield from (style(f"  lines of {kernel_title(name)}: {warning}", fg="yellow") for name, warning in warnings)
    for name, kernel in program.kernels.items():
        own = kernel.function_symbols or {}
        if symbols := {offset: each for offset, each in own.items() if offset or name == PSEUDO_KERNEL}:
            yield f"  code of {kernel_title(name)} holds {plural(len(symbols), 'function')}: {_named(symbols)}"
    for name, kernel in program.kernels.items():
        if not kernel.is_entry:
            yield f"  function {kernel_title(name)}, no kernel: {kernel.code_size:,} bytes of code"
    if (functions := program.kernels.get(PSEUDO_KERNEL)) is not None:
        yield f"  functions that are no kernels: {functions.code_size:,} bytes of code"
    kinds = ("export", "import", "driver") if program.kernels else ("kernel", "export", "import")
    shown = [symbol for symbol in program.symbols if symbol.kind in kinds]
    if shown:
        yield from table(
            ("symbol", "kind", "type", "size", "section"),
            [
                (Name(kernel_title(symbol.name)), symbol.kind, symbol.type, symbol.size, symbol.section or "")
                for symbol in shown
            ],
        )


def _row(kernel: Kernel, columns: Sequence[Figure], values: Mapping[str, int | None]) -> Sequence[Cell]:
    cells = (figure.cell(values[figure.key]) for figure in columns)
    return [Name(kernel_title(kernel.name)), *cells, _has_lines(kernel)]


def _named(symbols: Mapping[int, str | None]) -> str:
    names = [kernel_title(name) if name else f"one at {offset:#06x}" for offset, name in sorted(symbols.items())]
    more = [f"{len(names) - MOST_FUNCTIONS:,} more"] if len(names) > MOST_FUNCTIONS else []
    return ", ".join([*names[:MOST_FUNCTIONS], *more])


def _has_lines(kernel: Kernel) -> str:
    if kernel.line_table_reason:
        return "no"
    return "in part" if kernel.line_warning else "yes"


def container_overview(container: Container, depth: int = 1, *, has_sections: bool = False) -> Iterator[str]:
    """Yield one container and those in it, a line for each; with their sections if asked."""
    column = min(60, (fitting_width() or 90) - _BESIDE)
    title = one_line(f"{CONTAINERS[container.kind].title} {container.name}".rstrip(), 2 * depth + _BESIDE)
    yield f"{'  ' * depth}{title:{max(1, column - 2 * depth)}} {container.offset:#10x} {container.size:12,} bytes" + (
        _unreadable(container.unreadable) if container.unreadable else ""
    )
    if container.kind == "clang-bundle" and bytes(container.content[: len(_PACKED)]) == _PACKED:
        yield style(f"{'  ' * (depth + 1)}compressed: offsets below are those of the unpacked bundle", dim=True)
    for section in container.sections if has_sections else ():
        if section.size:
            inner = "  " * (depth + 1) + one_line(f"section {section.name or section.index}", 2 * depth + 2 + _BESIDE)
            yield style(
                f"{inner:{max(1, column)}} {container.offset + section.offset:#10x} {section.size:12,} bytes", dim=True
            )
    for child in container.children[:LISTED]:
        yield from _part(child, depth + 1, has_sections=has_sections)
    if len(container.children) > LISTED:
        yield f"{'  ' * (depth + 1)}and {plural(len(container.children) - LISTED, 'more container')}"


def _part(container: Container, depth: int, *, has_sections: bool) -> Iterator[str]:
    """Yield one of several containers: if its parts cannot be listed, its line says why and the others follow."""
    try:
        yield from list(container_overview(container, depth, has_sections=has_sections))
    except FormatError as error:
        unread = Container("unknown", container.name, container.offset, container.content)
        unread.unreadable = str(error)
        yield from container_overview(unread, depth)


def _unreadable(reason: str) -> str:
    return style(f"  cannot be read: {reason}", fg="yellow")
