"""Limits of 0 on a thread's memory, held against what the code and the compiler's own dumps say of kernels that have some:
``python -m tests.corpus.thread_memory --help``."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kernlens.isa.intel.iga_library import search_also
from kernlens.model.bounds import Rule, bound
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.verdict import PASSED, SKIPPED
from kernlens.verbs.check import judged
from tests.corpus.build import Built, build
from tests.corpus.checks import load
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, programs
from tests.corpus.spills import FEW_REGISTERS, with_few_registers

#: One name of the sum for each vendor: all of them have to hold each kernel.
_LIMITS = ("max-scratch", "max-private-segment-bytes")
_TRAFFIC = ("scratch_loads", "scratch_stores", "scratch_atomics", "spill_stores", "fill_loads")
_PRIVATE = re.compile(r'!"privateMemoryPerWI", i32 (\d+)')
_SPILLED = re.compile(r"^//\.(spill size|private memory size) (\d+)", re.MULTILINE)
_NAME = re.compile(r"^//\.kernel (.+)", re.MULTILINE)
_WIDTH = re.compile(r"_simd(\d+)_")


@dataclass
class Counts:
    """Kernels by what they have, and those that pass a limit of 0 though they have it."""

    kernels: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        self.kernels += other.kernels
        self.wrong += other.wrong


def check_thread_memory(built: Built) -> Counts:
    """Hold each kernel to limits of 0, and note those that pass though their code accesses memory of its thread, or IGC's dump
    has private memory or spills at the width of the kernel."""
    counts, program = Counts(), load(built)
    passing = [_passing(program, limit) for limit in _LIMITS]
    dumped = {(match[1], width): text for width, text in _listings(built) if (match := _NAME.search(text))}
    for kernel in program.listed_kernels.values():
        if kernel.name == PSEUDO_KERNEL:  # Functions state nothing: each kernel that calls them does.
            continue
        has = _memory(kernel, dumped.get((kernel.name, kernel.resources.simd or 0), ""))
        counts.kernels.update([*has, "kernels", "with any" if has else "with none"])
        if has and any(kernel.name in names for names in passing):
            counts.wrong.append(f"{built.name} {kernel.name}: {', '.join(has)}")
    sizes = _private_sizes(built)
    if sizes:
        counts.kernels.update(["programs with private memory in IGC's metadata"])
        if all(kernel.name in passing[0] for kernel in program.entry_kernels.values()):
            counts.wrong.append(f"{built.name}: IGC's metadata have private memory of {sorted(sizes)} bytes")
        counts.wrong += _other_sizes(built, program, sizes)
    return counts


def _passing(program: Program, limit: str) -> set[str]:
    verdict = judged([program], [Rule("*", (bound(limit, 0),))])
    return {finding.kernel.name for finding in verdict.findings if finding.state in (PASSED, SKIPPED)}


def _memory(kernel: Kernel, dump: str) -> list[str]:
    """Return in words which memory a kernel has by its code and by the dump."""
    costs, resources = kernel.costs, kernel.resources
    messages = sum(costs[key] for key in _TRAFFIC)
    has = ["messages to scratch"] if messages else []
    has += [f"{match[1]} in the dump" for match in _SPILLED.finditer(dump) if int(match[2])]
    has += ["a stack"] if resources.stack_bytes else []
    return has + (["private memory"] if resources.private_bytes else [])


def _listings(built: Built) -> Iterable[tuple[int, str]]:
    """Yield the heads of IGC's listings with their widths, the last attempt last."""
    for path in built.assembly:
        if match := _WIDTH.search(path.name):
            yield int(match[1]), path.read_text(errors="replace")[:20_000]


def _private_sizes(built: Built) -> set[int]:
    """Return the private memory of a work-item that IGC's module has before its code is generated, in its last attempt."""
    attempts = sorted((built.folder / "dump").glob("*_codegen.ll"))
    return (
        {int(size) for size in _PRIVATE.findall(attempts[-1].read_text(errors="replace"))} - {0} if attempts else set()
    )


def _other_sizes(built: Built, program: Program, sizes: set[int]) -> list[str]:
    """Return a sentence if the only kernel of a program states other private memory than IGC's module has."""
    kernels = list(program.entry_kernels.values())
    if (
        len(kernels) != 1
        or len(sizes) != 1
        or PSEUDO_KERNEL in program.kernels
        or kernels[0].resources.stack_bytes != 0
    ):
        return []
    own, (size,) = kernels[0].resources, sizes
    if own.private_bytes is None or own.private_bytes == size * (own.simd or 0):
        return []
    return [f"{built.name}: {own.private_bytes} private bytes at SIMD{own.simd}, IGC has {size} for a work-item"]


def checked(built: Sequence[Built], root: Path | None = None) -> Counts:
    """Return the counts of all of ``built``. ``root``: the newest compiler's, if that made them."""
    counts = Counts()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for each in pool.map(partial(_check_one, root=root), built, chunksize=4):
            counts.add(each)
    return counts


def _check_one(built: Built, root: Path | None) -> Counts:
    if root is not None:
        search_also(lambda: {"newest": str(root)})
    return check_thread_memory(built)


def main(words: Sequence[str] | None = None) -> int:
    """Print the counts; exit status 1 if a kernel with memory of its thread passes a limit of 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", action="append", help=f"default: {', '.join(DEVICES)}, or the newest compiler's")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    parser.add_argument("--newest-root", type=Path, help="the newest compiler, in this root folder")
    parser.add_argument("--few-registers", action="store_true", help=f"with {FEW_REGISTERS[0]} registers: many spill")
    chosen = parser.parse_args(words)
    root = chosen.newest_root
    compiler = newest(root) if root else DEBIAN
    if chosen.few_registers:
        compiler = with_few_registers(compiler)
    prefixes = tuple(chosen.program or [""])
    some = [program for program in programs() if program.name.startswith(prefixes)]
    built, failed = build(some, chosen.device or (NEWEST_DEVICES if root else DEVICES), compiler=compiler)
    counts = checked(built, root)
    print(f"{len(built):,} binaries, {len(failed):,} that do not compile ({compiler})")
    for name, count in sorted(counts.kernels.items()):
        print(f"{name}: {count:,}")
    print(f"pass a limit of 0 though they have memory, or state other sizes: {len(counts.wrong):,}")
    for sentence in counts.wrong[:20]:
        print(f"    {sentence}")
    return 1 if counts.wrong or not counts.kernels["with any"] else 0


if __name__ == "__main__":
    sys.exit(main())
