"""Loops by their definition (``oracles/natural_loops.py``), on single instructions and the branches in libiga64's texts.

    python -m tests.corpus.loops --newest-root ~/.cache/kernlens-tests/toolchains/newest

compares the kernels of the corpus, of both compilers, with ``Kernel.loops``, and counts what it meets.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kernlens.isa.intel.iga_library import search_also
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.loop_nest import Loops
from tests.corpus.build import build
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, programs
from tests.corpus.oracles.natural_loops import DefinedLoops
from tests.corpus.oracles.register_texts import said_of_registers
from tests.corpus.slow_liveness import sample, ways_from
from tests.packed_code import packed


def difference(instructions: IntelInstructions, loops: Loops, register_bytes: int) -> str | None:
    """Return where the loops differ from those of the definition, None if nowhere."""
    stated = [said_of_registers(text, register_bytes) for text in instructions.texts]
    offsets = list(instructions.offsets)
    following = [list(ways_from(index, offsets, stated)) for index in range(len(stated))]
    called = {offsets.index(offset) for offset in instructions.called if offset in offsets}
    entries = {0, *called}
    defined = DefinedLoops(following, entries)
    ours = {
        loop.header.start: {row for rows in loops.rows(number) for row in rows}
        for number, loop in enumerate(loops.loops)
        if not loop.is_irreducible
    }
    theirs = defined.natural
    if any(loop.is_irreducible for loop in loops.loops) != defined.has_irreducible:
        return f"irreducible by the definition: {defined.has_irreducible}"
    if ours != theirs:
        return f"loops at rows {sorted(ours)}, by the definition at {sorted(theirs)}, or others of their rows differ"
    depths = [sum(row in nodes for nodes in theirs.values()) for row in range(len(stated))]
    if not defined.has_irreducible and depths != list(loops.depths):
        return "the depths of rows differ"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print counts and what differs; exit status 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append")
    parser.add_argument("--program", default="", help="only programs whose name begins so")
    parser.add_argument("--newest-root", type=Path, help="the newest compiler, in this root folder")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--longest", type=int, default=3000)
    chosen = parser.parse_args(arguments)
    if chosen.newest_root:
        search_also(lambda: {"newest": str(chosen.newest_root)})
    compiler = newest(chosen.newest_root) if chosen.newest_root else DEBIAN
    devices = chosen.device or (NEWEST_DEVICES if chosen.newest_root else DEVICES)
    named = [program for program in programs() if program.name.startswith(chosen.program)]
    is_right = True
    for device in devices:
        built, _ = build(named, [device], compiler=compiler)
        counts, differences = Counter[str](), []
        for kernel, register_bytes in sample(built, -(-chosen.count // len(devices)), chosen.longest):
            loops = kernel.loops
            assert loops is not None
            counts.update(kernels=1, instructions=len(kernel.instructions), loops=len(loops.loops))
            counts["deepest"] = max(counts["deepest"], *loops.depths)
            counts["irreducible"] += sum(loop.is_irreducible for loop in loops.loops)
            if text := difference(packed(kernel.instructions), loops, register_bytes):
                differences.append(f"{kernel.name}: {text}")
        shown = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        print(f"{device}: {shown}, {len(differences)} differences", flush=True)
        for text in differences[:10]:
            print(f"    {text}")
        is_right = is_right and not differences and bool(counts)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
