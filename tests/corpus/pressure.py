"""Registers and their pressure, held against what the newest IGC states of them: ``python -m tests.corpus.pressure --help``.

IGC writes its statements per attempt (``X.stats.json``), beside the machine code of that very attempt (``X.dat``).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernlens.analysis.flow.liveness import liveness_of
from kernlens.analysis.flow.register_peak import pressure_of
from kernlens.isa.devices import device
from kernlens.isa.intel.decode import decode
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.effects import GENERAL, mask, registers_in
from kernlens.model.intel_instructions import IntelInstructions
from tests.corpus.build import Built, build
from tests.corpus.compiler import Compiler, newest
from tests.corpus.manifest import programs
from tests.corpus.oracles.igc_dump import read_dump

STATING = "-dumpVISAJsonStatsVerbose"
#: IGC counts before it assigns registers. After that it moves instructions once more, loads and stores far; with this option
#: it leaves them where they were counted.
IN_PLACE = "-noschedule"
KEPT = ("*.asm", "*.dat", "*.json")
#: How far the peak may be from IGC's, which counts whole variables before it assigns registers and schedules again.
TOLERANCE = 10


@dataclass(frozen=True, slots=True)
class Compared:
    """An attempt at a kernel: registers that the code names, without those two at the end that only the code which loads the
    thread's payload uses (IGC writes that code afterwards), and the peak, as kernlens and IGC count them. ``filled`` is the
    peak of the bytes that hold something, in registers: IGC adds up the bytes of what takes less than a register."""

    name: str
    named: int
    stated_named: int
    peak: int
    filled: int
    stated_peak: int
    spilled: int

    @property
    def is_close(self) -> bool:
        """True if the peak is within the tolerance, or cannot be: code that spills has no more than the registers."""
        return self._is_near(self.peak)

    @property
    def is_close_in_bytes(self) -> bool:
        """The same of the peak counted in bytes."""
        return self._is_near(self.filled)

    def _is_near(self, peak: int) -> bool:
        return self.spilled > 0 or abs(peak - self.stated_peak) <= TOLERANCE


def stating(compiler: Compiler, *, in_place: bool = False) -> Compiler:
    """Return the compiler, which writes what it counts; with ``in_place`` instructions keep the order that it counted in."""
    options = " ".join([STATING, *([IN_PLACE] if in_place else [])])
    return replace(compiler, settings=(("IGC_VISAOptions", options),), dumps=KEPT)


def compared(built: Built) -> Iterator[Compared]:
    """Yield the attempts of a compiled program."""
    for path in sorted((built.folder / "dump").glob("*.stats.json")):
        stem = path.name.removesuffix(".stats.json")
        listing = read_dump(path.with_name(f"{stem}.asm"))
        code = path.with_name(f"{stem}.dat").read_bytes()
        whole = decode(device(built.device), code)
        # What follows the kernel's instructions is padding.
        end = whole.offsets[len(listing.instructions)] if len(listing.instructions) < len(whole) else len(code)
        instructions = decode(device(built.device), code[:end])
        pressure = pressure_of(instructions)
        assert pressure is not None
        (stated,) = json.loads(path.read_text())
        yield Compared(
            f"{built.name} {path.name}",
            len(_named(instructions)),
            stated["numGRFUsed"],
            pressure.peak,
            _filled(instructions),
            stated["maxGRFPressurePreRA"],
            stated["GRFSpillSize"],
        )


def _filled(instructions: IntelInstructions) -> int:
    liveness = liveness_of(instructions)
    assert liveness is not None
    effects = liveness.effects
    most = 0
    for block, code in enumerate(liveness.blocks.code):
        for live, index in zip(liveness.within(block), code, strict=True):
            most = max(most, ((live | mask(effects.effects[index].writes)) >> GENERAL).bit_count())
    return most // effects.register_bytes


def _named(instructions: IntelInstructions) -> set[int]:
    effects = instructions.effects
    assert effects is not None

    def names(some: Iterable[int]) -> set[int]:
        chosen = [effects.effects[index] for index in some]
        accesses = (access for effect in chosen for access in (*effect.reads, *effect.writes))
        return set(registers_in(mask(accesses), effects.register_bytes))

    everything = names(range(len(instructions)))
    loading = instructions.set_up_end(0)
    last = max(everything)
    scratch = {last - 1, last} - names(range(loading, len(instructions)))
    return everything - scratch


def main(arguments: Sequence[str] | None = None) -> int:
    """Print counts per device and what differs; exit status 1 if registers named differ in more than 1 of 100 attempts,
    or the peak in more than 1 of 20."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, required=True, help="the newest compiler, in this root folder")
    parser.add_argument("--device", action="append", help="default: bmg")
    parser.add_argument("--in-place", action="store_true", help="keep the order of instructions that IGC counts in")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="only so many pairs of a program and a device, by chance"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int)
    chosen = parser.parse_args(arguments)
    search_also(lambda: {"newest": str(chosen.newest_root)})
    prefixes = tuple(chosen.program or [""])
    selected = [program for program in programs() if program.name.startswith(prefixes)]
    devices = chosen.device or ["bmg"]
    pairs = [(program, name) for program in selected for name in devices]
    if chosen.sample is not None:
        pairs = random.Random(chosen.seed).sample(pairs, min(chosen.sample, len(pairs)))
    compiler = stating(newest(chosen.newest_root), in_place=chosen.in_place)
    is_right = True
    for name in devices:
        of_device = [program for program, other in pairs if other == name]
        built, _ = build(of_device, [name], compiler=compiler, jobs=chosen.jobs)
        attempts = [attempt for build in built for attempt in compared(build)]
        unlike = [attempt for attempt in attempts if attempt.named != attempt.stated_named]
        far = [attempt for attempt in attempts if not attempt.is_close]
        unspilled = sum(not attempt.spilled for attempt in attempts)
        print(f"{name}: {len(attempts)} attempts, registers named equal numGRFUsed in {len(attempts) - len(unlike)};")
        neither = sum(not attempt.is_close_in_bytes for attempt in far)
        print(
            f"    the peak within {TOLERANCE} of maxGRFPressurePreRA in {unspilled - len(far)} of {unspilled} unspilled, or"
            f" counted in bytes in {unspilled - neither}"
        )
        for attempt in [*unlike, *far]:
            print(f"    {attempt}")
        is_right = is_right and 100 * len(unlike) <= len(attempts) and 20 * len(far) <= unspilled
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
