"""Text of a comparison: what only one side has, the changed figures, the changed lines and instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kernlens.analysis.comparison.behaviour_changes import BehaviourChange, ObservedLineChange
from kernlens.analysis.comparison.kernel_changes import FigureChange, KernelChange
from kernlens.analysis.comparison.line_changes import (
    NEIGHBOURS,
    OPERANDS,
    OTHER_WAITS,
    PROLOGUE,
    WITHOUT_LINE,
    LineChange,
    instruction_pairs,
)
from kernlens.analysis.comparison.pairs import KernelPair, Pairing, Unpaired
from kernlens.analysis.comparison.source_lines import LineKey, SourceLines
from kernlens.analysis.comparison.stage_partings import Parting
from kernlens.model.figures import EVERY_FIGURE, figure_words, notes_on_unknown
from kernlens.model.instruction import Instructions
from kernlens.model.program import Program
from kernlens.model.trial import Trial
from kernlens.report.behaviour_words import COUNTED
from kernlens.report.bound_words import bounds_words
from kernlens.report.describe import device_words, kernel_words, plural
from kernlens.report.diff.phase_changes import phase_table
from kernlens.report.program_titles import program_titles
from kernlens.report.style import style
from kernlens.report.table import table

#: Lines whose behaviour differs that are listed.
_MOST_OBSERVED = 12
#: Unchanged instructions that are shown around changed ones.
_CONTEXT = 3
_WITHOUT_LINE = {
    PROLOGUE: "prologue",
    NEIGHBOURS: "instructions under a neighbour's line: the compiler gave them none",
    OTHER_WAITS: "sync and nop of the other lines",
}
#: What is said once of lines whose instructions are not all certain.
_CERTAIN = (
    "  certain: as many of a line's instructions; the others may be of no line, which the line table does not tell"
)
#: Over the changed lines; of what only waits, ``sync`` has how many more the new side has.
_COLUMNS = "      old    new      -      +   sync  instructions"
#: The same where no instruction only waits.
_WITHOUT_SYNC = "      old    new      -      +  instructions"
#: The same where the sides are two instruction sets, of which no instruction is in both.
_COUNTS = "      old    new  instructions"


def summary(
    old: str, new: str, pairing: Pairing, changes: Sequence[KernelChange], most: int | None = None
) -> Iterator[str]:
    """Yield the lines on what was compared, and how much of it differs; of what only one side has ``most`` are named."""
    yield style(f"- {old}", fg="red")
    yield style(f"+ {new}", fg="green")
    count = plural(len(pairing.kernels), "kernel")
    yield (
        f"  {count} compared, {len(changes):,} differ{'s' if len(changes) == 1 else ''}"
        if changes
        else (f"  {count} compared, all equal" if pairing.kernels else "  no kernel is in both")
    )
    yield from unpaired_lines(pairing, most)
    yield from renamed_lines(pairing)


def unpaired_lines(pairing: Pairing, most: int | None) -> Iterator[str]:
    """Yield what only one side has, of each at most ``most``."""
    for mark, unpaired in (("-", pairing.only_old), ("+", pairing.only_new)):
        colour = "red" if mark == "-" else "green"
        for entry in unpaired[:most]:
            yield style(f"{mark} only here: {_whose(entry)}", fg=colour)
        if most is not None and len(unpaired) > most:
            yield style(f"{mark} only here: {len(unpaired) - most:,} more", fg=colour)


def renamed_lines(pairing: Pairing) -> Iterator[str]:
    """Yield the kernels that have another name now, and how they were found."""
    for each in pairing.renamed:
        yield style(f"  renamed: {pair_words(each)}, found by {each.paired_by}  {_programs(each)}", fg="yellow")


def pair_words(pair: KernelPair) -> str:
    """Return the name of a pair's kernel; both if they differ."""
    old, new = kernel_words(pair.old), kernel_words(pair.new)
    return new if old == new else f"{old} -> {new}"


def _whose(entry: Unpaired) -> str:
    program = f"{entry.program.name} on {device_words(entry.program)}"
    if entry.kernel is None:
        return program
    figures = figure_words(entry.kernel)
    words = f"{figures}, " if figures else ""
    return f"{kernel_words(entry.kernel)}  {program}: {words}{entry.kernel.code_size:,} bytes of code"


def figure_rows(changes: Sequence[KernelChange]) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of a table of kernels, whose columns are the figures that changed anywhere."""
    figures = [figure for figure in EVERY_FIGURE if any(change.change_of(figure) for change in changes)]
    programs = {id(change.pair.new_program): change.pair.new_program for change in changes}
    names, titles = Counter(program.name for program in programs.values()), program_titles(programs.values())
    rows = [
        [
            pair_words(change.pair),
            change.pair.new_program.name
            if names[change.pair.new_program.name] == 1
            else titles[id(change.pair.new_program)],
            *(_figure_cell(change.change_of(figure)) for figure in figures),
        ]
        for change in changes
    ]
    return ["kernel", "program", *(figure.heading for figure in figures)], rows


def figure_table(changes: Sequence[KernelChange]) -> Iterator[str]:
    """Yield the table of the kernels whose figures changed, a row for each, with the figures that changed anywhere."""
    changed = [change for change in changes if change.figures]
    if not changed:
        return
    yield ""
    yield from table(*figure_rows(changed))
    known = [
        {
            figure_change.figure.key: None if None in (figure_change.old, figure_change.new) else 0
            for figure_change in change.figures
        }
        for change in changed
    ]
    yield from (style(f"  {note}", dim=True) for note in notes_on_unknown(known))


def _figure_cell(change: FigureChange | None) -> str:
    if change is None:
        return "="
    old, new = ("-" if value is None else f"{value:,}" for value in (change.old, change.new))
    return f"{old} -> {new}"


def figure_changes(change: KernelChange) -> str:
    """Return the figures that changed, with their values on both sides."""
    return ", ".join(f"{each.figure.heading} {_figure_cell(each)}" for each in change.figures)


def kernel_lines(
    change: KernelChange, *, parting: Parting | None = None, has_instructions: bool = False
) -> Iterator[str]:
    """Yield a changed kernel: its figures, where its compiles part, its changed lines, and if wanted their instructions."""
    yield ""
    yield style(f"{pair_words(change.pair)}  {_programs(change.pair)}", bold=True)
    yield from behaviour_lines(change.behaviour)
    if change.figures:
        yield f"  {figure_changes(change)}"
    if change.launches is not None:
        yield f"  {_launch_words(change.launches)}"
    yield from _own_figures(change)
    if not change.has_code:
        yield "  there is no machine code of both sides: what they did on data is all that is compared"
        return
    if parting is not None:
        yield f"  {parting_words(parting)}"
    if change.is_same_code:
        yield "  the instructions are the same, registers' names aside"
        return
    if all(line.key == OTHER_WAITS for line in change.lines):
        yield "  the same instructions on every line, in another order or on other registers"
    if not change.has_lines:
        reasons = {kernel.line_table_reason for kernel in (change.pair.old, change.pair.new)} - {None}
        yield style(f"  no source lines: {'; '.join(sorted(map(str, reasons)))}", fg="yellow")
        yield from phase_table(change.pair.old, change.pair.new)
    yield from _edited(change)
    if not all(line.is_certain for line in change.lines):
        yield style(_CERTAIN, dim=True)
    has_sync = change.pair.has_sync or any(line.old_waits or line.new_waits for line in change.lines)
    shown = _COUNTS if change.pair.has_two_isas else _COLUMNS if has_sync else _WITHOUT_SYNC
    path, columns = None, style(shown, dim=True)
    for line in change.lines:
        if line.key in WITHOUT_LINE:
            if path is None:
                path = ""
                yield columns
        elif line.key.path != path:
            path = line.key.path
            yield f"  {style(path, fg='green')}"
            yield columns
        yield _line(line, change.sources, has_counts_only=change.pair.has_two_isas, has_sync=has_sync)
        if has_instructions:
            yield from _instructions(change, line)


def _launch_words(trial: Trial) -> str:
    """Return which side's launches cost more, if their work-items make the same results, or why that is not known."""
    assert trial.after is not None
    items = f"launches of {plural(trial.after.items or 1, 'work-item')}, before {trial.before.items or 1:,}"
    figure = "instructions" if trial.before.cycles is None else "cycles"
    ratio = trial.ratio(figure)
    if trial.is_undecided or ratio is None:
        return f"{items}: {trial.difference or f'{figure} are not known'}"
    times = f"{1 / ratio:.2f} times fewer" if 0 < ratio <= 1 else f"{ratio:.2f} times more"
    return f"{items}: {times} {figure}, each loop once, if both make the same results"


def behaviour_lines(change: BehaviourChange | None) -> Iterator[str]:
    """Yield what a kernel does otherwise on data, as an interpreter counted it, or why that is not known."""
    if change is None:
        return
    faults = [*_fault_words(change), *_bounds_words(change)]
    if change.reason:
        yield style(f"  on data: {change.reason}", dim=True)
        yield from (f"    {words}" for words in faults)
        return
    old, new = change.units
    sums = f": {new:,} units of memory in all, before {old:,}" if old != new else ""
    yield f"  on data ({COUNTED}){sums}"
    yield from (f"    {words}" for words in faults)
    told = [words for line in change.lines if (words := _otherwise(line))]
    yield from (f"    {words}" for words in told[:_MOST_OBSERVED])
    if len(told) > _MOST_OBSERVED:
        yield f"    and {plural(len(told) - _MOST_OBSERVED, 'more line')} (--json has all)"
    if not told:
        yield "    no line moves another number of units a request on average, or runs more or less often"


def _bounds_words(change: BehaviourChange) -> Iterator[str]:
    """Yield the cycles of both sides' launches, if they are known."""
    if change.bounds is not None:
        same = " (if both sides' launches make the same results)" if change.reason else ""
        yield f"{bounds_words(*change.bounds)}{same}"


def _fault_words(change: BehaviourChange) -> Iterator[str]:
    """Yield how many faults were seen on the sides, if that differs."""
    if change.faults is None or not change.has_other_faults:
        return
    old, new = change.faults
    unset = [sum(fault.kind == "uninitialized" for fault in side) for side in change.faults]
    alone = "; values that were never set: only --uninitialized looks for them" if 0 in unset and any(unset) else ""
    yield f"faults: {len(new):,}, before {len(old):,}{alone}"


def _otherwise(line: ObservedLineChange) -> str:
    """Return what a line does otherwise, in words."""
    words = []
    for (old, new), verb, things in (
        (line.units, "moves", "units a request on average"),
        (line.waves, "takes", "wavefronts a request on average"),
        (line.runs, "runs", "times"),
    ):
        if old != new and new is not None:
            words.append(f"{verb} {_amount(new)} {things}{'' if old is None else f', before {_amount(old)}'}")
    if line.new is None:
        words = ["did not run" if line.key.new else "is gone"]
    number = line.key.new or line.key.old
    return f"line {number} {'; '.join(words)}" if words else ""


def _amount(number: float) -> str:
    return f"{number:,.1f}".removesuffix(".0")


def _own_figures(change: KernelChange) -> Iterator[str]:
    """Yield the figures that one side's binary states alone: they are not compared."""
    pair = change.pair
    for program, side in ((pair.old_program, "old"), (pair.new_program, "new")):
        values = ((each.figure.heading, getattr(each, side)) for each in change.own_figures)
        words = [f"{heading} {value:,}" for heading, value in values if value is not None]
        if words:
            yield style(f"  only {device_words(program)}: {', '.join(words)}", dim=True)


def _programs(pair: KernelPair) -> str:
    old, new = pair.old_program, pair.new_program
    words = [f"{new.name} on {device_words(new)}"]
    if (old.name, device_words(old)) != (new.name, device_words(new)):
        words.insert(0, f"{old.name} on {device_words(old)}")
    return " -> ".join(words)


def parting_words(parting: Parting) -> str:
    """Return where two compiles part, in one line."""
    words = []
    if parting.stage is not None:
        words.append(f"the compiles part at the stage {parting.stage}")
        words.append(f"{parting.before} is still equal" if parting.before else "no stage is equal before")
    elif parting.before:
        words.append("all stages are equal that both compiles kept")
    else:
        words.append("there is no stage that both compiles kept")
    if parting.first_pass is not None:
        only = {"old": " (only the old compile)", "new": " (only the new compile)"}.get(parting.first_pass.side, "")
        words.append(f"the first pass that did something else is {parting.first_pass.stage}{only}")
        if parting.first_pass.partial:
            words.append(f"or {' or '.join(parting.first_pass.partial)}, of which only a part was dumped")
    return "; ".join(words)


def _edited(change: KernelChange) -> Iterator[str]:
    if not change.edited:
        return
    yield "  edited, and no instruction that changed is of these lines:"
    for key in change.edited:
        yield f"    {style(key.path, fg='green')}:{key.new or key.old} | {_text(key, change.sources)}"


def _text(key: LineKey, sources: SourceLines) -> str:
    """Return the text of a line, the new one where there are both."""
    old, new = sources.texts(key)
    return ((new if key.new else old) or "").expandtabs(4)


def _line(line: LineChange, sources: SourceLines, *, has_counts_only: bool, has_sync: bool) -> str:
    key = line.key
    counts = f"{len(line.old):6,} {len(line.new):6,}"
    if not has_counts_only:
        counts = " ".join([counts, *_growth(line, has_sync=has_sync)])
    marks = ["on other operands"] if line.change == OPERANDS else []
    if line.is_cause:
        marks.append("edited" if key.old and key.new else "added" if key.new else "deleted")
    if not line.is_certain:
        marks.append(f"certain {line.old_certain:,} -> {line.new_certain:,}")
    remark = style(f"  ; {', '.join(marks)}", dim=True) if marks else ""
    if key in WITHOUT_LINE:
        words = _WITHOUT_LINE.get(key, "instructions without a source line")
        return f"   {style(counts, fg='yellow')}  {words}{remark}"
    number = f"{key.new or key.old}" if key.old in (key.new, 0) or not key.new else f"{key.old} -> {key.new}"
    text = _text(key, sources) or (has_counts_only and sources.texts(key)[0]) or ""
    return f"   {style(counts, fg='yellow')}  {number:>6} | {style(text, bold=True)}{remark}"


def _growth(line: LineChange, *, has_sync: bool = True) -> Iterator[str]:
    """Yield the columns of what only one side has, and of how many more instructions that only wait the new side has."""
    waits = (line.new_waits - line.old_waits,) if has_sync else ()
    for count in (-line.removed, line.added, *waits):
        yield f"{count:+6,}" if count else 6 * " "


def _instructions(change: KernelChange, line: LineChange) -> Iterator[str]:
    """Yield the old and the new instructions of a line, with equal ones only around those that differ."""
    assert change.codes is not None
    old, new = (code.instructions for code in change.codes)
    pairs = instruction_pairs(change.codes, line)
    shown = {
        near
        for index, pair in enumerate(pairs)
        if line.change == OPERANDS or None in (pair.old, pair.new)
        for near in range(index - _CONTEXT, index + _CONTEXT + 1)
    }
    skipped = False
    for index, pair in enumerate(pairs):
        if index not in shown:
            skipped = True
            continue
        if skipped:
            yield style("             ...", dim=True)
            skipped = False
        if pair.old is not None and pair.new is not None and line.change != OPERANDS:
            yield style(_row(" ", new, pair.new), dim=True)
            continue
        if pair.old is not None:
            yield style(_row("-", old, pair.old), fg="red")
        if pair.new is not None:
            yield style(_row("+", new, pair.new), fg="green")


def _row(mark: str, instructions: Instructions, index: int) -> str:
    return f"           {mark} {instructions.offsets[index]:#06x}  {instructions.texts[index].rstrip()}"


def side_title(programs: Sequence[Program], words: str) -> str:
    """Return a side in words: its paths, and what compiled it if that is one toolchain."""
    toolchains = {title for program in programs if (title := program.build.toolchain_title)}
    devices = {str(program.device) for program in programs}
    more = [*sorted(toolchains if len(toolchains) == 1 else ()), *(devices if len(devices) == 1 else ())]
    return f"{words}  ({', '.join(more)})" if more else words
