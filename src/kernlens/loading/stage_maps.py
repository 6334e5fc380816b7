"""Stage maps: the source map of each snapshot, from that stage's own debug information.

Two kinds of stages keep it beside them: a ``.visa.ll`` has the numbers of its locations only, a disassembly the
addresses of its instructions; what they mean stands in other snapshots of the same compile and attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kernlens.analysis.stage_changes import is_whole, without_heading
from kernlens.errors import UnsupportedError
from kernlens.formats.listings.gen_assembly import read_gen_assembly_lines
from kernlens.formats.listings.host_assembly import read_host_assembly_lines
from kernlens.formats.listings.llvm_ir import read_llvm_lines
from kernlens.formats.listings.spirv_assembly import read_spirv_text_lines
from kernlens.formats.listings.triton_ir import read_triton_lines
from kernlens.formats.listings.visa_assembly import read_visaasm_lines
from kernlens.formats.listings.visa_llvm_map import CodegenFunctions, read_visa_llvm_lines
from kernlens.formats.poclbin import NAMELESS, SOURCE_COPY
from kernlens.formats.ptx.ptx_text import read_ptx_lines
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage import BINARY, TEXT, Attempts, Snapshot
from kernlens.model.stage_map import LINE, OFFSET, PassLines, StageMap, StageRows, chosen_lines
from kernlens.model.stages import (
    COMMENTS,
    DBG,
    DOT_LOC,
    HOST_DWARF,
    LOC,
    MLIR_LOC,
    NUMBERS,
    OP_LINE,
    PTX_LOC,
    line_marks,
)

_NOWHERE: tuple[SourcePlace | None, tuple[SourcePlace, ...]] = (None, ())
#: What the stage of the machine code itself is called: its lines come from the program's DWARF.
MACHINE_STAGE = "program"

#: What reads the marks that a text has, see ``Stage.lines``.
_READERS = {
    OP_LINE: read_spirv_text_lines, DBG: read_llvm_lines, LOC: read_visaasm_lines, COMMENTS: read_gen_assembly_lines,
    DOT_LOC: read_host_assembly_lines, PTX_LOC: read_ptx_lines, MLIR_LOC: read_triton_lines,
}  # fmt: skip
#: The disassembly of an object that has no text form is a stage of its own.
_DISASSEMBLY, _OBJECT = "disassembly", "object"


def stage_maps(snapshots: Iterable[Snapshot], programs: Iterable[Program]) -> tuple[StageMap, ...]:
    """Return a map for each snapshot that can be shown by lines, in their order, and at the end one per kernel with a
    line table in ``programs``. Snapshots that failed, and those in which nothing has a line, are left out."""
    beside = Beside.of_stages(snapshots)
    of_snapshots = (snapshot_map(snapshot, beside) for snapshot in beside.snapshots)
    of_programs = (machine for program in programs for machine in _machine_maps(program, beside.attempts.kernels))
    return (*filter(None, of_snapshots), *of_programs)


def pass_lines(snapshots: Sequence[Snapshot]) -> Iterator[PassLines]:
    """Yield what is left of the source lines after each pass of the compiler, attempt by attempt; each attempt begins
    with the LLVM IR as it was read. A pass without effect has the map of the one before it."""
    readable = [each for each in snapshots if each.failure is None and (each.form, each.ending) == (TEXT, ".ll")]
    beside = Beside([snapshot for snapshot in snapshots if snapshot.failure is None])
    for attempt in sorted({snapshot.attempt for snapshot in readable if snapshot.is_pass}):
        of_attempt = [snapshot for snapshot in readable if snapshot.attempt == attempt]
        first = [snapshot for snapshot in of_attempt if not snapshot.is_pass][:1]
        known: tuple[list[str], StageMap | None] = [], None
        for snapshot in (*first, *(each for each in of_attempt if each.is_pass)):
            name = snapshot.stage if snapshot.is_pass else ""
            if not is_whole(snapshot):
                yield PassLines(name, attempt, None, is_whole=False)
                continue
            text = without_heading(snapshot)
            if text != known[0]:
                known = text, snapshot_map(snapshot, beside)
            yield PassLines(name, attempt, known[1])


class Beside:
    """The snapshots of one compile, for stages that say nothing of lines themselves."""

    def __init__(self, snapshots: Sequence[Snapshot]) -> None:
        self.snapshots = snapshots

    @classmethod
    def of_stages(cls, snapshots: Iterable[Snapshot]) -> Beside:
        """Return the snapshots that did not fail, single passes left out."""
        return cls([snapshot for snapshot in snapshots if not snapshot.is_pass and snapshot.failure is None])

    def find(self, stage: str, form: str, kernel: str | None = None) -> Snapshot | None:
        """Return the snapshot of this stage and form, of this kernel; None if it was not kept."""
        return self._first.get((stage, form, kernel))

    @cached_property
    def _first(self) -> dict[tuple[str, str, str | None], Snapshot]:
        first: dict[tuple[str, str, str | None], Snapshot] = {}
        for snapshot in self.snapshots:
            first.setdefault((snapshot.stage, snapshot.form, snapshot.kernel), snapshot)
        return first

    @cached_property
    def codegen(self) -> dict[int, CodegenFunctions]:
        """The code generator's functions by attempt, read once for all kernels."""
        dumps = [snapshot for snapshot in self.snapshots if (snapshot.stage, snapshot.form) == ("llvm-codegen", TEXT)]
        return {snapshot.attempt: CodegenFunctions(snapshot.listing) for snapshot in dumps}

    @cached_property
    def attempts(self) -> Attempts:
        return Attempts(self.snapshots)

    def counting(self, snapshot: Snapshot, rows: StageRows) -> StageRows:
        """Return the rows without kernels whose machine code is of another attempt than the snapshot; none if the
        program has no kernel of that attempt."""
        attempt, kernels = snapshot.attempt, self.attempts.kernels
        if snapshot.stage not in self.attempts.stages or not kernels:
            return rows
        counted = StageRows()
        if attempt in kernels.values():
            for row in zip(rows.lines, rows.places, rows.calls, rows.functions, strict=True):
                if kernels.get(row[-1], attempt) == attempt:
                    counted.add(*row)
        return counted


def snapshot_map(snapshot: Snapshot, beside: Beside) -> StageMap | None:
    """Return the snapshot's map; None if it failed, or nothing in it has a line, or that cannot be told. Raises
    TooManyError if the snapshot's input has too many lines."""
    if snapshot.failure is not None:
        return None
    marks = line_marks(snapshot.stage, snapshot.ending)
    if marks == HOST_DWARF:
        return _host_map(snapshot, beside)
    if snapshot.form != TEXT:
        return None
    read = _READERS.get(marks)
    if read is None and marks != NUMBERS:
        return None
    text = snapshot.listing
    rows = _visa_llvm_rows(snapshot, text, beside) if read is None else beside.counting(snapshot, read(text))
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
        find_texts=lambda: chosen_lines(text, rows.lines),
        attempt=snapshot.attempt,
    )


def _visa_llvm_rows(snapshot: Snapshot, text: str, beside: Beside) -> StageRows:
    codegen = beside.codegen.get(snapshot.attempt)
    return read_visa_llvm_lines(text, codegen) if codegen is not None else StageRows()


def _host_map(snapshot: Snapshot, beside: Beside) -> StageMap | None:
    stage, kernel = snapshot.stage, snapshot.kernel
    if snapshot.form == TEXT:
        host_object = beside.find(_OBJECT if stage == _DISASSEMBLY else stage, BINARY, kernel)
        return _map_of_object(snapshot, snapshot, host_object) if host_object is not None else None
    listing = beside.find(_DISASSEMBLY, TEXT, kernel) if stage == _OBJECT else None
    return _map_of_object(snapshot, listing, snapshot) if listing is not None else None


def _map_of_object(shown: Snapshot, listing: Snapshot, host_object: Snapshot) -> StageMap | None:
    """Return the map of ``shown``, which is either ``listing``, the disassembly of ``host_object``, or that object
    itself. Instructions of the object's code count, alignment and all. None if the object has no line tables."""
    from kernlens.analysis.correlate import correlate
    from kernlens.formats.host_object import read_host_object
    from kernlens.formats.listings.host_assembly import read_host_listing

    host_object_file = read_host_object(memoryview(host_object.content))
    if not host_object_file.tables:
        return None
    text = listing.listing
    listed = [
        instruction for instruction in read_host_listing(text) if instruction.section in host_object_file.code_sections
    ]
    listed.sort(key=lambda row: row.address)
    offsets = [instruction.address for instruction in listed]
    locations = [_NOWHERE] * len(listed)
    for table in host_object_file.tables:
        here = correlate(offsets, table).whole_places()
        locations = [
            location if location[0] is not None else other for location, other in zip(here, locations, strict=True)
        ]
    if not any(place for place, _ in locations):
        return None
    return StageMap(
        stage=shown.stage,
        kernel=shown.kernel,
        unit=LINE if shown is listing else OFFSET,
        positions=[
            instruction.line if shown is listing else instruction.address - instruction.start for instruction in listed
        ],
        places=[place for place, _ in locations],
        calls=[calls for _, calls in locations],
        functions=[instruction.function for instruction in listed],
        find_texts=lambda: chosen_lines(text, [instruction.line for instruction in listed]),
    )


def under_name(stage_map: StageMap, path: str) -> StageMap:
    """Return the map with ``path`` in place of the temporary file that PoCL copied the source to, and of no name."""

    def is_source(name: str) -> bool:
        return name.rpartition("/")[2] == NAMELESS or SOURCE_COPY.fullmatch(name) is not None

    if not any(is_source(name) for name, _ in stage_map.lines):
        return stage_map
    return _renamed(stage_map, lambda place: replace(place, path=path) if is_source(place.path) else place)


def without_folder(stage_map: StageMap, folder: str) -> StageMap:
    """Return the map with the paths below ``folder`` as if it were the root folder."""
    if not any(name.startswith(folder + "/") for name, _ in stage_map.lines):
        return stage_map
    return _renamed(stage_map, lambda place: replace(place, path=place.path.removeprefix(folder)))


def _renamed(stage_map: StageMap, named: Callable[[SourcePlace], SourcePlace]) -> StageMap:
    return replace(
        stage_map,
        places=[named(place) if place else None for place in stage_map.places],
        calls=[tuple(named(call) for call in calls) for calls in stage_map.calls],
    )


def reader(stage: str, ending: str) -> Callable[[str], StageRows] | None:
    """Return the reader of the line marks of a stage's texts with this file ending; None if nothing reads them."""
    return _READERS.get(line_marks(stage, ending))


def _machine_maps(program: Program, attempts: Mapping[str, int]) -> Iterator[StageMap]:
    for kernel in program.kernels.values():
        try:
            yield from _machine_map(kernel, attempts.get(kernel.name, 1))
        except UnsupportedError:
            # No disassembler for this device: there are no instructions to map, here as in annotate, which says so.
            return


def _machine_map(kernel: Kernel, attempt: int) -> Iterator[StageMap]:
    source_map = kernel.source_map
    if source_map is None:
        return
    locations = source_map.whole_places()
    yield StageMap(
        stage=MACHINE_STAGE,
        kernel=kernel.name,
        unit=OFFSET,
        positions=source_map.offsets,
        places=[place for place, _ in locations],
        calls=[calls for _, calls in locations],
        functions=[kernel.name] * len(locations),
        find_texts=lambda: kernel.instructions.texts,
        attempt=attempt,
    )
