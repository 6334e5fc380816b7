"""Damaged inputs over every reader and the decoder: ``python -m tests.corpus.mutate --count 100000``.

Each input is a real file, or a part of one, that was cut, extended, overwritten or spliced; or bytes without sense behind
a real magic number. It is opened as ``kernlens`` opens it, and everything in it is asked for. Only KernlensError may come
out, within a second each. The work is done in child processes, so that a crash is counted and not fatal.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernlens.errors import KernlensError

#: Seconds that one input may take.
LIMIT = 1.0
MAGICS = (
    b"!<arch>\n",
    b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 0xFF04, 0),
    b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 1, 205),
    b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 1, 182),
    b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, 62),
    b"CTNI" + struct.pack("<6I", 1081, 0xC07, 8, 3, 0, 0),
    b"CTNI" + struct.pack("<6I", 1081, 0, 0xC07, 0, 0, 3),
    struct.pack("<5I", 0x07230203, 0x10000, 0, 100, 0),
    b"BC\xc0\xde",
    b"SQLite format 3\0",
)
#: Values that lengths and offsets go wrong with.
EDGES = (0, 1, 7, 8, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1)


@dataclass
class Tally:
    """The outcome of the inputs: counts by outcome, and a line for each input that misbehaved."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.failures += other.failures
        self.slowest = max(self.slowest, other.slowest)


def mutate(seeds: Sequence[bytes], random_: random.Random) -> bytes:
    """Return one damaged input."""
    kind = random_.randrange(8)
    if kind == 0:
        return random_.choice(MAGICS) + random_.randbytes(random_.choice((0, 3, 40, 400, 4000)))
    content = bytearray(random_.choice(seeds))
    if kind == 1:
        return bytes(content[: random_.randrange(len(content) + 1)])
    if kind == 2:
        other = random_.choice(seeds)
        place = random_.randrange(len(content))
        length = random_.randrange(1, 4096)
        start = random_.randrange(len(other))
        content[place : place + length] = other[start : start + length]
        return bytes(content)
    for _ in range(random_.choice((1, 1, 2, 4, 16, 64))):
        # Headers are where lengths stand: hit the first bytes often.
        place = random_.randrange(min(len(content), random_.choice((64, 512, len(content)))))
        if kind in (3, 4):
            content[place] ^= 1 << random_.randrange(8)
        else:
            width = random_.choice((1, 2, 4, 8))
            value = random_.choice(EDGES) if kind == 5 else random_.getrandbits(64)
            content[place : place + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(content)


def exercise(content: bytes, folder: Path) -> None:
    """Open an input and ask for everything in it."""
    from kernlens.analysis.parts import parts
    from kernlens.cli.answers.costliest import costliest_kernel
    from kernlens.isa.devices import device
    from kernlens.loading.context import Context
    from kernlens.loading.identify import identify
    from kernlens.loading.open import open_bytes, open_file
    from kernlens.report.program_document import inspect_document
    from tests.writers.documents import annotate_document

    view = memoryview(content)
    if len(content) >= 20 and identify(view) == "recording":
        path = folder / "input.klens"
        path.write_bytes(content)
        contents = open_file(path)
    else:
        contents = open_bytes(view, "input", Context(device=device("dg2")))
    for part in parts(contents.containers, contents.programs):
        assert part.path
    inspect_document(contents.containers, contents.programs)
    for program in contents.programs:
        _ = program.symbols, program.relocations, program.sources
        for kernel in program.kernels.values():
            _ = kernel.resources, kernel.arguments
            try:
                annotate_document([(program, [kernel])])
                costliest_kernel(program, kernel, 3, "memory")
            except KernlensError:
                continue  # The next kernel may be whole.


def run(seeds: Sequence[bytes], count: int, seed: int) -> Tally:
    """Try ``count`` inputs in this process."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="kernlens-mutate-") as name:
        folder = Path(name)
        for number in range(count):
            content = mutate(seeds, random.Random(f"{seed}/{number}"))
            (folder / "last").write_text(f"{seed}/{number}", "utf-8")
            started = time.process_time()
            try:
                exercise(content, folder)
                outcome = "opened"
            except KernlensError as error:
                outcome = type(error).__name__
            except Exception as error:
                outcome = "ESCAPED"
                tally.failures.append(f"{seed}/{number}: {type(error).__name__}: {error}")
            took = time.process_time() - started
            tally.slowest = max(tally.slowest, took)
            if took > LIMIT:
                tally.failures.append(f"{seed}/{number}: took {took:.1f} s")
            tally.counts[outcome] += 1
    return tally


def _child(arguments: tuple[Sequence[bytes], int, int], answer: multiprocessing.connection.Connection) -> None:
    answer.send(run(*arguments))


def campaign(seeds: Sequence[bytes], count: int, seed: int, workers: int, batch: int = 500) -> Tally:
    """Try ``count`` inputs in child processes; a child that dies is a failure that names its batch."""
    total = Tally()
    batches = [(seeds, min(batch, count - start), seed + start) for start in range(0, count, batch)]
    context = multiprocessing.get_context("fork")
    running: list[tuple[multiprocessing.process.BaseProcess, multiprocessing.connection.Connection, int]] = []
    while batches or running:
        while batches and len(running) < workers:
            arguments = batches.pop()
            receiver, sender = context.Pipe(False)
            worker = context.Process(target=_child, args=(arguments, sender))
            worker.start()
            sender.close()
            running.append((worker, receiver, arguments[2]))
        child, receiver, number = running.pop(0)
        try:
            total.add(receiver.recv())
        except EOFError:
            child.join()
            total.failures.append(f"the batch of seed {number} crashed: exit code {child.exitcode}")
        child.join()
    return total


def seeds_of(paths: Sequence[Path], size_limit: int = 200_000) -> list[bytes]:
    """Return the files, and each container and kernel within them as a seed of its own; large ones are left out."""
    from kernlens.loading import open_file

    seeds: dict[bytes, None] = {}
    for path in paths:
        contents = open_file(path)
        stack = list(contents.containers)
        while stack:
            container = stack.pop()
            seeds[bytes(container.content)] = None
            stack += container.children
        for program in contents.programs:
            seeds.update((bytes(kernel.code), None) for kernel in list(program.kernels.values())[:2])
        if path.suffix == ".klens":
            seeds[path.read_bytes()] = None
    return [content for content in seeds if 0 < len(content) <= size_limit]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="real binaries and recordings to damage")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args()
    seeds = seeds_of(chosen.files)
    started = time.monotonic()
    tally = campaign(seeds, chosen.count, chosen.seed, chosen.jobs)
    outcomes = ", ".join(f"{count:,} {name}" for name, count in tally.counts.most_common())
    print(
        f"{sum(tally.counts.values()):,} inputs from {len(seeds)} seeds in {time.monotonic() - started:.0f} s: {outcomes}"
    )
    print(f"slowest {tally.slowest:.2f} s; {len(tally.failures)} failures")
    for failure in tally.failures[:50]:
        print(" ", failure)
    sys.exit(1 if tally.failures else 0)


if __name__ == "__main__":
    main()
