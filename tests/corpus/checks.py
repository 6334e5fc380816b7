"""The statements of kernlens on a compiled program, held against independent tools.

Each check takes one compiled program and gives an ``Outcome``: how many things were compared and where they differ. The
tests run them over a sample, ``verify.py`` over the whole corpus.
"""

from __future__ import annotations

import re
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kernlens
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.patch_tokens.debug_data import read_debug_data
from kernlens.loading.absent_lines import ASSEMBLY
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.line_table import END_SEQUENCE, IS_STMT, LineTable
from kernlens.model.program import Program
from kernlens.model.source_map import FROM_TABLE, NO_LINE, UNCERTAIN
from tests.corpus.build import Built
from tests.corpus.code_bytes import check_code_bytes
from tests.corpus.distances import NO_HAZARD, judged, stated_pipe
from tests.corpus.effects import compared_effects
from tests.corpus.elf_rows import relocation_rows, section_rows, symbol_rows
from tests.corpus.inline_assembly import check_assembly
from tests.corpus.messages import compared_messages
from tests.corpus.oracles.iga64 import instruction_texts
from tests.corpus.oracles.igc_dump import Dump, read_dump
from tests.corpus.oracles.readelf import column_rows, elf_contents, line_rows
from tests.corpus.oracles.visa_numbers import Said, said_of_instructions
from tests.corpus.outcome import Outcome as Outcome
from tests.packed_code import packed

#: A move of IGC 2's hash behind the end of the thread.
_HASH = re.compile(r"\(W\) +mov \(16\|M0\) +null<1>:ud +0x[0-9A-F]+:ud")
#: Devices whose registers have 64 bytes.
WIDE_REGISTERS = ("pvc", "bmg", "lnl", "ptl")
#: What a tool says of a file: per line table its rows.
Oracle = Callable[[Path], Sequence[Sequence[Any]]]
#: File name without folder, and line; None where no line is known.
Place = tuple[str, int] | None


def load(built: Built) -> Program:
    """Return the one program of a compiled file."""
    (program,) = kernlens.load(built.binary)
    return program


def check_texts(built: Built, root: Path | None = None) -> Outcome:
    """Check that every instruction's text equals what iga64 of the same compiler prints (``root``'s, if that made them)."""
    outcome = Outcome("instructions")
    for kernel in load(built).kernels.values():
        theirs = instruction_texts(kernel.code, built.device, root)
        if trailer := kernel.trailer:
            row = bisect_left(kernel.instructions.offsets, trailer.offset)
            assert all(map(_HASH.match, theirs[row : row + trailer.count])), f"{built.name} {kernel.name}"
            del theirs[row : row + trailer.count]
        outcome.compare(f"{built.name} {kernel.name}", [text.rstrip() for text in kernel.instructions.texts], theirs)
    return outcome


def check_messages(built: Built) -> Outcome:
    """Check that what each message does, and the registers that it takes, are what iga64's text of it says
    (``check_texts``: it is that text)."""
    outcome = Outcome("messages")
    for kernel in load(built).kernels.values():
        register_bytes = 64 if built.device in WIDE_REGISTERS else 32
        pairs = list(compared_messages(packed(kernel.instructions), register_bytes))
        ours, theirs = [ours for ours, _ in pairs], [theirs for _, theirs in pairs]
        outcome.compare(f"{built.name} {kernel.name}", ours, theirs)
    return outcome


def check_registers(built: Built) -> Outcome:
    """Check that what each instruction reads and writes, byte by byte, and where control goes, are what iga64's text of
    it says; of messages, the registers that their lengths say."""
    outcome = Outcome("instructions")
    for kernel in load(built).kernels.values():
        effects = kernel.instructions.effects
        assert effects is not None
        pairs = list(compared_effects(packed(kernel.instructions), effects))
        outcome.compare(f"{built.name} {kernel.name}", [ours for ours, _ in pairs], [theirs for _, theirs in pairs])
    return outcome


def check_stated_scratch(built: Built) -> Outcome:
    """Check that kernels have messages that spill where their binary states spilled bytes; where registers have 64
    bytes, that it states memory of the thread where there are messages to scratch space."""
    outcome = Outcome("kernels")
    for kernel in load(built).kernels.values():
        costs, stated, where = kernel.costs, kernel.resources, f"{built.name} {kernel.name}"
        if stated.spill_bytes is not None:
            outcome.compare(f"{where} spills", [costs["spill_stores"] > 0], [stated.spill_bytes > 0])
        if stated.scratch_bytes is not None and built.device in WIDE_REGISTERS:
            messages = costs["scratch_loads"] + costs["scratch_stores"]
            outcome.compare(f"{where} scratch", [messages > 0 and not stated.scratch_bytes], [False])
    return outcome


def check_lines(built: Built) -> Outcome:
    """Check that line tables equal ``readelf --debug-dump=decodedline`` row for row: file, line, address."""
    return _check_tables(built, line_rows, _printed_rows)


def check_columns(built: Built) -> Outcome:
    """Check that line tables equal llvm-dwarfdump's: address, file number, line, column, is_stmt, end of sequence."""
    return _check_tables(built, column_rows, _full_rows)


def check_join(built: Built) -> Outcome:
    """Check that each instruction's place is that of the last of readelf's rows at or before it; the prologue and what
    kernlens says that the compiler lost are ``check_numbers``' matter."""
    outcome = Outcome("instructions")
    tables = dict(_tables(built, line_rows))
    for kernel in load(built).kernels.values():
        if kernel.code_change or kernel.line_table_reason == ASSEMBLY:
            continue  # Then it has no lines: ``check_unchanged`` and ``check_assembly`` say whether that is right.
        judged = _judged(kernel)
        ours, theirs = _places(kernel), _places_by_rows(kernel, tables.get(kernel.name, []))
        outcome.compare(f"{built.name} {kernel.name}", [ours[i] for i in judged], [theirs[i] for i in judged])
    return outcome


def check_dump(built: Built) -> Outcome:
    """Check that each instruction's line is the one that IGC's own dump gives it, from the first row whose address is
    not 0 on.

    The compiler's table is coarser than its dump: it has one row per LLVM instruction, and machine instructions that the
    scheduler moved out of that order have none, so some stand in the range of another line. Where the table's own rows
    (readelf's) contradict the dump, ``contradicted`` counts the instruction instead; where a row says line 0, which a
    dump does not print, ``without_line`` does.
    """
    outcome = Outcome("instructions")
    dumps = [read_dump(path) for path in built.assembly]
    tables = dict(_tables(built, line_rows))
    for kernel in load(built).kernels.values():
        where = f"{built.name} {kernel.name}"
        dump = _dump_of(kernel, dumps)
        sizes = [size == 8 for size in kernel.instructions.sizes]
        if dump is None or sizes != [instruction.compacted for instruction in dump.instructions[: len(sizes)]]:
            outcome.differences.append(f"{where}: no dump of its instructions")
            continue
        rows = tables.get(kernel.name, [])
        start = min((address for _, _, address in rows if address), default=0)
        offsets = kernel.instructions.offsets
        held = [
            instruction.place and (Path(instruction.place[0]).name, instruction.place[1])
            for instruction in dump.instructions
        ]
        judged = [index for index in _judged(kernel) if index < len(held) and offsets[index] >= start]
        _compare_places(outcome, where, kernel, {index: held[index] for index in judged}, rows)
    return outcome


def check_distances(built: Built) -> Outcome:
    """Check that the pipe that IGC's dump states of an instruction is the one that distances count it in, out-of-order
    math aside, and those whom a row waits for by a distance are a reason to wait."""
    outcome = Outcome("pipes and distances")
    dumps = [read_dump(path) for path in built.assembly]
    for kernel in load(built).kernels.values():
        instructions, where = packed(kernel.instructions), f"{built.name} {kernel.name}"
        if instructions.pipes is None:
            continue
        dump = _dump_of(kernel, dumps)
        listed = [] if dump is None else [stated_pipe(instruction.text) for instruction in dump.instructions]
        is_told = [pipe != "" and (pipe != "M" or built.device in WIDE_REGISTERS) for pipe in listed]
        ours = [pipe for pipe, is_one in zip(instructions.pipes.own, is_told, strict=False) if is_one]
        outcome.compare(where, ours, [pipe for pipe, is_one in zip(listed, is_told, strict=True) if is_one])
        for row, judgement in judged(instructions):
            outcome.compared += 1
            if judgement == NO_HAZARD:
                outcome.differences.append(f"{where} at {instructions.offsets[row]:#x}: no reason to wait")
    return outcome


#: Of the instructions of a kernel that the compiler gives a place, those that its table holds for another one: 2 of 110,908
#: in kernels without calls; beside calls, also the messages that save registers. More than these is a wrong table.
STRAYS = 0.01


def check_numbers(built: Built) -> Outcome:
    """Check that each instruction's line is the one that the compiler gave the LLVM instruction it is of
    (``visa_numbers``), where it gave it one. The prologue holds none but the loads, which carry the last number of all."""
    outcome = Outcome("instructions with a place")
    tables = dict(_tables(built, line_rows))
    for kernel in load(built).kernels.values():
        where = f"{built.name} {kernel.name}"
        if kernel.source_map is None:
            continue
        stated = compiler_places(built, kernel)
        if stated is None:
            outcome.differences.append(f"{where}: no dump of its instructions")
            continue
        located = {
            index: instruction.place for index, instruction in enumerate(stated) if instruction.place is not None
        }
        last = stated[-1].place
        prologue = [index for index in located if index < kernel.source_map.prologue and located[index] != last]
        if prologue:
            outcome.differences.append(
                f"{where}: instruction {prologue[0]} of the prologue is of {located[prologue[0]]}"
            )
        judged = {index: place for index, place in located.items() if index >= kernel.source_map.prologue}
        before = outcome.contradicted
        _compare_places(outcome, where, kernel, judged, tables.get(kernel.name, []))
        if outcome.contradicted - before > max(1, STRAYS * len(judged)):
            outcome.differences.append(f"{where}: {outcome.contradicted - before} of {len(judged)} have another's line")
    return outcome


def check_unchanged(built: Built) -> Outcome:
    """Check that no code is called changed, as compilers leave it."""
    outcome = Outcome("kernels")
    kernels = load(built).kernels.values()
    where = f"{built.name} {', '.join(kernel.name for kernel in kernels if kernel.code_change)}"
    outcome.compare(where, [kernel.code_change for kernel in kernels], [None] * len(kernels))
    return outcome


def check_elf(built: Built) -> Outcome:
    """Check that sections, symbols and relocations equal ``readelf -SsrW``, of the binary and of each ELF in its debug data."""
    outcome = Outcome("sections, symbols and relocations")
    _check_elf(outcome, built.name, built.binary)
    with _debug_elves(built) as elves:
        for name, path in elves:
            _check_elf(outcome, f"{built.name} {name}", path)
    return outcome


#: What ``verify.py`` prints, in this order.
CHECKS: dict[str, Callable[[Built], Outcome]] = {
    "every byte of code is listed": check_code_bytes,
    "text equals iga64": check_texts,
    "messages are what iga64's text says": check_messages,
    "registers are what iga64's text says": check_registers,
    "code is what its binary describes": check_unchanged,
    "inline assembly is where the compiler has it": check_assembly,
    "spills and scratch where the binary states them": check_stated_scratch,
    "pipes and distances are the compiler's": check_distances,
    "line rows equal readelf": check_lines,
    "columns equal llvm-dwarfdump": check_columns,
    "join agrees with readelf's rows": check_join,
    "join agrees with IGC's dump": check_dump,
    "lines are the compiler's own !dbg": check_numbers,
    "ELF contents equal readelf": check_elf,
}


def _check_tables(built: Built, oracle: Oracle, rows_of: Callable[[LineTable], list[tuple[object, ...]]]) -> Outcome:
    outcome = Outcome("rows")
    tables = {kernel.name: kernel.table_as_held for kernel in load(built).kernels.values()}
    ours = {name: rows_of(table) for name, table in tables.items() if table is not None}
    theirs = _tables(built, oracle)
    outcome.compare(f"{built.name} kernels with tables", sorted(ours), sorted(name for name, _ in theirs))
    for name, table in theirs:
        outcome.compare(f"{built.name} {name}", ours.get(name, []), table)
    return outcome


def _tables(built: Built, oracle: Oracle) -> list[tuple[str, Sequence[Any]]]:
    """Return each kernel's rows as the oracle prints them.

    Debug data holds an ELF with one table per kernel; a zebin holds all tables, in the order of its kernels' sections.
    """
    if not built.debug.exists():
        sections = [section[1] for section in elf_contents(built.binary).sections]
        kernels = [name.removeprefix(".text.") for name in sections if name.startswith(".text.")]
        result = zip(kernels, oracle(built.binary), strict=True)
        return [(kernel, table) for kernel, table in result if kernel != PSEUDO_KERNEL]
    with _debug_elves(built) as elves:
        return [(name, table) for name, path in elves for table in oracle(path)]


#: A message that ends the thread, and a return without a predicate.
_STOP = re.compile(r"[{,]EOT[,}]|^\s*(?:\(W\)\s+)?ret\b")


def _places(kernel: Kernel) -> list[Place]:
    source_map = kernel.source_map
    if source_map is None:
        return [None] * len(kernel.instructions)
    places = (source_map.place(index) for index in range(len(kernel.instructions)))
    return [None if place is None else (Path(place.path).name, place.line) for place in places]


def _places_by_rows(kernel: Kernel, rows: Sequence[tuple[str, int | None, int]]) -> list[Place]:
    """Return the plainest join: for each offset the last row that is not behind it; line 0 and the table's end are no
    place, nor is what stands behind an end of thread or a return (as its text says) in the same row."""
    places: list[Place] = []
    behind_stop = last = -1
    for offset, text in zip(kernel.instructions.offsets, kernel.instructions.texts, strict=True):
        index = bisect_right(rows, offset, key=lambda row: row[2]) - 1
        behind_stop = behind_stop if index == last else -1
        last = index
        line = rows[index][1] if index >= 0 and behind_stop != index else None
        places.append((rows[index][0], line) if line else None)
        if _STOP.search(text):
            behind_stop = index
    return places


def _judged(kernel: Kernel) -> list[int]:
    """Return the instructions whose line kernlens takes from the table's rows, or holds to have none."""
    source_map = kernel.source_map
    every = range(len(kernel.instructions))
    if source_map is None:
        return list(every)
    return [index for index in every if source_map.origin(index) in (FROM_TABLE, UNCERTAIN, NO_LINE)]


def _compare_places(
    outcome: Outcome,
    where: str,
    kernel: Kernel,
    held: Mapping[int, Place],
    rows: Sequence[tuple[str, int | None, int]],
) -> None:
    """Compare with what the oracle holds of each instruction. Where readelf's rows differ from it just as kernlens
    does, the compiler contradicts itself."""
    ours, by_rows = _places(kernel), _places_by_rows(kernel, rows)
    for index, place in held.items():
        outcome.compared += 1
        if ours[index] == place:
            continue
        if ours[index] is None:
            outcome.without_line += 1
        elif ours[index] == by_rows[index]:
            outcome.contradicted += 1
        else:
            offset = kernel.instructions.offsets[index]
            outcome.differences.append(
                f"{where} at {offset:#x}: kernlens {ours[index]}, oracle {place}, readelf's rows {by_rows[index]}"
            )


def _attempt(codegen: Path) -> int:
    """Return the attempt that a dump of the program is of, from 0: ``_1_codegen.ll`` (IGC 2) and ``_codegen_1.ll`` are of 1."""
    match = re.search(r"_(\d{1,2})(?=_codegen\.ll$|\.ll$)", codegen.name)
    return int(match[1]) if match else 0


def compiler_places(built: Built, kernel: Kernel) -> list[Said] | None:
    """Return what the compiler says of each instruction, in the last attempt whose listing is of the kernel's code."""
    sizes = [size == 8 for size in kernel.instructions.sizes]
    fitting = []
    for path in built.assembly:
        dump = read_dump(path)
        same = [instruction.compacted for instruction in dump.instructions[: len(sizes)]] == sizes
        if (dump.kernel, dump.simd) == (kernel.name, kernel.resources.simd) and same:
            fitting.append((dump.attempt, path))
    if not fitting:
        return None
    attempt, path = max(fitting)
    codegen = [path_ for path_ in path.parent.glob("*_codegen*.ll") if _attempt(path_) == attempt]
    return said_of_instructions(path, codegen[0])[: len(sizes)] if codegen else None


def _printed_rows(table: LineTable) -> list[tuple[object, ...]]:
    names = [file.path.rsplit("/", 1)[-1] for file in table.files]
    columns = zip(table.files_of, table.lines, table.offsets, table.flags, strict=True)
    return [(names[file], None if flags & END_SEQUENCE else line, offset) for file, line, offset, flags in columns]


def _full_rows(table: LineTable) -> list[tuple[object, ...]]:
    columns = zip(table.offsets, table.files_of, table.lines, table.columns, table.flags, strict=True)
    return [(*row, bool(flags & IS_STMT), bool(flags & END_SEQUENCE)) for *row, flags in columns]


def _dump_of(kernel: Kernel, dumps: list[Dump]) -> Dump | None:
    """Return the dump of the kernel's code: the last attempt at its own width, as IGC dumps every width and every attempt."""
    fitting = [dump for dump in dumps if dump.kernel == kernel.name and dump.simd == kernel.resources.simd]
    return max(fitting, key=lambda dump: dump.attempt, default=None)


@contextmanager
def _debug_elves(built: Built) -> Iterator[list[tuple[str, Path]]]:
    """Yield each kernel's debug ELF as a file of its own; none if the binary holds its debug data itself."""
    with tempfile.TemporaryDirectory() as folder:
        elves = []
        if built.debug.exists():
            for index, kernel in enumerate(read_debug_data(memoryview(built.debug.read_bytes())).kernels):
                path = Path(folder) / f"{index}.elf"
                path.write_bytes(kernel.elf)
                elves.append((kernel.name, path))
        yield elves


def _check_elf(outcome: Outcome, where: str, path: Path) -> None:
    ours, theirs = read_elf(memoryview(path.read_bytes())), elf_contents(path)
    relocations = [(*row[:4], row[4] or 0) for row in theirs.relocations]
    outcome.compare(f"{where} sections", section_rows(ours), theirs.sections)
    outcome.compare(f"{where} symbols", symbol_rows(ours), theirs.symbols)
    outcome.compare(f"{where} relocations", sorted(relocation_rows(ours)), sorted(relocations))
