"""Variables' places, held against IGC's finalizer and a slow reference: ``python -m tests.corpus.variables --help``.

Every location of every variable is evaluated for all lanes. Each place in registers is looked for in vISA's own debug file of
the same compile (``oracles.visa_debug``): it must be within one of vISA's variables, which is there at that time. And cuts of
short kernels are computed once more by ``slow_cuts``.
"""

from __future__ import annotations

import argparse
import re
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kernlens.analysis.flow.variable_cuts import register_places
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.effects import GENERAL
from kernlens.model.kernel import Kernel
from kernlens.model.variable import NOWHERE, REGISTER, Location, Place
from tests.corpus.build import Built, build
from tests.corpus.checks import WIDE_REGISTERS, load
from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.manifest import programs
from tests.corpus.oracles.igc_dump import read_dump
from tests.corpus.oracles.visa_debug import VisaDebug, read_visa_debug
from tests.corpus.slow_cuts import different_cuts
from tests.corpus.slow_written import SlowWritten, unproven_ranges

KEPT = ("*.asm", "*.dbg")
_DECLARED = re.compile(r"^//\.declare (\S+) \(\d+\)  rf=r size=(\d+) ", re.MULTILINE)
_NUMBERED = re.compile(r"([A-Z]+)0*(\d+)")
#: What evaluation may say of a location that it has no place for: an operation or a fault of the expression.
_NAMED = re.compile(r"optimised out|the compiler('s expression| wrote) .*")
#: Instructions of the longest kernel whose cuts are computed twice, and locations of each.
LONGEST, LOCATIONS = 400, 60


def with_variables(compiler: Compiler) -> Compiler:
    """Return the compiler with ``-g``, which keeps vISA's debug files."""
    return replace(compiler, options="-g", dumps=KEPT)


def evaluated(kernel: Kernel) -> Iterator[tuple[str, str | None]]:
    """Yield the kind of each location of a kernel's variables, and of one without a place the reason."""
    for variable in kernel.variables:
        for location in variable.locations:
            pieces = [piece for lane in location.lanes for piece in lane]
            kinds = {piece.kind for piece in pieces}
            reason = next((piece.text for piece in pieces if piece.kind == NOWHERE), None)
            yield "+".join(sorted(kinds)), reason


class Stated:
    """The statements of vISA on one kernel's registers. ``sizes`` are those of its variables in bytes."""

    def __init__(self, debug: VisaDebug, listing: str, register_bytes: int) -> None:
        self._size = register_bytes
        self._sizes = {_plain(name): int(size) for name, size in _DECLARED.findall(listing)}
        by_index = sorted(debug.offsets)
        indexes, offsets = [index for index, _ in by_index], [offset for _, offset in by_index]
        self._at: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for name, intervals in debug.variables.items():
            size = self._sizes.get(_plain(name))
            for interval in intervals:
                if interval.register is None or not size:
                    continue
                # Instructions moved after the intervals were made.
                of = offsets[bisect_left(indexes, interval.start) : bisect_right(indexes, interval.end) + 1]
                if of:
                    first = interval.register * register_bytes + interval.byte
                    self._at[first].append((min(of), max(of) + 16, size))
        self._firsts = sorted(self._at)

    def says(self, location: Location) -> Iterator[str]:
        """Yield for each run of lanes of each element of a location how its place is: at a variable's ``first`` byte or
        ``within`` it, all of it, ``dropped`` (behind the end of the variable that holds the first elements of a vector: it has
        no more of these), behind the end of a ``narrower`` variable at whose first byte lane 0 is (pointers to local memory
        have 4 bytes, not the 8 of the debug data; values of less than 4 bytes lie closer than it states), or ``elsewhere``."""
        code = location.low, location.high
        base = {lane[0].number for lane in location.lanes if lane[0].kind == REGISTER}
        for places in _neighbours(location):
            starts = [place.number * 8 * self._size + place.bit for place in places]
            low, high = min(starts) // 8, (max(starts) + (places[-1].bits or 8)) // 8
            answer = self._which(low, high, code)
            first = 8 * self._size * places[0].number // 8
            if answer == "elsewhere" and len(location.lanes[0]) > 1 and places[0].number in base and low > first:
                ends = [first + size for start, end, size in self._at.get(first, ()) if _meet(start, end, code)]
                answer = "dropped" if any(end <= low for end in ends) else answer
            if answer == "elsewhere" and self._is_narrower(location, code):
                answer = "narrower"
            yield answer

    def _is_narrower(self, location: Location, code: tuple[int, int]) -> bool:
        """Return whether all lanes of a location, or each half of them, begin at a variable of fewer bytes than are stated."""
        firsts = [lane[0] for lane in location.lanes[::16] if lane and lane[0].kind == REGISTER]
        begins = {place.number * self._size + place.bit // 8 for place in firsts[:1]}
        return bool(begins) and all(
            any(_meet(start, end, code) for start, end, _ in self._at.get(first, ())) for first in begins
        )

    def _which(self, low: int, high: int, code: tuple[int, int]) -> str:
        answer = "elsewhere"
        for first in self._firsts[: bisect_right(self._firsts, low)]:
            for start, end, size in self._at[first]:
                if high <= first + size and _meet(start, end, code):
                    if first == low:
                        return "first"
                    answer = "within"
        return answer


def _meet(start: int, end: int, code: tuple[int, int]) -> bool:
    return start < code[1] and code[0] < end


def _plain(name: str) -> str:
    match = _NUMBERED.fullmatch(name)
    return f"{match[1]}{match[2]}" if match else name


def _neighbours(location: Location) -> Iterator[list[Place]]:
    """Yield the places of each element in neighbouring lanes that are in registers."""
    for number in range(len(location.lanes[0])):
        run: list[Place] = []
        for index, lane in enumerate(location.lanes):
            place = lane[number] if number < len(lane) else None
            # Each half of 32 lanes may be a variable of its own.
            if run and (place is None or not index % 16):
                yield run
                run = []
            if place is not None and place.kind == REGISTER and place.file == "r":
                run.append(place)
        if run:
            yield run


def debug_of(built: Built, kernel: Kernel) -> tuple[VisaDebug, str] | None:
    """Return vISA's debug data of a kernel, with the listing beside it: those of the attempt that became the binary."""
    for path in sorted((built.folder / "dump").glob("*.dbg"), reverse=True):
        for debug in read_visa_debug(path.read_bytes()):
            listing = path.with_suffix(".asm")
            listed = len(kernel.instructions) + (kernel.trailer.count if kernel.trailer else 0)
            if debug.name == kernel.name and len(read_dump(listing).instructions) == listed:
                return debug, listing.read_text(errors="replace")
    return None


def lines_of(kernel: Kernel) -> dict[int, list[int]]:
    """Return the instructions of each line, whatever file it is of; empty without a line table."""
    lines: dict[int, list[int]] = defaultdict(list)
    for row in range(len(kernel.instructions)) if kernel.source_map else ():
        if kernel.source_map and (place := kernel.source_map.place(row)):
            lines[place.line].append(row)
    return lines


class Checks:
    """The counts of all checks."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.unnamed: Counter[str] = Counter()
        self.places: Counter[str] = Counter()
        self.elsewhere: list[str] = []
        self.kernels = self.locations = self.cut = self.variables = self.without = 0
        self.differences: list[str] = []
        self.states: Counter[str] = Counter()
        self.unproven: list[str] = []

    def prove(self, name: str, kernel: Kernel) -> None:
        """Hold each range of a kernel's variables against the slow reference."""
        effects = kernel.instructions.effects
        if effects is None or not kernel.variables:
            return
        slow = SlowWritten(kernel, effects.register_bytes)
        for variable, each, contradiction in unproven_ranges(kernel, slow):
            self.states[f"{each.state} ({each.origin})"] += 1
            if contradiction:
                self.unproven.append(f"{name} {kernel.name} {variable.name} {contradiction}")

    def read(self, built: Built) -> None:
        """Check all locations of a program."""
        register_bytes = 64 if built.device in WIDE_REGISTERS else 32
        for kernel in load(built).kernels.values():
            self.variables += len(kernel.variables)
            self.without += sum(variable.reason is not None for variable in kernel.variables)
            for kind, reason in evaluated(kernel):
                self.kinds[kind] += 1
                if reason is not None and not _NAMED.fullmatch(reason):
                    self.unnamed[reason] += 1
            oracle = debug_of(built, kernel) if kernel.variables else None
            stated = Stated(oracle[0], oracle[1], register_bytes) if oracle else None
            self.prove(built.name, kernel)
            if stated is None:
                continue
            for variable in kernel.variables:
                for location in variable.locations:
                    for answer in stated.says(location):
                        self.places[answer] += 1
                        if answer == "elsewhere":
                            self.elsewhere.append(f"{built.name} {kernel.name} {variable.name} {location}")

    def compare(self, kernel: Kernel) -> None:
        """Compare the cuts of a kernel with the slow reference."""
        self.kernels += 1
        for cut, difference in different_cuts(kernel, lines_of(kernel), LOCATIONS):
            self.locations += 1
            self.cut += cut > 0
            if difference:
                self.differences.append(difference)


def short_kernels(built: Sequence[Built], longest: int) -> Iterator[Kernel]:
    """Yield the kernels with variables in registers of at most so many instructions."""
    for each in built:
        for kernel in load(each).kernels.values():
            effects = kernel.instructions.effects if kernel.code_size <= 16 * longest else None
            if effects and len(kernel.instructions) <= longest:
                locations = (location for variable in kernel.variables for location in variable.locations)
                if any(register_places(location, effects.register_bytes) >> GENERAL for location in locations):
                    yield kernel


def main(arguments: Sequence[str] | None = None) -> int:
    """Print counts per device and what differs; exit status 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--newest-root", type=Path, help="the newest compiler, in this root folder")
    parser.add_argument("--device", action="append", help="default: dg2, and with the newest compiler bmg")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    parser.add_argument("--kernels", type=int, default=100, help="kernels whose cuts are computed twice")
    parser.add_argument("--jobs", type=int)
    chosen = parser.parse_args(arguments)
    if chosen.newest_root:
        search_also(lambda: {"newest": str(chosen.newest_root)})
    compiler = with_variables(newest(chosen.newest_root) if chosen.newest_root else DEBIAN)
    prefixes = tuple(chosen.program or ["darktable/", "silx/", "pyfai/"])
    selected = [program for program in programs() if program.name.startswith(prefixes)]
    is_right = True
    for device in chosen.device or (["dg2", "bmg"] if chosen.newest_root else ["dg2"]):
        built, _ = build(selected, [device], compiler=compiler, jobs=chosen.jobs)
        checks = Checks()
        for each in built:
            checks.read(each)
        kernels = list(short_kernels(built, LONGEST))
        step = max(1, len(kernels) // max(1, chosen.kernels))
        for kernel in kernels[::step][: chosen.kernels]:
            checks.compare(kernel)
        print(
            f"{device}: {checks.variables:,} variables, {checks.without:,} without a place; locations:"
            f" {dict(checks.kinds.most_common())}"
        )
        print(f"    without a place and without a named reason: {dict(checks.unnamed) or 'none'}")
        print(f"    places in vISA's debug files: {dict(checks.places)}")
        print(
            f"    cuts: {checks.kernels} kernels, {checks.locations:,} locations, {checks.cut} of them cut,"
            f" {len(checks.differences)} differences"
        )
        print(
            f"    ranges in registers: {dict(checks.states.most_common())}; held and not proven: {len(checks.unproven)}"
        )
        for text in [*checks.elsewhere[:10], *checks.differences[:10], *checks.unproven[:10]]:
            print(f"        {text}")
        is_right &= not checks.differences and not checks.unnamed and not checks.elsewhere and not checks.unproven
        is_right &= bool(built) and checks.cut > 0 and checks.places["first"] > 0
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
