"""Kernels before and after a public change: is the authors' cause named, and the sign of the change right?

    python -m tests.corpus.pairs [--device pvc] [--pair rms_norm]

Each kernel runs in the interpreter beside its machine code. For each pair the table has three ratios of before to after, which
are to be above 1: the best static figure (cycles of a work-item, each loop once), the cycles of a core by the model of the
bound, as `diff` prints them, and the moved units; then the gain that the authors state, the bounds, at which place `advise`
names their cause, and what it names.
"""

from __future__ import annotations

import argparse
import struct
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernlens.analysis.kernel_bound import kernel_bound
from kernlens.analysis.ranked_causes import RankedCause
from kernlens.dataclass import dataclass
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.verbs.advise import advise
from kernlens.verbs.observe.observe import observe

HERE = Path(__file__).parent
PAIRS: Mapping[str, Mapping[str, Any]] = tomllib.loads((HERE / "pairs.toml").read_text())


@dataclass(frozen=True)
class Side:
    """A kernel that ran: figures of its launch, and the causes that advice names, by kind and line, in their order."""

    static: float
    cycles: float
    bound: str
    units: int
    causes: tuple[tuple[str, int, float], ...]


def inputs(folder: Path, pair: Mapping[str, Any]) -> None:
    """Write the files that the launches read."""
    for name, values in zip(("sizes.raw", "strides.raw"), pair.get("sizes", ()), strict=False):
        (folder / name).write_bytes(struct.pack(f"{len(values)}q", *values))
    (folder / "rois.raw").write_bytes(struct.pack("5f", 0.0, 1.0, 1.0, 14.0, 14.0))
    (folder / "offsets.raw").write_bytes(struct.pack("17i", *range(0, 272, 16)))


def side(name: str, kernel: str, device: str, folder: Path) -> Side:
    """Observe one kernel of a pair, and take its figures and advice."""
    pair = PAIRS[name]
    inputs(folder, pair)
    size, group, *arguments = pair[kernel].split()
    recording = folder / f"{name}_{kernel}.klens"
    observe(
        HERE / f"{name}.cl",
        kernel=kernel,
        size=[int(each) for each in size.split("x")],
        group=[int(each) for each in group.split("x")],
        arguments=[str(folder / each) if each.endswith(".raw") else each for each in arguments],
        device=device,
        seconds=60,
        recording=recording,
    )
    advice = advise(str(recording))
    (observed,) = [each for each in advice.kernels if each.kernel.behaviours]
    return _side(observed.program, observed.kernel, [each for each in advice.ranked if each.kernel is observed.kernel])


def _side(program: Program, kernel: Kernel, ranked: Sequence[RankedCause]) -> Side:
    bound = kernel_bound(program, kernel)
    waits = kernel.waits
    assert waits is not None
    units = sum(line.units for launch in kernel.behaviours for line in launch.lines)
    causes = tuple((each.kind, each.place.line if each.place else 0, each.share) for each in ranked)
    return Side(waits.cycles / (kernel.resources.simd or 1), bound.cycles[0][1], bound.kind, units, causes)


def place_of_cause(name: str, causes: Sequence[tuple[str, int, float]]) -> int | None:
    """Return at which place the authors' cause is named, from 1; None if it is not."""
    text = (HERE / f"{name}.cl").read_text().splitlines()
    kinds = PAIRS[name]["kinds"]
    hits = (
        place
        for place, (kind, line, _) in enumerate(causes, 1)
        if kind in kinds and 0 < line <= len(text) and text[line - 1].endswith("// cause")
    )
    return next(hits, None)


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, equal ones the mean."""
    ordered = sorted(values)
    return [ordered.index(each) + (ordered.count(each) - 1) / 2 for each in values]


def correlation(some: Sequence[float], others: Sequence[float]) -> float:
    """Return the rank correlation of two rows."""
    first, second = ranks(some), ranks(others)
    middle = (len(first) - 1) / 2
    together = sum((a - middle) * (b - middle) for a, b in zip(first, second, strict=True))
    alone = [sum((each - middle) ** 2 for each in row) for row in (first, second)]
    return float(together / (alone[0] * alone[1]) ** 0.5) if all(alone) else 0.0


def main() -> int:
    """Print the table of the pairs, and how many causes and signs are right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--pair", action="append", choices=sorted(PAIRS))
    chosen = parser.parse_args()
    print(f"{'pair':18}{'static':>8}{'cycles':>8}{'units':>8}{'gain':>7}  {'bound':16}place  causes named")
    table: list[tuple[tuple[float, float, float], float | None, int | None]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.pair or PAIRS:
            before, after = (side(name, kernel, chosen.device, Path(folder)) for kernel in ("before", "after"))
            ratios = before.static / after.static, before.cycles / after.cycles, before.units / max(1, after.units)
            gain, place = PAIRS[name].get("gain"), place_of_cause(name, before.causes)
            table.append((ratios, gain, place))
            words = ", ".join(f"{kind}:{line} {share:.0%}" for kind, line, share in before.causes[:6])
            shown = "".join(f"{each:8.2f}" for each in ratios)
            print(
                f"{name:18}{shown}{gain or '-':>7}  {before.bound + ' ' + after.bound:16}{place or '-':>5}  {words}",
                flush=True,
            )
    print(f"cause first or second: {sum(place in (1, 2) for *_, place in table)} of {len(table)}")
    for number, word in enumerate(("static", "cycles", "units")):
        stated = [(ratios[number], gain) for ratios, gain, _ in table if gain is not None]
        signs = sum(ratios[number] > 1 for ratios, _, _ in table)
        figure, gains = zip(*stated, strict=True) if stated else ((), ())
        print(f"{word}: sign right in {signs} of {len(table)}, rank correlation {correlation(figure, gains):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
