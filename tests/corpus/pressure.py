"""Registers and their pressure, held against what the newest IGC states of them: ``python -m tests.corpus.pressure --help``.

IGC writes its statements per attempt (``X.stats.json``), beside the machine code of that very attempt (``X.dat``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernlens.analysis.flow.pressure import pressure_of
from kernlens.isa.decode import decode
from kernlens.isa.devices import device
from kernlens.isa.iga_library import search_also
from kernlens.model.effects import mask, registers_in
from kernlens.model.instruction import Instructions
from tests.corpus.build import Built, build
from tests.corpus.compiler import Compiler, newest
from tests.corpus.manifest import programs
from tests.corpus.oracles.igc_dump import read_dump

SETTINGS = (("IGC_VISAOptions", "-dumpVISAJsonStatsVerbose"),)
KEPT = ("*.asm", "*.dat", "*.json")
#: How far the peak may be from IGC's, which counts whole variables before it assigns registers and schedules again.
TOLERANCE = 10


@dataclass(frozen=True, slots=True)
class Compared:
    """An attempt at a kernel: registers that the code names, without the one that only the code which loads the thread's
    payload uses (IGC writes that code afterwards), and the peak, as kernlens and IGC count them."""

    name: str
    named: int
    stated_named: int
    peak: int
    stated_peak: int
    spilled: int

    @property
    def is_close(self) -> bool:
        """Whether the peak is within the tolerance, or cannot be: code that spills has no more than the registers."""
        return self.spilled > 0 or abs(self.peak - self.stated_peak) <= TOLERANCE


def stating(compiler: Compiler) -> Compiler:
    """The compiler, which writes what it counts."""
    return replace(compiler, settings=SETTINGS, kept=KEPT)


def compared(built: Built) -> Iterator[Compared]:
    """The attempts of a compiled program."""
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
            stated["maxGRFPressurePreRA"],
            stated["GRFSpillSize"],
        )


def _named(instructions: Instructions) -> set[int]:
    effects = instructions.effects
    assert effects is not None

    def names(some: Iterable[int]) -> set[int]:
        accesses = (access for index in some for kind in effects.effects[index][:2] for access in kind)
        return set(registers_in(mask(accesses), effects.register_bytes))

    everything = names(range(len(instructions)))
    loading = instructions.set_up_end(0)
    scratch = {max(everything)} - names(range(loading, len(instructions)))
    return everything - scratch


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints counts per device and what differs; exit status 1 if registers named differ in more than 1 of 100 attempts, or
    the peak in more than 1 of 20."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, required=True, help="the newest compiler, in this root folder")
    parser.add_argument("--device", action="append", help="default: bmg")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    chosen = parser.parse_args(arguments)
    search_also(lambda: [str(chosen.newest_root)])
    prefixes = tuple(chosen.program or [""])
    selected = [program for program in programs() if program.name.startswith(prefixes)]
    is_right = True
    for name in chosen.device or ["bmg"]:
        built, _ = build(selected, [name], compiler=stating(newest(chosen.newest_root)))
        attempts = [attempt for one in built for attempt in compared(one)]
        unlike = [attempt for attempt in attempts if attempt.named != attempt.stated_named]
        far = [attempt for attempt in attempts if not attempt.is_close]
        unspilled = sum(not attempt.spilled for attempt in attempts)
        print(f"{name}: {len(attempts)} attempts, registers named equal numGRFUsed in {len(attempts) - len(unlike)};")
        print(
            f"    the peak within {TOLERANCE} of maxGRFPressurePreRA in {unspilled - len(far)} of {unspilled} unspilled"
        )
        for attempt in [*unlike, *far]:
            print(f"    {attempt}")
        is_right = is_right and 100 * len(unlike) <= len(attempts) and 20 * len(far) <= unspilled
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
