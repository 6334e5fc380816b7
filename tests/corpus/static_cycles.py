"""Static cycles, held against those that the newest IGC writes: ``python -m tests.corpus.static_cycles --help``.

With ``-staticBBProfiling`` IGC writes behind each instruction of its listings the cycle in which it issues within its
block (``#187``), for devices with three in-order pipes: dg2, mtl, arl-h. With ``-dumpSchedule`` it writes for all devices
how long an instruction occupies its pipe, from before it assigns registers' scoreboards.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import kernlens
from kernlens.analysis.flow.static_cycles import waits_of
from kernlens.isa.intel.iga_library import search_also
from kernlens.isa.intel.latencies import timings_of
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from tests.corpus.build import Built, build
from tests.corpus.compiler import Compiler, newest
from tests.corpus.manifest import programs
from tests.packed_code import packed

#: What each oracle needs: IGC's option, and the dumps that hold its figures.
_ORACLES = {"cycles": ("-staticBBProfiling", ("*.asm",)), "occupancy": ("-dumpSchedule", ("*.asm", "*.schedule"))}
_CYCLE = re.compile(r"#(\d+) ")
_BLOCK = re.compile(r"// B\d+:")
_HASH = re.compile(r"\s*(?:/\*.*?\*/\s*)?\(W\)\s+mov \(16\|M0\)\s+null<1>:ud\s+0x")
_LABEL = re.compile(r"[\w.$]+:\s*(//.*)?$")
_KERNEL = re.compile(r"//\.kernel (.+)")
#: A row of a schedule: how long it occupies its pipe, its mnemonic and lanes, and the number of its vISA instruction.
_SCHEDULED = re.compile(r"\s*\d+\s+\S+\[\d+\]I\d+L(\d+)E\d+P\d+ (.*?)// (?:#\d+:)?\$(\d+)")
_LISTED = re.compile(r"(.*?)//.*\$(\d+)")
_LANES = re.compile(r"([a-z]\w*)[\w.&|~^()]* +\((\d+)[|)]")


@dataclass(frozen=True)
class Stated:
    """What a listing states: ``cycles`` of each instruction, and the first rows of its ``blocks``."""

    kernel: str
    cycles: tuple[int | None, ...]
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Compared:
    """A kernel: how many of its instructions differ with IGC's blocks, and with those that the binary alone tells."""

    name: str
    instructions: int
    differ: tuple[int, ...]
    differ_alone: tuple[int, ...]
    missing_blocks: tuple[int, ...]
    extra_blocks: tuple[int, ...]


def stating(compiler: Compiler, oracle: str = "cycles") -> Compiler:
    """Return the compiler, which writes the figures of this oracle."""
    option, dumps = _ORACLES[oracle]
    return replace(compiler, settings=(("IGC_VISAOptions", option),), dumps=dumps)


def read_stated(text: str) -> Stated:
    """Read a listing, without the compiler's hash."""
    kernel, cycles, blocks = "", list[int | None](), list[int]()
    for line in text.splitlines():
        if line.startswith("//"):
            if _BLOCK.match(line):
                blocks.append(len(cycles))
            elif match := _KERNEL.match(line):
                kernel = match[1].strip()
        elif line.strip() and not _LABEL.match(line) and not _HASH.match(line):
            match = _CYCLE.search(line.partition("//")[2])
            cycles.append(int(match[1]) if match else None)
    return Stated(kernel, tuple(cycles), tuple(dict.fromkeys(block for block in blocks if block < len(cycles))))


def compared(program: Program, listings: Sequence[Path], name: str = "") -> Iterator[Compared]:
    """Yield the kernels of which there is a listing of this very code: the compiler may have tried several times."""
    stated = [read_stated(path.read_text(errors="replace")) for path in listings]
    for kernel in program.kernels.values():
        of_kernel = [each for each in stated if each.kernel == kernel.name and _is_of(each, kernel)]
        if of_kernel and program.device is not None:
            yield _compare(program, kernel, of_kernel[-1], f"{name} {kernel.name}")


def _is_of(stated: Stated, kernel: Kernel) -> bool:
    return len(stated.cycles) == len(kernel.instructions)


def _compare(program: Program, kernel: Kernel, stated: Stated, name: str) -> Compared:
    assert program.device is not None
    waits = kernel.waits
    assert waits is not None
    alike = waits_of(
        packed(kernel.instructions), timings_of(packed(kernel.instructions), program.device), stated.blocks
    )
    rows = [row for row, cycle in enumerate(stated.cycles) if cycle is not None]
    differ, alone = (
        tuple(row for row in rows if starts[row] != stated.cycles[row]) for starts in (alike.starts, waits.starts)
    )
    last = rows[-1] if rows else 0
    missing, extra = set(stated.blocks) - set(waits.blocks), set(waits.blocks) - set(stated.blocks)
    return Compared(
        name, len(rows), differ, alone, tuple(sorted(missing)), tuple(sorted(row for row in extra if row <= last))
    )


def compared_occupancy(built: Built) -> Counter[str]:
    """Count the instructions of a compiled program by whether they occupy their pipes as long as IGC's schedules say.
    These are from before the scoreboard: a vISA instruction's number, a mnemonic and the lanes tell who is who."""
    counts: Counter[str] = Counter()
    (program,) = kernlens.load(built.binary)
    listings = {path: read_stated(path.read_text(errors="replace")) for path in built.assembly}
    for kernel in program.kernels.values():
        of_kernel = [path for path, each in listings.items() if each.kernel == kernel.name and _is_of(each, kernel)]
        if not of_kernel or program.device is None:
            continue
        path = of_kernel[-1]
        scheduled: dict[tuple[str, ...], Counter[int]] = {}
        for schedule in path.parent.glob(f"{path.stem}.bb*.schedule"):
            for line in schedule.read_text(errors="replace").splitlines():
                if (match := _SCHEDULED.match(line)) and (lanes := _LANES.search(match[2])):
                    scheduled.setdefault((match[3], lanes[1], lanes[2]), Counter())[int(match[1])] += 1
        issue = timings_of(packed(kernel.instructions), program.device).issue
        issued: dict[tuple[str, ...], Counter[int]] = {}
        for row, line in enumerate(_instruction_lines(path.read_text(errors="replace"))):
            if (match := _LISTED.match(line)) and (lanes := _LANES.search(match[1])):
                issued.setdefault((match[2], lanes[1], lanes[2]), Counter())[issue[row]] += 1
        for key, cycles in issued.items():
            expected = scheduled.get(key, Counter())
            if cycles.total() != expected.total():  # The compiler split, moved or added some afterwards.
                if len(expected) != 1:
                    counts["untold"] += cycles.total()
                    continue
                expected = Counter({next(iter(expected)): cycles.total()})
            wrong = (cycles - expected).total()
            counts["alike"] += cycles.total() - wrong
            if wrong:
                counts[f"{key[1]} ({key[2]}): {dict(cycles)} for {dict(expected)}"] += wrong
    return counts


def _instruction_lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.strip() and not line.startswith("//") and not _LABEL.match(line))


def of_built(built: Built) -> list[Compared]:
    (program,) = kernlens.load(built.binary)
    return list(compared(program, built.assembly, built.name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print counts per device and what differs; exit status 1 if an instruction differs with IGC's blocks, more than 1
    in 10,000 with those of the binary, or more than 1 in 5,000 in how long its pipe is occupied."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, required=True, help="the newest compiler, in this root folder")
    parser.add_argument("--device", action="append", help="default: dg2, mtl")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    parser.add_argument("--occupancy", action="store_true", help="how long pipes are occupied (default device: bmg)")
    parser.add_argument("--jobs", type=int)
    chosen = parser.parse_args(arguments)
    search_also(lambda: {"newest": str(chosen.newest_root)})
    prefixes = tuple(chosen.program or [""])
    selected = [program for program in programs() if program.name.startswith(prefixes)]
    is_right = True
    if chosen.occupancy:
        for name in chosen.device or ["bmg"]:
            compiler = stating(newest(chosen.newest_root), "occupancy")
            built, _ = build(selected, [name], compiler=compiler, jobs=chosen.jobs)
            counts = sum(map(compared_occupancy, built), Counter[str]())
            alike, untold = counts.pop("alike", 0), counts.pop("untold", 0)
            print(f"{name}: of {alike + counts.total()} instructions {counts.total()} differ; {untold} are not told")
            print("".join(f"    {count} {words}\n" for words, count in counts.most_common()), end="")
            is_right = is_right and 0 <= 5_000 * counts.total() <= alike
        return 0 if is_right else 1
    for name in chosen.device or ["dg2", "mtl"]:
        built, _ = build(selected, [name], compiler=stating(newest(chosen.newest_root)), jobs=chosen.jobs)
        kernels = [kernel for each in built for kernel in of_built(each)]
        total = sum(kernel.instructions for kernel in kernels)
        differ, alone = (
            sum(map(len, each)) for each in zip(*((k.differ, k.differ_alone) for k in kernels), strict=True)
        )
        print(f"{name}: {len(kernels)} kernels, {total} instructions; with IGC's blocks {differ} differ,")
        print(f"    with the binary's {alone}")
        for kernel in kernels:
            if kernel.differ or kernel.differ_alone:
                print(f"    {kernel}")
        is_right = is_right and total > 0 and not differ and 10_000 * alone <= total
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
