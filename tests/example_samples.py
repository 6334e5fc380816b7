"""The file of samples among the examples: written by unitrace's printing rules, not measured.

No Intel GPU to take samples on was at hand. The counts are set by what each instruction waits for, and a random number:
they say nothing about any device. ``python -m tests.example_samples`` writes the file.
"""

from __future__ import annotations

import random
from pathlib import Path

from kernlens import compile
from kernlens.analysis.flow.distance_waits import distance_waits
from kernlens.analysis.flow.token_waits import token_waits
from kernlens.model.kernel import Kernel
from tests.packed_code import packed
from tests.tree import ROOT
from tests.writers.stall_samples import Device, Row, counts, legacy_stall_samples

#: The kernel, and a device with stall sampling that Debian 12's compiler has.
SOURCE, DEVICE = ROOT / "examples/kernels/blur.cl", "pvc"
EXAMPLE = ROOT / "examples/samples/blur.metrics.csv"
_NOTE = "Written by the printing rules of unitrace, not measured: the counts say nothing about a device.\n"


def example() -> str:
    """Return the file's text: two devices, and a kernel that the recording does not hold."""
    (program,) = compile(SOURCE, [DEVICE], toolchain="system")
    (kernel,) = program.kernels.values()
    chance = random.Random(23)
    first = _rows(kernel, chance)
    first.append(("void scale<float, 16>(float*, int)", 0x40, counts(Active=3, SbidStall=11)))
    return _NOTE + legacy_stall_samples([Device(0, first), Device(1, _rows(kernel, chance))])


def _rows(kernel: Kernel, chance: random.Random) -> list[Row]:
    code = kernel.instructions
    tokens = {wait.waiter for wait in token_waits(code)}
    distances = {wait.waiter for wait in distance_waits(code)}
    rows: list[Row] = []
    for row, offset in enumerate(code.offsets):
        numbers = counts(
            Active=chance.randrange(6),
            SendStall=chance.randrange(8) if packed(code)[row].message else 0,
            DistStall=chance.randrange(10) if row in distances else 0,
            SbidStall=chance.randrange(40, 160) if row in tokens else 0,
            InstrFetchStall=chance.randrange(2),
        )
        if any(numbers):
            rows.append((kernel.name, offset, numbers))
    return rows


def main(path: Path = EXAMPLE) -> None:
    """Write the file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(example(), "utf-8")


if __name__ == "__main__":
    main()
