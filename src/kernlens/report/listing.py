"""Text listings: a kernel's instructions, and its source lines with the instructions they became."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kernlens.analysis.cxx_names import readable
from kernlens.model.build import Source
from kernlens.model.figures import figure_words
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Program
from kernlens.model.source_map import SourceMap, SourcePlace
from kernlens.report.describe import kernel_heading, plural
from kernlens.report.style import style

#: Source lines without code between two with code that are still printed; a longer gap is folded into one line.
GAP = 8

#: Source lines printed above the first line that has code.
LEAD = 2


def disassembly(program: Program, kernel: Kernel) -> Iterator[str]:
    """The kernel's instructions, one a line, under a heading."""
    yield from _heading(program, kernel)
    line = f"  {style('%#06x', fg='cyan')}  %s"
    instructions = kernel.instructions
    for offset, text in zip(instructions.offsets, instructions.texts, strict=True):
        yield line % (offset, text.rstrip())
    yield ""


def annotated(program: Program, kernel: Kernel, only: LineChoice | None = None) -> Iterator[str]:
    """The kernel's source with instruction counts, shares and instructions under each line.

    ``only``: just that line. Without a line table, the reason and the bare instructions.
    """
    source_map = kernel.source_map
    if source_map is None:
        yield style(f"No source lines for {readable(kernel.name)}: {kernel.line_table_reason}", fg="yellow")
        yield from disassembly(program, kernel)
        return
    if only is None:
        yield from _heading(program, kernel)
    sources = {source.path: source for source in (*program.sources, *program.unread_sources)}
    for path, lines in _by_file(source_map).items():
        if only is not None:
            lines = {line: ranges for line, ranges in lines.items() if only.holds(SourcePlace(path, line))}
            if not lines:
                continue
            yield from _heading(program, kernel)
        yield from _file(kernel, source_map, path, lines, sources.get(path))
    unplaced = [index for index, place in enumerate(source_map.places) if place is None]
    if unplaced and only is None:
        yield f"  {plural(len(unplaced), 'instruction')} without a source line:"
        yield from _instructions(kernel, source_map, "", unplaced)
        yield ""


def _heading(program: Program, kernel: Kernel) -> Iterator[str]:
    yield style(kernel_heading(program, kernel), bold=True)
    size = f"{plural(len(kernel.instructions), 'instruction')} in {kernel.code_size:,} bytes"
    words = figure_words(kernel)
    yield f"  {words}, {size}" if words else f"  {size}"
    yield ""


def _by_file(source_map: SourceMap) -> dict[str, dict[int, tuple[range, ...]]]:
    """path -> line -> ranges; the file with the most instructions first, its lines ascending."""
    files: dict[str, dict[int, tuple[range, ...]]] = {}
    for (path, line), ranges in source_map.lines.items():
        files.setdefault(path, {})[line] = ranges
    by_weight = sorted(files, key=lambda path: (-sum(_count(ranges) for ranges in files[path].values()), path))
    return {path: dict(sorted(files[path].items())) for path in by_weight}


def _count(ranges: Sequence[range]) -> int:
    return sum(len(lines) for lines in ranges)


def _file(
    kernel: Kernel,
    source_map: SourceMap,
    path: str,
    lines: dict[int, tuple[range, ...]],
    source: Source | None,
) -> Iterator[str]:
    total = len(kernel.instructions)
    text = source.text.split("\n") if source and not source.unread else []
    note = "" if source else "  (source text not found; --source-root DIR says where to look)"
    if source and source.unread:
        note = f"  (source text not read: {source.unread})"
    yield f"  {style(path, fg='green')}{note}"
    previous = next(iter(lines)) - LEAD - 1
    for line, ranges in lines.items():
        yield from _between(text, max(previous, 0), line)
        count = _count(ranges)
        yield _source_line(text, line, f"{count:5} {100 * count / total:5.1f}%")
        for position, one in enumerate(ranges):
            if position:
                yield style("                     ...", dim=True)
            yield from _instructions(kernel, source_map, path, one)
        previous = line
    yield ""


def _between(text: list[str], previous: int, line: int) -> Iterator[str]:
    """The source lines after ``previous`` and before ``line``, which have no code."""
    gap = range(previous + 1, line)
    if len(gap) > GAP:
        yield style(f"  {'...':>6} {'':12} {plural(len(gap), 'line')} without code", dim=True)
        return
    for number in gap:
        if number <= len(text):
            yield _source_line(text, number, " " * 12)


def _source_line(text: list[str], line: int, counts: str) -> str:
    code = text[line - 1].rstrip().expandtabs(4) if line <= len(text) else ""
    return f"  {line:6} {style(counts, fg='yellow')} | {style(code, bold=counts.strip() != '')}"


def _instructions(kernel: Kernel, source_map: SourceMap, path: str, indexes: Iterable[int]) -> Iterator[str]:
    """The instructions at ``indexes``, with what else is known of them; calls that stand in the file ``path`` are named by
    their line alone."""
    line = f"             {style('%#06x', fg='cyan')}  %s%s"
    offsets, texts, stacks = kernel.instructions.offsets, kernel.instructions.texts, source_map.stacks
    prologue = style("  ; prologue", dim=True)
    stack: tuple[SourcePlace, ...] = ()
    remark = ""
    for index in indexes:
        if stacks[index] is not stack:
            stack = stacks[index]
            remark = _inlined(stack, path)
        yield line % (offsets[index], texts[index].rstrip(), prologue if index < source_map.prologue else remark)


def _inlined(stack: Sequence[SourcePlace], path: str) -> str:
    if not stack:
        return ""
    calls = (f"{call.line}" if call.path == path else f"{call.path}:{call.line}" for call in stack)
    return style(f"  ; inlined at {', '.join(calls)}", dim=True)
