"""Stage maps: the source map of each snapshot, from that stage's own debug information."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage import Snapshot
from kernlens.model.stage_map import LINE, OFFSET, StageMap, StageRows

#: What the stage of the machine code itself is called: its lines come from the program's DWARF.
MACHINE_STAGE = "program"


def stage_maps(snapshots: Iterable[Snapshot], programs: Iterable[Program]) -> tuple[StageMap, ...]:
    """A map for each text snapshot that carries line marks, in their order, and at the end one per kernel with a line
    table in ``programs``. Snapshots that failed, and those in which nothing has a line, are left out."""
    found = [found for one in snapshots if not one.is_pass and (found := snapshot_map(one)) is not None]
    found += [found for program in programs for found in _machine_maps(program)]
    return tuple(found)


def snapshot_map(snapshot: Snapshot) -> StageMap | None:
    """The snapshot's map; None if it failed, or has no text form with line marks, or nothing in it has a line."""
    read = reader(snapshot.stage, snapshot.ending)
    if read is None or snapshot.failure is not None or snapshot.form != "text":
        return None
    text = snapshot.text
    rows = read(text)
    if not any(rows.places):
        return None
    return StageMap(
        stage=snapshot.stage,
        kernel=snapshot.kernel,
        unit=LINE,
        positions=rows.lines,
        places=rows.places,
        calls=rows.calls,
        functions=rows.functions,
        find_texts=lambda: _chosen(text, rows.lines),
    )


@cache
def reader(stage: str, ending: str) -> Callable[[str], StageRows] | None:
    """What reads the line marks of a stage's texts with this file ending; None if nothing does."""
    if ending == ".ll":
        from kernlens.formats.llvm_lines import read_llvm_lines

        return read_llvm_lines
    if ending == ".spvasm":
        from kernlens.formats.spirv_text import read_spirv_text_lines

        return read_spirv_text_lines
    if ending == ".visaasm":
        from kernlens.formats.visaasm_lines import read_visaasm_lines

        return read_visaasm_lines
    if stage == "gen-assembly" and ending == ".asm":
        from kernlens.formats.gen_assembly import read_gen_assembly_lines

        return read_gen_assembly_lines
    return None


def _chosen(text: str, numbers: list[int]) -> list[str]:
    lines = text.split("\n")
    return [lines[number - 1] for number in numbers]


def _machine_maps(program: Program) -> Iterator[StageMap]:
    from kernlens.errors import UnsupportedError

    for kernel in program.kernels.values():
        try:
            yield from _machine_map(kernel)
        except UnsupportedError:
            # No disassembler for this device: there are no instructions to map, here as in annotate, which says so.
            return


def _machine_map(kernel: Kernel) -> Iterator[StageMap]:
    from kernlens.analysis.sources import joined

    source_map = kernel.source_map
    if source_map is None:
        return
    directory = source_map.table.directory
    # A line table repeats few places very often.
    full: dict[SourcePlace, SourcePlace] = {}

    def absolute(place: SourcePlace) -> SourcePlace:
        if place not in full:
            full[place] = SourcePlace(joined(directory, place.path), place.line, place.column)
        return full[place]

    count = len(source_map.row_of)
    places = [source_map.place(index) for index in range(count)]
    yield StageMap(
        stage=MACHINE_STAGE,
        kernel=kernel.name,
        unit=OFFSET,
        positions=source_map.offsets,
        places=[absolute(place) if place else None for place in places],
        calls=[tuple(absolute(call) for call in source_map.inlined_at(index)) for index in range(count)],
        functions=[kernel.name] * count,
        find_texts=lambda: kernel.instructions.texts,
    )
