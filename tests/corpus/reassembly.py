"""Machine code of the corpus as text and back: bytes, text, the same bytes.

    python -m tests.corpus.reassembly --newest-root ROOT [--instructions N]

Twice for each kernel: every byte by the assembler, so that it is the assembler that is proven, and with unchanged lines keeping
their bytes, as users have it. Exceptions of the first are counted by the rule that names them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import kernlens
from kernlens.errors import AssemblyError
from kernlens.formats.listings.editable_code import EditedCode, read_editable
from kernlens.isa.intel.assembly_text import labelled, mnemonic_of
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.verbs.editable import editable_text, old_code
from kernlens.verbs.edited_instructions import OldCode, assemble_edit
from tests.corpus.build import Built, build
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import programs

#: Rules of what the assembler alone does not give back; all else is a difference.
WHILE = "`while` before Xe: libiga64 loses bit 28, which kernlens sets again"
REFUSED = "the library refuses its own text, and no other is installed"


@dataclass
class Reassembled:
    """What came of some kernels: instructions compared, exceptions by rule, and differences, each in words."""

    kernels: int = 0
    instructions: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, other: Reassembled) -> None:
        self.kernels += other.kernels
        self.instructions += other.instructions
        self.rules += other.rules
        self.differences += other.differences


def reassembled(where: str, program: Program, kernel: Kernel) -> Reassembled:
    """Hold a kernel's code against what its text assembles to, without and with bytes that are kept."""
    result = Reassembled(1, len(kernel.instructions))
    old = old_code(program, kernel)
    edit = read_editable("\n".join(editable_text(where, program, kernel)))
    _compare(result, where, old, edit, reuses=True)
    if not old.text.accepts_own:
        result.rules[REFUSED] += 1
        return result
    _compare(result, where, old, edit, reuses=False)
    result.rules[WHILE] += _lost_bits(result, where, old)
    return result


def _compare(result: Reassembled, where: str, old: OldCode, edit: EditedCode, *, reuses: bool) -> None:
    words = "with bytes that are kept" if reuses else "assembled"
    try:
        new = assemble_edit(old, edit, reuses=reuses)
    except AssemblyError as error:
        result.differences.append(f"{where} {words}: {error}")
        return
    if new.code != old.code:
        at = next((at for at, pair in enumerate(zip(old.code, new.code, strict=False)) if pair[0] != pair[1]), None)
        result.differences.append(f"{where} {words}: other bytes from {at} on, {len(old.code)} -> {len(new.code)}")
    elif new.warnings:
        result.differences.append(f"{where} {words}: {new.warnings[0]}")


def _lost_bits(result: Reassembled, where: str, old: OldCode) -> int:
    """Count the instructions that the library alone does not give back; they may be no others than ``while``."""
    answer = old.text.assemble("\n".join(labelled(old.text)) + "\n")
    if answer.code is None or answer.code == old.code:
        return 0
    starts = [*old.text.offsets, len(old.code)]
    others = [
        row
        for row in range(len(starts) - 1)
        if answer.code[starts[row] : starts[row + 1]] != old.code[starts[row] : starts[row + 1]]
    ]
    for row in others:
        if mnemonic_of(old.text.texts[row]) != "while":
            result.differences.append(f"{where}: {old.text.texts[row]} at {starts[row]:#x}")
    return len(others)


def kernels_of(built: Iterable[Built]) -> Iterator[tuple[str, Program, Kernel]]:
    """Yield the kernels of compiled programs, each with words on where it is from."""
    for item in built:
        for program in kernlens.load(item.binary):
            for kernel in program.kernels.values():
                yield f"{item.name} {kernel.name}", program, kernel


def main() -> int:
    """Print a line for each device and compiler; exit status 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, required=True)
    parser.add_argument("--instructions", type=int, default=45_000, help="for each device and compiler")
    parser.add_argument("--program", action="append", help="the start of a name (default: darktable/)")
    arguments = parser.parse_args()
    search_also(lambda: {"newest": str(arguments.newest_root)})
    chosen = [each for each in programs() if each.name.startswith(tuple(arguments.program or ["darktable/"]))]
    total = Reassembled()
    for compiler, devices in (
        (DEBIAN, ("skl", "icllp", "tgllp", "dg2", "pvc")),
        (newest(arguments.newest_root), ("tgllp", "dg2", "pvc", "bmg", "lnl", "ptl")),
    ):
        for device in devices:
            own = Reassembled()
            for program in chosen:
                if own.instructions >= arguments.instructions:
                    break
                built, _ = build([program], [device], compiler=compiler, jobs=1)
                for where, part, kernel in kernels_of(built):
                    own.add(reassembled(where, part, kernel))
            rules = "".join(f"; {count:,} x {rule}" for rule, count in own.rules.items() if count)
            print(
                f"{device} ({compiler}): {own.instructions:,} instructions of {own.kernels} kernels,"
                f" {len(own.differences)} differences{rules}",
                flush=True,
            )
            for difference in own.differences[:5]:
                print(f"    {difference}")
            total.add(own)
    print(f"{total.instructions:,} instructions of {total.kernels:,} kernels, {len(total.differences)} differences")
    return 1 if total.differences else 0


if __name__ == "__main__":
    sys.exit(main())
