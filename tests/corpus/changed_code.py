"""Code that was changed after the compile: ``python -m tests.corpus.changed_code --help``.

Into kernels of the corpus instructions of other kernels are spliced; code is padded, cut and shifted. Of what tells of the
code (symbols, relocations, debug data, branches), some parts follow the change and others stay as they were. The truth is
known: an instruction has the line that it had before, and one that was put in has none. A line that kernlens shows and that
is not the instruction's is false. Of binaries as compilers leave them, no code may be called changed.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import kernlens
from kernlens.errors import FormatError, KernlensError
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.elf.elf_rewriting import with_contents
from kernlens.formats.neo_elf import is_neo_elf
from kernlens.formats.patch_tokens.edited_program import edited_neo_elf
from kernlens.formats.zebin.edited_zebin import edited_zebin
from kernlens.isa.intel.iga_library import search_also
from kernlens.loading.context import Context
from kernlens.loading.open import open_bytes
from kernlens.model.code_moves import CodeMoves
from kernlens.model.kernel import Kernel
from kernlens.model.source_map import SourcePlace
from tests.corpus.build import build
from tests.corpus.code_bytes import VARIANTS
from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, programs

KINDS = ("splice", "pad", "cut", "shift", "behind")
#: Changes that leave every size as it was, also up to a place within the code: they may leave no contradiction at all. The
#: second puts the ``nop`` behind the end of the thread elsewhere, or an instruction's place there, so that the other kernels
#: of a binary tell.
WITHIN, NOP_MOVES = "within", "the last nop"
#: What follows a change, by the names of sections: as oneDNN's splice does it, and further and further.
FOLLOWING = {
    "sections": (),
    "relocations": (".rel.text",),
    "symbols": (".rel.text", ".symtab"),
    "unit": (".rel.text", ".symtab", ".debug_info"),
    "all but the lines": (".rel.text", ".symtab", ".debug_info", ".debug_frame", ".debug_ranges", ".debug_loc"),
    "everything": (".",),
}
_DEBUG_SECTION = 0xFF000008
_NOP = bytes.fromhex("60000000000000000000000000000000")
_COMPACTED, _MOVE = 1 << 29, 0x61
#: Branches that have a second target.
_WITH_UIP = frozenset((0x22, 0x23, 0x24, 0x28, 0x2A, 0x2E))


@dataclass
class Outcome:
    """What came of the changes: how many of each kind, and how many of these kernels still had lines; instructions under
    their own line, and the false ones; binaries whose change could not be made."""

    changed: Counter[str] = field(default_factory=Counter)
    with_lines: Counter[str] = field(default_factory=Counter)
    right: int = 0
    refused: int = 0
    false: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Change:
    """New code, and where its instructions are from: rows of the old code, None for those that were put in."""

    kind: str
    code: bytes
    moves: CodeMoves


def change_of(kernel: Kernel, other: Sequence[bytes], kind: str, generator: random.Random, *, fixed: bool) -> Change:
    """Return a kernel's code changed at random; ``other`` are instructions of another kernel, ``fixed``: branches that
    cross the change still lead where they led."""
    rows = _pieces(kernel)
    count = len(rows)
    order: list[tuple[bytes, int | None]] = [(piece, row) for row, piece in enumerate(rows)]
    at = generator.randrange(count)
    start = generator.randrange(max(1, len(other)))
    foreign: list[tuple[bytes, int | None]] = [
        (piece, None) for piece in other[start : start + generator.randint(1, 40)]
    ]
    padding: list[tuple[bytes, int | None]] = [(_NOP, None)] * generator.randint(1, 8)
    if kind == "splice":
        removed = generator.choice((0, 0, 2, 5))
        if sum(len(piece) for piece, _ in foreign) == sum(len(piece) for piece, _ in order[at : at + removed]):
            removed = 0  # What is put in place of as much leaves no trace.
        order[at : at + removed] = foreign
    elif kind == "pad":
        order[at:at] = padding
    elif kind == "cut":
        del order[at : at + generator.randint(1, 8)]
    elif kind == "behind":
        order += generator.choice((foreign, padding))
    elif kind == NOP_MOVES:
        end = next((row for row in reversed(range(count)) if rows[row][0] & 0x7F != _MOVE), 0)
        if rows[end][0] & 0x7F == _NOP[0]:
            order.insert(min(at, end), (order.pop(end)[0], None))
        else:  # As much as one is taken out.
            whole = [row for row in range(end) if len(rows[row]) == len(_NOP)] or [0]
            del order[generator.choice(whole)]
            order.insert(end, (_NOP, None))
    else:  # The size stays: what was cut out is put in again, as padding, at the end or elsewhere.
        moved = order[at : at + generator.randint(1, 4)]
        if sum(len(piece) for piece, _ in moved) % len(_NOP):
            moved = order[at : at + 1]
        del order[at : at + len(moved)]
        to = len(order) if kind == "shift" else generator.randrange(len(order) + 1)
        size = sum(len(piece) for piece, _ in moved)
        order[to:to] = [(_NOP, None)] * (size // len(_NOP)) + [(moved[0][0], None)] * (size % len(_NOP) // 8)
    moves = CodeMoves(
        [*_starts(kernel), len(kernel.code)],
        _offsets([piece for piece, _ in order]),
        [row for _, row in order],
    )
    pieces = [
        piece if row is None or not fixed else _led(piece, row, new, moves) for new, (piece, row) in enumerate(order)
    ]
    return Change(kind, b"".join(pieces), moves)


def _pieces(kernel: Kernel) -> list[bytes]:
    code, starts = bytes(kernel.code), _starts(kernel)
    last = 16 if starts[-1] + 16 <= len(code) and not code[starts[-1] + 3] & _COMPACTED >> 24 else 8
    return [code[start:end] for start, end in pairwise([*starts, starts[-1] + last])]


def _starts(kernel: Kernel) -> list[int]:
    """Return the offsets of a kernel's instructions and of the moves of its trailer."""
    trailer = kernel.trailer
    moves = range(trailer.offset, trailer.end, len(_NOP)) if trailer else ()
    return sorted([*kernel.instructions.offsets, *moves])


def _offsets(pieces: Iterable[bytes]) -> list[int]:
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return offsets


def _led(piece: bytes, row: int, new: int, moves: CodeMoves) -> bytes:
    """Return a branch that leads where it led before the change, as oneDNN does it."""
    words = list(struct.unpack(f"<{len(piece) // 4}i", piece))
    opcode = words[0] & 0x7F
    if len(piece) < 16 or words[0] & _COMPACTED or opcode & 0xF0 != 0x20 or opcode in (0x2B, 0x2D):
        return piece
    here = moves.old_offsets[row]
    for place in (2, 3) if opcode in _WITH_UIP else (3,):
        target = here + words[place]
        if 0 <= target < moves.old_size:
            words[place] += moves.boundary(target) - target - (moves.new_offsets[new] - here)
    return struct.pack(f"<{len(words)}i", *words)


def changed_binary(content: bytes, kernel: str, change: Change, following: Sequence[str]) -> bytes:
    """Return the binary with the changed code, in which only the sections whose names begin so follow the change."""
    edit = edited_neo_elf if is_neo_elf(memoryview(content)) else edited_zebin
    edited = edit(content, kernel, change.code, change.moves)
    if following == (".",):
        return edited
    old, new = read_elf(memoryview(content), format="elf"), read_elf(memoryview(edited), format="elf")
    stays = {
        section.index: bytes(section.data)
        for section, after in zip(old.sections, new.sections, strict=True)
        if section.type == _DEBUG_SECTION
        or ((section.name.startswith((".symtab", ".rel", ".debug"))) and not _is_of(section.name, following))
        if section.size and bytes(section.data) != bytes(after.data)
    }
    return with_contents(edited, stays, format="elf")


def _is_of(name: str, following: Sequence[str]) -> bool:
    own = name.replace(".rela.debug", ".debug").replace(".rela.text", ".rel.text")
    return own.startswith(tuple(following)) if following else False


def judge(outcome: Outcome, where: str, kernel: Kernel, change: Change, edited: bytes, *, with_table: bool) -> None:
    """Count the lines of a changed kernel: those that are its instructions', and those that are not. ``with_table``: the
    line table followed the change, so that instructions which were put in stand under the line that they were put into."""
    try:
        (program,) = open_bytes(memoryview(edited), "changed.bin", Context()).programs
        new = program.kernels[kernel.name]
        source_map, places = new.source_map, new.source_map.places if new.source_map else []
    except FormatError:  # Refused as a whole: nothing is shown.
        source_map, places = None, []
    outcome.changed[change.kind] += 1
    if source_map is None:
        return
    outcome.with_lines[change.kind] += 1
    assert kernel.source_map is not None
    true: dict[int, SourcePlace | None] = {}
    old_places = dict(zip(kernel.source_map.offsets, kernel.source_map.places, strict=True))
    for row, origin in enumerate(change.moves.origins):
        true[change.moves.new_offsets[row]] = (
            None if origin is None else old_places.get(change.moves.old_offsets[origin])
        )
    false = 0
    for offset, place in zip(source_map.offsets, places, strict=True):
        if place is None or (with_table and true.get(offset) is None):
            continue
        if true.get(offset) == place:
            outcome.right += 1
        else:
            false += 1
    if false:
        outcome.false.append(f"{where}: {false} of {len(places)} instructions")


def changed(
    paths: Sequence[Path], count: int, generator: random.Random, kinds: Sequence[str] = KINDS
) -> dict[str, Outcome]:
    """Change ``count`` binaries, each in one kernel, and return what came of it, by what followed the change."""
    outcomes = {name: Outcome() for name in FOLLOWING}
    for number in range(count):
        path = paths[number % len(paths)]
        (program,), (donor,) = kernlens.load(path), kernlens.load(generator.choice(paths))
        kernels = [kernel for kernel in program.kernels.values() if kernel.source_map is not None]
        if not kernels:
            continue
        kernel = generator.choice(kernels)
        foreign = _pieces(generator.choice(list(donor.kernels.values())))
        kind, name = kinds[number % len(kinds)], list(FOLLOWING)[number // len(kinds) % len(FOLLOWING)]
        is_fixed = bool(generator.randrange(2))
        change = change_of(kernel, foreign, kind, generator, fixed=is_fixed)
        where = (
            f"{path.parent.name} {kernel.name}, {kind}, {name}, {'branches follow' if is_fixed else 'branches stay'}"
        )
        try:
            edited = changed_binary(path.read_bytes(), kernel.name, change, FOLLOWING[name])
        except KernlensError:
            outcomes[name].refused += 1
            continue
        judge(outcomes[name], where, kernel, change, edited, with_table=name == "everything")
    return outcomes


def alarms(paths: Iterable[Path]) -> tuple[int, list[str]]:
    """Return the number of kernels with a line table in binaries as compilers leave them, and those whose code is called
    changed."""
    count, false = 0, []
    for path in paths:
        for program in kernlens.load(path):
            for kernel in program.kernels.values():
                count += kernel.table_as_held is not None
                if kernel.code_change:
                    false.append(f"{path.parent.name} {kernel.name}: {kernel.code_change}")
    return count, false


def _binaries(compiler: Compiler, devices: Sequence[str], variants: Sequence[str], limit: int) -> Iterator[list[Path]]:
    chosen = list(programs())[:limit]
    for variant in variants:
        for device in devices:
            chosen_compiler = (
                compiler if variant == "as the corpus is" else VARIANTS[variant](replace(compiler, dumps=()))
            )
            built, _ = build(chosen, [device], compiler=chosen_compiler)
            yield [item.binary for item in built]


def _small(folder: Path, compiler: Compiler) -> list[Path]:
    """Return a compiler's binaries in a folder of ``tests.corpus.unchanged``."""
    lines = map(json.loads, (folder / "compiled.jsonl").read_text().splitlines())
    is_newest = compiler.root is not None
    return [folder / name / "program" for key, names in lines for name in names if ("newest" in key) == is_newest]


def _print(outcomes: dict[str, Outcome]) -> bool:
    """Print a line for each way in which files follow a change; return whether no line is false."""
    for name, outcome in outcomes.items():
        kinds = (f"{count} {kind} ({outcome.with_lines[kind]} with lines)" for kind, count in outcome.changed.items())
        wrong = len(outcome.false)
        print(f"  follows: {name}: {', '.join(kinds)}; {outcome.right:,} lines right, {wrong} kernels with false ones")
        for words in outcome.false[:10]:
            print(f"    {words}")
    return all(outcome.changed and not outcome.false for outcome in outcomes.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts; exit status 1 for a false line or a false alarm. Changes that leave every size are counted apart:
    where branches follow, nothing in a file may tell them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, help="binaries of the newest compiler, in this root folder, too")
    parser.add_argument("--device", action="append")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="options that binaries are made with")
    parser.add_argument("--programs", type=int, default=1 << 20, help="as many programs of the corpus (default: all)")
    parser.add_argument("--count", type=int, default=1000, help="changed binaries of each compiler")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--small", type=Path, metavar="FOLDER", help="change the binaries that unchanged keeps there instead"
    )
    chosen = parser.parse_args(arguments)
    compilers = [(DEBIAN, DEVICES)]
    if chosen.newest_root:
        search_also(lambda: {"newest": str(chosen.newest_root)})
        compilers.append((newest(chosen.newest_root), NEWEST_DEVICES))
    is_right = True
    for compiler, devices in compilers:
        paths: list[Path] = []
        false: list[str] = []
        kernels = 0
        variants = chosen.variant or ["as the corpus is"]
        own = [device for device in chosen.device or devices if device in devices]
        sources = (
            [_small(chosen.small, compiler)] if chosen.small else _binaries(compiler, own, variants, chosen.programs)
        )
        for some in sources:
            count, more = alarms(some)
            kernels, false, paths = kernels + count, false + more, paths + some
        print(
            f"{compiler}: {len(paths)} binaries as they are, {kernels:,} kernels, {len(false)} false alarms", flush=True
        )
        for words in false[:10]:
            print(f"    {words}")
        if not paths:
            continue
        generator = random.Random(chosen.seed)
        generator.shuffle(paths)
        is_right = _print(changed(paths, chosen.count, generator)) and not false and is_right
        print("  of the same size throughout:")
        _print(changed(paths, chosen.count // 10, generator, (WITHIN, NOP_MOVES)))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
