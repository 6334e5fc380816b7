"""The texts of a compile's stages, cut to single kernels: what each row came from, and the numbers that tie the stages."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from kernlens.analysis.stage_changes import is_whole, without_heading
from kernlens.errors import KernlensError, NotFoundError, ToolError
from kernlens.formats.listings.gen_assembly import read_visa_numbers
from kernlens.formats.listings.llvm_ir import llvm_rows
from kernlens.formats.listings.llvm_parts import LlvmParts
from kernlens.formats.listings.spirv_assembly import read_spirv_text_lines
from kernlens.formats.listings.spirv_cut import SpirvParts, cut_to_entry_point
from kernlens.formats.listings.visa_assembly import visa_number
from kernlens.formats.listings.visa_llvm_map import read_visa_ranges
from kernlens.formats.ptx.ptx_parts import PtxParts, WholeText
from kernlens.loading.stage_maps import Beside, reader
from kernlens.model.stage import KERNEL, PROGRAM, TEXT, Attempts, Snapshot
from kernlens.model.stage_map import StageRows
from kernlens.model.stage_text import PassPart, PassText, StageName, StageText

#: The file endings of stages that are shown, and what they are of. The listing of the machine code and the map of vISA
#: numbers are not: what they say stands beside the machine code and the stage ``llvm-codegen``.
_SHOWN = {
    ".ll": PROGRAM, ".spvasm": PROGRAM, ".visaasm": KERNEL, ".ptx": PROGRAM,
    ".source": PROGRAM, ".ttir": PROGRAM, ".ttgir": PROGRAM, ".llir": PROGRAM,
}  # fmt: skip
#: LLVM IR, whatever it is called.
_LLVM = (".ll", ".llir")
#: How a disassembler of SPIR-V writes an instruction's offset in bytes behind it; newer ones in a column far to the right.
_OFFSET = "; 0x"
#: Functions that many kernels call are shown with each. A program's kernels together are shown so many characters of a
#: stage, and so many times as many as it has: honest ones up to 3 times.
_FREE, _RATIO = 1 << 24, 8
_CODEGEN = "llvm-codegen"
_NOTHING = PassPart((), ())


Parts = LlvmParts | SpirvParts | PtxParts | WholeText


class _Read(NamedTuple):
    """A whole program's text: its parts, what each instruction came from, and line -> instruction."""

    parts: Parts
    rows: StageRows
    index_of: dict[int, int]


class KeptStageTexts:
    """The texts of the stages that a build kept. A text of the whole program is read once for all its kernels."""

    def __init__(self, beside: Beside, snapshots: Sequence[Snapshot] = ()) -> None:
        self._beside = beside
        #: Single passes too.
        self._snapshots = snapshots
        self._read: dict[StageName, _Read] = {}
        #: The kernels that were shown their part of a stage, and how many characters all of them together.
        self._cut: set[tuple[StageName, str]] = set()
        self._spent: Counter[StageName] = Counter()
        #: The kernels' snapshots and, under None, the program's.
        self._shown: dict[str | None, list[Snapshot]] = {}
        for snapshot in beside.snapshots:
            if _is_shown(snapshot):
                self._shown.setdefault(snapshot.kernel, []).append(snapshot)

    @cached_property
    def stages(self) -> Sequence[StageName]:
        """The stages that have a text, in pipeline order."""
        return list(dict.fromkeys(_name(snapshot) for snapshot in self._beside.snapshots if _is_shown(snapshot)))

    def of_kernel(self, kernel: str) -> Sequence[StageText]:
        """Return the kernel's part of each stage, of the attempt whose machine code is in the program."""
        attempts = self._beside.attempts
        of_program = [each for each in self._shown.get(None, ()) if attempts.counts(each.stage, each.attempt, kernel)]
        return [self._text(snapshot, kernel) for snapshot in (*of_program, *self._shown.get(kernel, ()))]

    def tables(self, of: StageName) -> str:
        """Return the metadata of a whole program's LLVM IR."""
        snapshot = next(each for each in self._shown[None] if _name(each) == of)
        parts = self._whole(snapshot).parts
        return "\n".join(parts.rows[row] for row in parts.tables)

    def visa_numbers(self, kernel: str, compacted: Sequence[bool]) -> Sequence[int | None]:
        """Return for each of a kernel's machine instructions the number of the vISA instruction that it is of."""
        listing = self._beside.find("gen-assembly", TEXT, kernel)
        if listing is None:
            return ()
        numbered = read_visa_numbers(listing.listing)[: len(compacted)]
        if [is_compacted for _, is_compacted in numbered] != list(compacted):
            return ()  # The listing is of another attempt.
        return [number for number, _ in numbered]

    def passes(self, kernels: Sequence[str]) -> Iterator[PassText]:
        """Yield the program before and after each single pass, attempt by attempt, cut to each of the kernels."""
        attempts = Attempts(self._snapshots)
        readable = [
            each for each in self._snapshots if each.failure is None and (each.form, each.ending) == (TEXT, ".ll")
        ]
        for attempt in sorted({snapshot.attempt for snapshot in readable if snapshot.is_pass}):
            counted = [kernel for kernel in kernels if attempts.kernels.get(kernel, attempt) == attempt]
            of_attempt = [snapshot for snapshot in readable if snapshot.attempt == attempt]
            first = [snapshot for snapshot in of_attempt if not snapshot.is_pass][:1]
            known: tuple[list[str], dict[str, PassPart]] = [], {}
            for snapshot in (*first, *(each for each in of_attempt if each.is_pass)):
                name = snapshot.stage if snapshot.is_pass else ""
                if not is_whole(snapshot):
                    yield PassText(name, attempt, dict.fromkeys(counted, _NOTHING), is_whole=False)
                    continue
                text = without_heading(snapshot)
                if text != known[0]:
                    known = text, _pass_parts("\n".join(text), counted)
                yield PassText(name, attempt, known[1])

    def _text(self, snapshot: Snapshot, kernel: str) -> StageText:
        of = _name(snapshot)
        try:
            return self._kernel_text(snapshot, of) if snapshot.kernel else self._part(snapshot, of, kernel)
        except (KernlensError, ToolError) as error:
            return StageText(of, missing=str(error))

    def _kernel_text(self, snapshot: Snapshot, of: StageName) -> StageText:
        text = snapshot.listing
        read = reader(snapshot.stage, snapshot.ending)
        assert read is not None
        rows = text.removesuffix("\n").split("\n")
        stage_rows = read(text)
        numbers = [visa_number(rows[line - 1]) for line in stage_rows.lines]
        return _stage_text(
            of, rows, range(1, len(rows) + 1), stage_rows, [range(0) if n is None else range(n, n + 1) for n in numbers]
        )

    def _part(self, snapshot: Snapshot, of: StageName, kernel: str) -> StageText:
        whole = self._whole(snapshot)
        is_new = (of, kernel) not in self._cut
        if is_new and self._spent[of] > _FREE + _RATIO * len(snapshot.content):
            return StageText(of, missing="it holds too much that many kernels have in common")
        part = whole.parts.of_function(kernel)
        if part is None:
            return StageText(of, missing=f"the stage has no function {kernel}")
        if is_new:
            self._cut.add((of, kernel))
            self._spent[of] += sum(len(whole.parts.rows[row]) + 1 for row in part)
        lines = [row + 1 for row in part]
        every = whole.rows
        chosen = StageRows()
        for line in lines:
            if (index := whole.index_of.get(line)) is not None:
                chosen.add(line, every.places[index], every.calls[index], every.functions[index])
        ranges = self._visa_ranges(snapshot, kernel)
        visa = [ranges.get(line, range(0)) for line in chosen.lines] if ranges else ()
        return _stage_text(
            of, [_shown_row(whole.parts.rows[row], snapshot.ending) for row in part], lines, chosen, visa
        )

    def _visa_ranges(self, snapshot: Snapshot, kernel: str) -> dict[int, range]:
        map_of_visa = self._beside.find("visa-llvm-map", TEXT, kernel)
        if snapshot.stage != _CODEGEN or map_of_visa is None or map_of_visa.attempt != snapshot.attempt:
            return {}
        return read_visa_ranges(map_of_visa.listing, self._beside.codegen[snapshot.attempt])

    def _whole(self, snapshot: Snapshot) -> _Read:
        of = _name(snapshot)
        if of not in self._read:
            text = snapshot.listing
            parts: Parts
            if snapshot.ending in _LLVM:
                parts = llvm = LlvmParts(text)
                rows = llvm_rows(llvm)
            elif snapshot.ending == ".ptx":
                parts = ptx = PtxParts(text)
                rows = ptx.stage_rows
            elif snapshot.ending == ".spvasm":
                parts, rows = SpirvParts(text), read_spirv_text_lines(text)
            else:
                read = reader(snapshot.stage, snapshot.ending)
                parts, rows = WholeText(text), read(text) if read is not None else StageRows()
            self._read[of] = _Read(parts, rows, {line: index for index, line in enumerate(rows.lines)})
        return self._read[of]


def _pass_parts(text: str, kernels: Sequence[str]) -> dict[str, PassPart]:
    """Return the part of each kernel that LLVM IR defines."""
    parts = LlvmParts(text)
    every = llvm_rows(parts)
    index_of = {line - 1: index for index, line in enumerate(every.lines) if every.places[index] is not None}
    cut = {}
    for kernel in kernels:
        rows = parts.of_function(kernel)
        if rows is None:
            cut[kernel] = _NOTHING
            continue
        instructions = []
        for row in rows:
            index = index_of.get(row)
            place = every.places[index] if index is not None else None
            if index is not None and place is not None:
                instructions.append((place.path, place.line, every.functions[index], parts.rows[row]))
        cut[kernel] = PassPart([parts.rows[row] for row in rows], instructions)
    return cut


def of_one_kernel(snapshot: Snapshot, kernel: str) -> Snapshot:
    """Return the kernel, and what it calls and uses, of LLVM IR or of SPIR-V's text; other snapshots as they are.
    Raises NotFoundError, with the functions that there are, if the text does not have the kernel."""
    if snapshot.kernel is not None or snapshot.form != TEXT or snapshot.failure is not None:
        return snapshot
    if snapshot.ending not in (".ll", ".spvasm"):
        return snapshot
    text, functions = snapshot.text, []
    if snapshot.ending == ".ll":
        parts = LlvmParts(text, with_metadata=True)
        cut, functions = parts.cut_to_function(kernel), parts.defined()
    else:
        cut = cut_to_entry_point(text, kernel)
    if cut is None:
        there = f"; it has: {', '.join(functions[:20])}" if functions else ""
        raise NotFoundError(f"the stage {snapshot.stage} has no function {kernel!r}{there}")
    content = cut.encode("utf-8", "replace")
    return replace(snapshot, kernel=kernel, find_content=lambda: content, size=len(content))


def _stage_text(
    of: StageName, rows: Sequence[str], lines: Sequence[int], stage_rows: StageRows, visa: Iterable[range]
) -> StageText:
    """Return the text of a stage or a part of it. ``lines`` are those of the part; instructions have lines of the stage."""
    functions: dict[str, int] = {}
    instructions = [bisect_left(lines, line) for line in stage_rows.lines]
    for row, function in zip(instructions, stage_rows.functions, strict=True):
        functions.setdefault(function, row)
    return StageText(
        of=of,
        rows=rows,
        lines=lines,
        instructions=instructions,
        places=stage_rows.places,
        calls=stage_rows.calls,
        visa=list(visa),
        functions=list(functions.items()),
    )


def _shown_row(row: str, ending: str) -> str:
    is_padded = ending == ".spvasm" and row[-12:-8] == _OFFSET
    return row[:-12].rstrip() if is_padded else row


def _is_shown(snapshot: Snapshot) -> bool:
    scope = _SHOWN.get(snapshot.ending)
    return snapshot.form == TEXT and scope is not None and (snapshot.kernel is None) == (scope == PROGRAM)


def _name(snapshot: Snapshot) -> StageName:
    scope = KERNEL if snapshot.kernel else PROGRAM
    return StageName(snapshot.stage, snapshot.attempt, scope, snapshot.ending in _LLVM)
