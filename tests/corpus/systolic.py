"""Systolic code, which no package's kernels hold: products of int8 and bf16 (``systolic.cl``), for 128 and 256 registers.

    python -m tests.corpus.systolic --newest-root ~/.cache/kernlens-tests/toolchains/newest

compiles them with the newest compiler (Debian 12's does not have their functions) and runs the checks of texts, messages and
registers. The compiler's cycles are compared on dg2, on the other devices how long its schedules say that instructions occupy
their pipes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernlens.isa.intel.iga_library import search_also
from tests.corpus.build import Built
from tests.corpus.checks import check_messages, check_registers, check_texts, load
from tests.corpus.compiler import Compiler, newest
from tests.corpus.manifest import CorpusProgram, Package
from tests.corpus.packages import CorpusError, packages_folder
from tests.corpus.static_cycles import compared_occupancy, of_built, stating

SOURCE = Path(__file__).with_suffix(".cl")
#: The device -> the lanes of its systolic array.
LANES = {"dg2": 8, "pvc": 16, "bmg": 16, "ptl": 16}
#: Rows of tiles that need more than 128 registers.
OPTIONS = ("", "-cl-intel-256-GRF-per-thread -DROWS=12")
CYCLES = "dg2"


def built_for(compiler: Compiler, device: str, options: str, folder: Path) -> Built:
    """Return the kernels compiled for a device, below ``folder``. Raises CorpusError if they do not compile."""
    packages_folder().mkdir(parents=True, exist_ok=True)
    words = f"-gline-tables-only -DWIDTH={LANES[device]} {options}".strip()
    program = CorpusProgram(f"systolic{options}", Package("kernlens", "", ""), (str(SOURCE),), words, "")
    home = Path(tempfile.mkdtemp(dir=folder)) / "built"
    log = compiler.compile(str(SOURCE), device, words, home)
    if log is not None:
        raise CorpusError(f"{device} {words}: {log}")
    return Built(program, device, home)


def programs_of(root: Path, devices: Sequence[str], folder: Path) -> Iterator[Built]:
    """Yield the kernels compiled for each of these devices with both numbers of registers, by the compiler of this root
    folder, with the figures that it states."""
    for device in devices:
        for options in OPTIONS:
            oracle = "cycles" if device == CYCLES else "occupancy"
            yield built_for(stating(newest(root), oracle), device, options, folder)


def differences(built: Built, root: Path) -> tuple[Counter[str], list[str]]:
    """Return how much was compared of a compiled program, and what differs."""
    counts, wrong = Counter[str](), list[str]()
    for outcome in (check_texts(built, root), check_messages(built), check_registers(built)):
        counts[outcome.unit] += outcome.compared
        wrong += outcome.differences
    costs = [kernel.costs for kernel in load(built).kernels.values()]
    for key in ("systolic_instructions", "global_prefetches"):
        counts[key] += sum(each[key] for each in costs)
    if built.device == CYCLES:
        for kernel in of_built(built):
            counts["cycles"] += kernel.instructions
            wrong += [f"{kernel}"] if kernel.differ or kernel.differ_alone else []
    else:
        occupied = compared_occupancy(built)
        counts["occupancies"] += occupied.pop("alike", 0)
        counts["occupancies not told"] += occupied.pop("untold", 0)
        wrong += [f"{built.name}: {count} {words}" for words, count in occupied.items()]
    return counts, wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Print counts and what differs; exit status 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--newest-root", type=Path, required=True, help="the newest compiler, in this root folder")
    parser.add_argument("--device", action="append", help=f"default: {', '.join(LANES)}")
    chosen = parser.parse_args(arguments)
    search_also(lambda: {"newest": str(chosen.newest_root)})
    is_right = True
    with tempfile.TemporaryDirectory() as folder:
        for built in programs_of(chosen.newest_root, chosen.device or list(LANES), Path(folder)):
            counts, wrong = differences(built, chosen.newest_root)
            print(f"{built.name}: {dict(counts)}; {len(wrong)} differ")
            print("".join(f"    {text}\n" for text in wrong[:10]), end="")
            is_right &= not wrong and counts["systolic_instructions"] > 0
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
