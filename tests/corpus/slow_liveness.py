"""Liveness by another way: for each group of bytes by itself, along all ways through the single instructions, from what
libiga64's texts say of registers and branches. Slow, and knows nothing of blocks or of kernlens's decoded effects.

    python -m tests.corpus.slow_liveness --newest-root ~/.cache/kernlens-tests/toolchains/newest

compares the kernels of the corpus (200 of them, of at most 1,500 instructions) with ``analysis.flow.liveness``.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kernlens.analysis.flow.liveness import Liveness
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.effects import GENERAL, registers_in
from kernlens.model.kernel import Kernel
from tests.corpus.build import Built, build
from tests.corpus.checks import WIDE_REGISTERS, load
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.effects import places_of
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, programs
from tests.corpus.oracles.register_texts import Places, SaidOfRegisters, said_of_registers

#: What breaks and skips lanes, by the position of the label that they follow.
_FIRST_LABEL = ("if", "else", "while", "jmpi", "brd", "call")
_LAST_LABEL = ("break", "cont", "halt", "goto", "brc")


def live_bytes(offsets: Sequence[int], stated: Sequence[SaidOfRegisters]) -> list[Places]:
    """Return the bytes of general registers that are live before each instruction."""
    following = all_ways(offsets, stated)
    before = defaultdict[int, list[int]](list)
    for index, targets in enumerate(following):
        for target in targets:
            before[target].append(index)
    entries = entries_of(following)
    reads, writes = (
        _by_byte(instruction.reads for instruction in stated),
        _by_byte(instruction.writes for instruction in stated),
    )
    groups = defaultdict[tuple[frozenset[int], frozenset[int]], Places](int)
    for byte in reads.keys() | writes.keys():
        groups[frozenset(reads[byte]), frozenset(writes[byte])] |= 1 << byte
    live = [0] * len(stated)
    for (readers, writers), places in groups.items():
        for index in _live_group(readers, writers, stated, before, following, entries):
            live[index] |= places
    return live


def all_ways(offsets: Sequence[int], stated: Sequence[SaidOfRegisters]) -> list[list[int]]:
    """Return for each instruction those that a lane may come to, through calls and back."""
    following = [list(ways_from(index, offsets, stated)) for index in range(len(stated))]
    _add_returns(stated, following, offsets)
    return following


def entries_of(following: Sequence[Sequence[int]]) -> list[int]:
    """Return the instructions that no way leads to: the first, and those of functions that only other code calls."""
    entries: list[int] = []
    reached: set[int] = set()
    for index in range(len(following)):
        if index not in reached:
            entries.append(index)
            reached |= _reached(index, following)
    return entries


def stated_of(kernel: Kernel, register_bytes: int) -> list[SaidOfRegisters]:
    """Return what iga64's texts say of a kernel's instructions; of messages, whose bytes no text tells, what kernlens says."""
    instructions = kernel.instructions
    effects = instructions.effects
    assert effects is not None
    stated = [said_of_registers(text, register_bytes) for text in instructions.texts]
    for index, effect in enumerate(effects.effects):
        if stated[index].is_send:
            stated[index] = stated[index].with_places(places_of(effect.reads), places_of(effect.writes))
    return stated


def _by_byte(of: Iterable[Places]) -> dict[int, set[int]]:
    """Return the indexes of those that have each byte of general registers."""
    result = defaultdict[int, set[int]](set)
    for index, places in enumerate(of):
        bits = f"{places >> GENERAL:b}"[::-1]
        at = bits.find("1")
        while at >= 0:
            result[GENERAL + at].add(index)
            at = bits.find("1", at + 1)
    return result


def ways_from(index: int, offsets: Sequence[int], stated: Sequence[SaidOfRegisters]) -> Iterator[int]:
    """Yield the instructions that a lane may come to."""
    instruction = stated[index]
    is_left = instruction.is_end or instruction.mnemonic in ("ret", *_FIRST_LABEL, *_LAST_LABEL)
    if (
        instruction.mnemonic == "call"
        or instruction.mnemonic == "if"
        or not is_left
        or (instruction.is_predicated and instruction.mnemonic != "else")
    ):
        yield from range(index + 1, min(index + 2, len(stated)))
    if (
        instruction.mnemonic == "call"
        or not instruction.labels
        or instruction.mnemonic not in (*_FIRST_LABEL, *_LAST_LABEL)
    ):
        return
    label = instruction.labels[-1 if instruction.mnemonic in _LAST_LABEL else 0]
    if label in offsets:
        target = offsets.index(label)
        is_passed = (instruction.mnemonic, stated[target].mnemonic) in (("if", "else"), ("break", "while"))
        yield from range(target + is_passed, min(target + is_passed + 1, len(stated)))


def _add_returns(stated: Sequence[SaidOfRegisters], following: list[list[int]], offsets: Sequence[int]) -> None:
    """Lead calls into their functions and these back behind every call of them."""
    calls = {
        index: offsets.index(instruction.labels[0])
        for index, instruction in enumerate(stated)
        if instruction.mnemonic == "call" and instruction.labels and instruction.labels[0] in offsets
    }
    behind = {index: list(following[index]) for index in calls}
    bodies = {function: _reached(function, following) for function in set(calls.values())}
    for index, function in calls.items():
        following[index] = [function, *(behind[index] if stated[index].is_predicated else ())]
        # Functions that share code return to each other's calls.
        for body in (body for body in bodies.values() if body & bodies[function]):
            for inner in body:
                if stated[inner].mnemonic == "ret":
                    following[inner] += behind[index]


def _reached(start: int, following: Sequence[Sequence[int]]) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        for target in following[waiting.pop()]:
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def _live_group(
    readers: frozenset[int],
    writers: frozenset[int],
    stated: Sequence[SaidOfRegisters],
    before: dict[int, list[int]],
    following: Sequence[Sequence[int]],
    entries: Iterable[int],
) -> set[int]:
    """Return the instructions before which bytes are live that all are read and written by the same."""
    ends = {index for index in writers if not stated[index].is_predicated or stated[index].mnemonic in ("sel", "csel")}
    read_later = _backwards(readers, ends, before)
    # What the first instruction needs, whichever lanes write, was there before it; so was what functions' first ones need.
    written_before = _backwards(readers, set(writers), before)
    starts = [index for index in entries if index in written_before]
    starts += [target for index in writers for target in following[index]]
    written: set[int] = set()
    while starts:
        index = starts.pop()
        if index not in written:
            written.add(index)
            starts += following[index]
    return read_later & written


def _backwards(readers: Iterable[int], ends: set[int], before: dict[int, list[int]]) -> set[int]:
    reached, waiting = set(readers), list(readers)
    while waiting:
        for index in before[waiting.pop()]:
            if index not in reached and index not in ends:
                reached.add(index)
                waiting.append(index)
    return reached


def difference(kernel: Kernel, register_bytes: int) -> str | None:
    """Return where kernlens's liveness differs, None if nowhere."""
    instructions = kernel.instructions
    effects = instructions.effects
    assert effects is not None
    stated = stated_of(kernel, register_bytes)
    theirs = live_bytes(list(instructions.offsets), stated)
    liveness = Liveness(effects)
    for index, expected in enumerate(theirs):
        ours = liveness.before(index) >> GENERAL << GENERAL
        if ours != expected:
            more, less = (list(registers_in(places, register_bytes)) for places in (ours & ~expected, expected & ~ours))
            return (
                f"{kernel.name}[{index}]: kernlens alone has bytes of registers {more}, the reference alone of {less}"
            )
    return None


def sample(built: Iterable[Built], count: int, longest: int) -> Iterator[tuple[Kernel, int]]:
    """Yield so many kernels, evenly from all programs, of at most ``longest`` instructions, each with its registers' size."""
    kernels = [
        (kernel, 64 if build.device in WIDE_REGISTERS else 32)
        for build in built
        for kernel in load(build).kernels.values()
        if kernel.code_size <= 16 * longest
    ]
    for position in range(min(count, len(kernels))):
        yield kernels[position * len(kernels) // min(count, len(kernels))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print counts and what differs; exit status 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append")
    parser.add_argument("--newest-root", type=Path, help="the newest compiler, in this root folder")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--longest", type=int, default=1500)
    chosen = parser.parse_args(arguments)
    if chosen.newest_root:
        search_also(lambda: {"newest": str(chosen.newest_root)})
    compiler = newest(chosen.newest_root) if chosen.newest_root else DEBIAN
    devices = chosen.device or (NEWEST_DEVICES if chosen.newest_root else DEVICES)
    is_right = True
    for device in devices:
        built, _ = build(programs(), [device], compiler=compiler)
        kernels = list(sample(built, -(-chosen.count // len(devices)), chosen.longest))
        differences = [text for kernel, size in kernels if (text := difference(kernel, size))]
        instructions = sum(len(kernel.instructions) for kernel, _ in kernels)
        print(
            f"{device}: {len(kernels)} kernels, {instructions:,} instructions, {len(differences)} differences",
            flush=True,
        )
        for text in differences[:10]:
            print(f"    {text}")
        is_right = is_right and not differences and bool(kernels)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
