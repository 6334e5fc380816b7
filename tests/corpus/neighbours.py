"""Instructions under source lines, held against the compiler's own ``!dbg``: ``python -m tests.corpus.neighbours --help``.

Of each kernel, loaded without the stages of its compile, this counts the instructions under lines: those that kernlens
holds for certain, and the others, each by what the compiler says of it (``oracles/visa_numbers.py``). A certain one that
the compiler has elsewhere, or nowhere, is a fault.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kernlens.isa.intel.iga_library import search_also
from kernlens.model.kernel import Kernel
from kernlens.model.source_map import UNCERTAIN
from tests.corpus.build import Built, build
from tests.corpus.checks import compiler_places, load
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, programs

#: What the compiler says of an instruction: it is of this line, of none, of another, or the dumps do not tell.
OWN, NONE, OTHER, UNTOLD = "of this line", "of no line", "of another line", "not told by the dumps"


@dataclass
class Neighbours:
    """The instructions under lines, by what the compiler says of them; ``faults`` are certain ones that it contradicts."""

    certain: Counter[str] = field(default_factory=Counter)
    uncertain: Counter[str] = field(default_factory=Counter)
    kernels: int = 0
    untold_kernels: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def add(self, other: Neighbours) -> None:
        self.certain += other.certain
        self.uncertain += other.uncertain
        self.kernels += other.kernels
        self.untold_kernels += other.untold_kernels
        self.faults += other.faults

    def words(self) -> Iterator[str]:
        for name, counts in (("certain", self.certain), ("uncertain", self.uncertain)):
            parts = (f"{counts[judgement]:,} {judgement}" for judgement in (OWN, NONE, OTHER, UNTOLD))
            yield f"{name}: {counts.total():,} instructions: {', '.join(parts)}"


def neighbours(built: Built, root: Path | None = None) -> Neighbours:
    """Return the counts of one program's kernels. ``root``: the newest compiler's, if that made it."""
    if root is not None:
        search_also(lambda: {"newest": str(root)})
    result = Neighbours()
    for kernel in load(built).kernels.values():
        _add_kernel(result, built, kernel)
    return result


def _add_kernel(result: Neighbours, built: Built, kernel: Kernel) -> None:
    source_map, where = kernel.source_map, f"{built.name} {kernel.name}"
    if source_map is None:
        return
    stated = compiler_places(built, kernel)
    if stated is None:
        result.untold_kernels.append(where)
        return
    result.kernels += 1
    under_lines = {index for runs in source_map.lines.values() for run in runs for index in run}
    for index in sorted(under_lines):
        place, told = source_map.places[index], stated[index]
        assert place is not None
        here = Path(place.path).name, place.line
        judgement = OTHER if told.known else UNTOLD
        if told.known and told.place in (here, None):
            judgement = OWN if told.place else NONE
        if source_map.origins[index] == UNCERTAIN:
            result.uncertain[judgement] += 1
            continue
        result.certain[judgement] += 1
        if judgement in (NONE, OTHER):
            offset = source_map.offsets[index]
            result.faults.append(f"{where} at {offset:#x}: certainly of {here}, the compiler says {told.place}")


def every(built: Sequence[Built], root: Path | None = None) -> Neighbours:
    """Return the counts over all of ``built``, in parallel."""
    total = Neighbours()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(partial(neighbours, root=root), built, chunksize=4):
            total.add(part)
    return total


def main() -> int:
    """Print the counts; exit status 1 if the compiler contradicts a certain line, or nothing was compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help=f"default: {', '.join(DEVICES)}")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    parser.add_argument("--newest-root", type=Path, help="zebins of the newest compiler, in this root folder")
    parser.add_argument("--show", type=int, default=10, help="how many faults to print (default: 10)")
    arguments = parser.parse_args()
    root = arguments.newest_root
    prefixes = tuple(arguments.program or [""])
    chosen = [program for program in programs() if program.name.startswith(prefixes)]
    devices = arguments.device or (NEWEST_DEVICES if root else DEVICES)
    compiler = newest(root) if root else DEBIAN
    built, failed = build(chosen, devices, compiler=compiler)
    for failure in failed:
        print(f"does not compile: {failure.program.name} for {failure.device}")
    total = every(built, root)
    print(
        f"{len(built)} binaries for {', '.join(devices)} ({compiler}), {total.kernels:,} kernels with lines and dumps"
    )
    for line in total.words():
        print(line)
    for name in total.untold_kernels[: arguments.show]:
        print(f"no dump of {name}")
    print(f"certain lines that the compiler contradicts: {len(total.faults)}")
    for fault in total.faults[: arguments.show]:
        print(f"    {fault}")
    return 1 if failed or total.faults or not total.certain.total() else 0


if __name__ == "__main__":
    sys.exit(main())
