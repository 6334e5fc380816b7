"""Text listings: a kernel's instructions, and its source lines with the instructions they became."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, pairwise, repeat
from operator import is_

from kernlens.analysis.cxx_names import kernel_title
from kernlens.dataclass import NamedTuple
from kernlens.model.build import Source
from kernlens.model.figures import figure_words
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.line_code import NO_CODE, LineCode
from kernlens.model.listed_instructions import ListedInstructions, label
from kernlens.model.program import Program
from kernlens.model.source_map import (
    FROM_STAGE,
    IN_PROLOGUE,
    INHERITED,
    LINE_LOST,
    UNCERTAIN,
    SourceMap,
    SourcePlace,
    changes,
)
from kernlens.model.source_path import is_nameless
from kernlens.report.beside import Beside
from kernlens.report.describe import MOST_FUNCTIONS, function_name, kernel_heading, plural
from kernlens.report.loop_answer import LineCounts, trips_words
from kernlens.report.style import fitting_width, style

#: Source lines without code between two with code that are still printed; a longer gap is folded into one line.
GAP = 8

#: What is said of an instruction whose line is not simply the table's, by its origin.
REMARKS = {FROM_STAGE: "line from the compile stages", INHERITED: "its neighbour's line: the compiler gives it none"}

#: What is said of a single instruction that may have no line of its own.
_UNCERTAIN = "or of no line: the line table does not tell"

#: What is said of code that may not be what runs without debug data.
CHANGED_BY_DEBUG = (
    "built with -g: this compiler may generate other code than without it; -gline-tables-only gives lines and changes no"
    " code"
)

#: What stands above the source, behind the headings of a line's numbers.
_COUNTED = "instructions from the line, and % of the kernel's instructions"
#: Characters before the offset of an instruction below its line.
_MARGIN = 13

#: Source lines printed above the first line that has code.
LEAD = 2


def disassembly(
    program: Program,
    kernel: Kernel,
    besides: Sequence[Beside] = (),
    *,
    is_short: bool = False,
    phases: Mapping[int, Sequence[str]] | None = None,
) -> list[str]:
    """Return the kernel's instructions, one a line, under a heading; each function begins with its name, and what the
    compiler left among them is named. ``phases`` has the lines above others, by their first rows."""
    rows = _rows(kernel, ["  "] * len(kernel.instructions), _notes(kernel, besides), is_short=is_short)
    functions = {function.code.start: [function_name(function)] for function in kernel.functions[1:]}
    for row, (name, *more) in sorted((functions or phases or {}).items(), reverse=True):
        rows[row:row] = ["", style(f"  {name}:", bold=True), *(f"  {line}" for line in more)]
    if trailer := kernel.trailer:
        row = bisect_left(kernel.instructions.offsets, trailer.offset)
        rows[row:row] = [style(f"  {trailer.offset:#06x}  {trailer}: no instructions", dim=True)]
    return [*_heading(program, kernel, besides), *rows, ""]


def annotated(
    program: Program, kernel: Kernel, only: LineChoice | None = None, besides: Sequence[Beside] = ()
) -> list[str]:
    """Return the kernel's source with instruction counts, shares and instructions under each line.

    ``only``: just that line; ``besides``: what else stands beside lines and instructions. Without a line table, the reason
    and the bare instructions. On a terminal instructions are shortened.
    """
    source_map = kernel.source_map
    is_short = fitting_width() is not None
    if source_map is None:
        if only is not None and kernel.name == PSEUDO_KERNEL:
            return []
        from kernlens.report.phase_words import phase_headings

        reason = style(f"No source lines for {kernel_title(kernel.name)}: {kernel.line_table_reason}", fg="yellow")
        return [reason, *disassembly(program, kernel, besides, is_short=is_short, phases=phase_headings(kernel))]
    only = program.meant_line(only)
    listing = [] if only else _heading(program, kernel, besides)
    if only is None and _is_changed_by_debug(program):
        listing += [style(f"  {CHANGED_BY_DEBUG}", fg="yellow"), ""]
    if only is None and kernel.line_warning:
        listing += [style(f"  {kernel.line_warning}", fg="yellow"), ""]
    if only is None and source_map.inherited:
        listing += [f"  {_inherited_words(source_map)}", ""]
    if only is None:
        listing += uncertainty_lines(source_map)
    sources = {source.path: source for source in (*program.sources, *program.unread_sources)}
    if only is None and kernel.trip_weights is not None:
        listing += [*trips_words(kernel), ""]
    files, counts = _by_file(source_map), LineCounts(kernel)
    rows = _Rows(kernel, source_map, files, besides, is_short=is_short)
    for path, lines in files.items():
        if only is not None:
            lines = {line: runs for line, runs in lines.items() if only.holds(SourcePlace(path, line))}
            if not lines:
                continue
            listing += _heading(program, kernel, besides)
        _add_file(listing, rows, counts, path, lines, sources.get(path), besides)
    if only is None:
        _add_without_line(listing, rows, source_map)
    return listing


def _is_changed_by_debug(program: Program) -> bool:
    """Return whether the program was built with ``-g`` by a compiler that may then generate other code: of IGC 1, which
    writes patch tokens, 6 of 20 kernels; of IGC 2 none, whose ``-g`` appends a hash behind each kernel's end."""
    return program.format == "patch-tokens" and "-g" in (program.build.options or "").split()


def _heading(program: Program, kernel: Kernel, besides: Sequence[Beside]) -> list[str]:
    """Return the kernel's heading, with what else is to be said above all lines."""
    return [*heading(program, kernel)[:-1], *(line for beside in besides for line in beside.above()), ""]


def _notes(kernel: Kernel, besides: Sequence[Beside]) -> list[str]:
    """Return the notes behind each instruction."""
    notes = [""] * len(kernel.instructions)
    for beside in besides:
        for row, note in beside.rows():
            notes[row] += note
    return notes


def _rows(kernel: Kernel, margins: Sequence[str], ends: Sequence[str], *, is_short: bool = False) -> list[str]:
    """Return the lines of all instructions, or of shortened ones, behind their margins and before their ends."""
    from kernlens._decoder import rows

    before, after = style("\0", fg="cyan").split("\0")
    instructions = kernel.instructions
    offsets, texts = instructions.offsets, instructions.texts
    labels = [""] * len(offsets)
    if isinstance(instructions, ListedInstructions):
        labelled = set(instructions.targets)
        labels = [f"{label(offset)}: " if offset in labelled else "" for offset in offsets]
    if is_short:
        from kernlens.report.short_instructions import short_instructions

        texts = short_instructions(texts)
    return rows(
        0,
        len(offsets),
        (
            ("texts", margins), ("constant", before), ("offsets", offsets), ("constant", f"{after}  "),
            ("texts", labels), ("texts" if is_short else "stripped", texts), ("texts", ends),
        ),
    )  # fmt: skip


class _Rows:
    """The lines of a kernel's instructions, each with what else is known of it, in their places under ``files``."""

    def __init__(
        self,
        kernel: Kernel,
        source_map: SourceMap,
        files: Mapping[str, Mapping[int, _LineRuns]],
        besides: Sequence[Beside] = (),
        *,
        is_short: bool = False,
    ) -> None:
        margins, ends = [" " * _MARGIN] * len(source_map.offsets), _notes(kernel, besides)
        gap = f"{style('...'.rjust(_MARGIN - 1), dim=True)} "
        for lines in files.values():
            for _, runs in lines.values():
                for run in runs[1:]:  # It is scheduled elsewhere than the run before.
                    margins[run.start] = gap
        for stretch, remark in _remarks(source_map):
            ends[stretch.start : stretch.stop] = [end + remark for end in ends[stretch.start : stretch.stop]]
        self._rows = _rows(kernel, margins, ends, is_short=is_short)

    def __len__(self) -> int:
        return len(self._rows)

    def within(self, runs: Iterable[range]) -> Iterator[str]:
        """Return the lines of the instructions in these runs."""
        return chain.from_iterable([self._rows[run.start : run.stop] for run in runs])


def _remarks(source_map: SourceMap) -> Iterator[tuple[range, str]]:
    """Yield the remarks on instructions whose line is not simply the table's, each with its neighbours that share it."""
    if not source_map.offsets or not (source_map.table.inlined or source_map.stated):
        return
    stacks, inner = source_map.stacks, source_map.inner
    # In the file of the line that they are under, calls are named by their line alone.
    paths = [place.path if place else "" for place in source_map.places]
    origins = source_map.origins if source_map.stated else [""] * len(paths)
    known: dict[tuple[int, str, int, str], str] = {}
    for start, stop in pairwise([0, *changes(stacks, origins, inner, paths), len(paths)]):
        parts = stacks[start], origins[start], inner[start], paths[start]
        # Neighbours share stacks and inlined places.
        key = id(parts[0]), parts[1], id(parts[2]), parts[3]
        if key not in known:
            known[key] = _remark(*parts)
        if known[key]:
            yield range(start, stop), known[key]


def _add_without_line(listing: list[str], rows: _Rows, source_map: SourceMap) -> None:
    """Add the instructions that no line is held for, by the reason: the prologue, and of each function what is left."""
    reasons: dict[tuple[str, str | None], list[int]] = {}
    places = source_map.places
    for index in compress(range(len(places)), map(is_, places, repeat(None))):
        function = source_map.function_at(index)
        reasons.setdefault((source_map.origins[index], function.name if function else None), []).append(index)
    for (origin, name), indexes in reasons.items():
        words = f"{plural(len(indexes), 'instruction')} ({100 * len(indexes) / len(rows):.1f}%)"
        of = f" of {name}" if name else ""
        if origin == IN_PROLOGUE:
            listing.append(f"  prologue, {words}: loads the kernel's arguments and sets the thread up")
        elif origin == LINE_LOST:
            listing.append(f"  {words}{of} whose line rows the compiler lost:")
        else:
            listing.append(f"  {words}{of} without a source line:")
        listing += rows.within(range(index, index + 1) for index in indexes)
        listing.append("")


def heading(program: Program, kernel: Kernel) -> list[str]:
    """Return the kernel's name and device, and its figures in words."""
    size = f"{plural(len(kernel.instructions), 'instruction')} in {kernel.code_size:,} bytes"
    words = figure_words(kernel)
    lines = [style(kernel_heading(program, kernel), bold=True), f"  {words}, {size}" if words else f"  {size}"]
    if functions := [function for function in kernel.functions[1:] if function.name != kernel.name]:
        shown = [
            f"{function_name(function)} ({function.offset:#06x}, {plural(len(function.code), 'instruction')})"
            for function in functions[:MOST_FUNCTIONS]
        ]
        more = [f"{len(functions) - MOST_FUNCTIONS:,} more"] if len(functions) > MOST_FUNCTIONS else []
        words = "spliced part" if functions[0].is_spliced else "function"
        lines.append(f"  its code holds {plural(len(functions), words)}: {', '.join([*shown, *more])}")
    if kernel.instructions.warning:
        lines.append(style(f"  {kernel.instructions.warning}", fg="yellow"))
    return [*lines, *_outside_words(program, kernel), ""]


def _outside_words(program: Program, kernel: Kernel) -> Iterator[str]:
    """Yield a sentence if the kernel calls functions whose code is not its own, by their symbols where these are known."""
    instructions = kernel.instructions
    if not isinstance(instructions, ListedInstructions) or not instructions.outside_calls:
        return
    functions = {symbol.value: symbol.name for symbol in program.symbols if symbol.type == "func" and symbol.section}
    start = next((value for value, name in functions.items() if name == kernel.name), None)
    names = [
        None if offset is None or start is None else functions.get(start + offset)
        for offset in instructions.outside_calls
    ]
    shown = [kernel_title(name) for name in names if name][:MOST_FUNCTIONS]
    called = ", ".join([*shown, *(["code elsewhere"] if len(shown) < len(names) else [])])
    yield f"  calls {called}: instructions of functions outside the kernel's own code are not included"


class _LineRuns(NamedTuple):
    """The instructions under a line: its ``own`` ones, and all runs in order, those that inherit it too."""

    own: LineCode
    runs: Sequence[range]


def _by_file(source_map: SourceMap) -> dict[str, dict[int, _LineRuns]]:
    """Return the runs by path, then by line; the file with the most instructions first, its lines ascending."""
    files: dict[str, dict[int, _LineRuns]] = {}
    own, inherited = source_map.lines, source_map.inherited
    for key in dict.fromkeys((*own, *inherited)):
        code = own.get(key, NO_CODE)
        every = _joined((*code, *inherited[key])) if key in inherited else code.runs
        path, line = key
        files.setdefault(path, {})[line] = _LineRuns(code, every)
    counts = {path: sum(runs.own.count for runs in lines.values()) for path, lines in files.items()}
    by_weight = sorted(files, key=lambda path: (-counts[path], path))
    return {path: dict(sorted(files[path].items())) for path in by_weight}


def _joined(runs: Sequence[range]) -> list[range]:
    """Return runs in order, neighbours as one."""
    joined: list[range] = []
    for run in sorted(runs, key=lambda run: run.start):
        if joined and joined[-1].stop == run.start:
            joined[-1] = range(joined[-1].start, run.stop)
        else:
            joined.append(run)
    return joined


def uncertainty_lines(source_map: SourceMap, width: int | None = None) -> list[str]:
    """Return the lines that say how many instructions are certain, and a blank one; none if all are."""
    if source_map.uncertainty is None:
        return []
    sentence = f"  {source_map.uncertainty}"
    limit = min((each for each in (fitting_width(), width) if each is not None), default=len(sentence))
    if limit >= len(sentence):
        return [sentence, ""]
    from textwrap import wrap

    return [*wrap(sentence, limit, subsequent_indent="  "), ""]


def _inherited_words(source_map: SourceMap) -> str:
    count = sum(len(run) for runs in source_map.inherited.values() for run in runs)
    words = f"{plural(count, 'instruction')} ({100 * count / len(source_map.offsets):.1f}%)"
    return f"{words} stand under their neighbour's line, as the compiler gave them none, and count for no line"


def _add_file(
    listing: list[str],
    rows: _Rows,
    counts: LineCounts,
    path: str,
    lines: dict[int, _LineRuns],
    source: Source | None,
    besides: Sequence[Beside],
) -> None:
    """Add a file's lines of source, each with the ``rows`` of its instructions below it."""
    text = source.text.split("\n") if source and not source.unread else []
    remedy = "--source FILE gives it" if is_nameless(path) else "--source-root DIR says where to look"
    note = "" if source else f"  (source text not found; {remedy})"
    if source and source.unread:
        note = f"  (source text not read: {source.unread})"
    listing.append(f"  {style(path, fg='green')}{note}")
    columns = [beside for beside in besides if beside.heading]
    headings = " ".join([counts.heading, *(beside.heading for beside in columns)])
    meanings = "; ".join([_COUNTED, *(beside.meaning for beside in columns)])
    listing.append(style(f"  {'line':>6} {headings} | {meanings}", dim=True))
    previous = next(iter(lines)) - LEAD - 1
    for line, (own, runs) in lines.items():
        listing += _between(text, max(previous, 0), line, " " * len(headings))
        cells = " ".join([counts.of(own), *(beside.of_line(path, line) for beside in columns)])
        listing.append(_source_line(text, line, cells))
        listing += (f"{' ' * _MARGIN}{words}" for beside in besides for words in beside.below(path, line))
        listing += rows.within(runs)
        previous = line
    listing.append("")


def _between(text: list[str], previous: int, line: int, blank: str) -> Iterator[str]:
    """Yield the source lines after ``previous`` and before ``line``, which have no code, behind a ``blank``."""
    gap = range(previous + 1, line)
    if len(gap) > GAP:
        yield style(f"  {'...':>6} {blank} {plural(len(gap), 'line')} without code", dim=True)
        return
    for number in gap:
        if number <= len(text):
            yield _source_line(text, number, blank)


def _source_line(text: list[str], line: int, counts: str) -> str:
    code = text[line - 1].rstrip().expandtabs(4) if line <= len(text) else ""
    return f"  {line:6} {style(counts, fg='yellow')} | {style(code, bold=counts.strip() != '')}"


def where_from(kernel: Kernel, index: int) -> str:
    """Return which source place an instruction came from and how sure that is, or why that is not known."""
    source_map = kernel.source_map
    if source_map is None:
        return kernel.line_table_reason or "no source line"
    place, origin = source_map.place(index), source_map.origin(index)
    function = source_map.function_at(index)
    within = f" of {function.name}" if function and function.name else ""
    if place is not None:
        words = {**REMARKS, UNCERTAIN: _UNCERTAIN}
        remark = f" ({words[origin]})" if origin in words else ""
        return f"{place.path}:{place.line}:{place.column}{remark}"
    if origin == IN_PROLOGUE:
        return "prologue: loads the kernel's arguments and sets the thread up"
    if origin == LINE_LOST:
        return f"no source line: the compiler lost the line rows{within} here"
    return f"no source line{within}"


def _remark(stack: Sequence[SourcePlace], origin: str, inner: Sequence[SourcePlace], path: str) -> str:
    remarks = []
    if inner:
        name = inner[0].path.rsplit("/", 1)[-1]
        remarks.append(f"of {name}:{inner[0].line}, inlined here")
    if stack:
        calls = (f"{call.line}" if call.path == path else f"{call.path}:{call.line}" for call in stack)
        remarks.append(f"inlined at {', '.join(calls)}")
    if origin in REMARKS:
        remarks.append(REMARKS[origin])
    return style(f"  ; {'; '.join(remarks)}", dim=True) if remarks else ""
