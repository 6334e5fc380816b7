"""All that applications can ask of OpenCL and Level Zero, plain and captured, compared answer by answer:

    python -m tests.integration.capture.queries [--calls 1000000] [--driver dg2] [--seed 1]

The same program asks in the order that a seed makes, twice without kernlens and then under each way to capture. Handles are
compared by what they are of. What two plain runs answer differently (a time, memory that the driver did not write) is no
question: it is counted. What an option is for (another binary) is not compared with that option.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernlens.toolchain.loaders.application import find_application
from kernlens.toolchain.simulation import simulated_environment
from kernlens.toolchain.toolchains import NEWEST, SYSTEM, toolchain
from tests.integration.capture.capture_fixtures import FLAGS, HERE, MAIN
from tests.integration.drivers.live_fixtures import compile_spirv
from tests.integration.layers.opencl_layer_fixtures import pocl

#: The programs that ask, and what they are linked with.
PROGRAMS = {"opencl": ("opencl_queries.c", "-lOpenCL"), "level-zero": ("level_zero_queries.c", "-lze_loader")}
#: Each driver: its toolchain, and the device that it simulates (None: it computes).
DRIVERS = {"dg2": (SYSTEM, "dg2"), "bmg": (NEWEST, "bmg"), "pocl": (SYSTEM, None)}
#: The ways to capture, and the options of each.
WAYS = {
    "capture": (),
    "lines": ("--lines",),
    "options": ("--build-options", "-DMORE=1 -cl-no-signed-zeros"),
    "stages": ("--stages", "--lines"),
    "replace": ("--replace", "own.cl=other.cl"),
    "time": ("--time",),
    "launch": ("--launch", "*:first"),
}
#: The binary and debug data of what the driver got other options or another text of: those are what was asked for.
OTHER_BINARY = frozenset(
    {"program 1165", "program 1166", "program 4100", "program 4101", "kernel 407d", "module-binary -", "debug -"}
)


@dataclass(frozen=True)
class Asker:
    """A program that asks, on a driver."""

    folder: Path
    interface: str
    driver: str

    @property
    def _variables(self) -> dict[str, str]:
        # With options that empty the caches more is compiled than without, and the newest driver's logs count compiles.
        more = {"MODULE": str(self.folder / "constants.spv"), "NEO_CACHE_PERSISTENT": "0"}
        running = {"LAUNCHES": "1"} | pocl(self.folder / "cache").environment
        return more | running if self.driver == "pocl" else more

    def words(self, seed: int, calls: int) -> list[str]:
        """Return the command line."""
        return [str(self.folder / self.interface), str(seed), str(calls)]

    def plain(self, words: Sequence[str]) -> list[str]:
        """Return the answers without kernlens."""
        chosen, device = DRIVERS[self.driver]
        root = toolchain(chosen)
        application = find_application(words, None, root)
        simulated = {} if device is None else root.environment() | simulated_environment(device, root)
        return self._run(application.words, application.executable, {**os.environ, **simulated})

    def captured(self, words: Sequence[str], *options: str) -> list[str]:
        """Return the answers under capture."""
        chosen, device = DRIVERS[self.driver]
        simulate = () if device is None else ("--simulate", device, "--toolchain", chosen)
        with tempfile.TemporaryDirectory(dir=self.folder) as recorded:
            command = [*MAIN, "capture", *simulate, *options, "-o", f"{recorded}/x.klens", "--", *words]
            return self._run(command, None, os.environ)

    def _run(self, words: Sequence[str], executable: str | None, variables: Mapping[str, str]) -> list[str]:
        done = subprocess.run(
            words,
            executable=executable,
            cwd=self.folder,
            env={**variables, **self._variables},
            capture_output=True,
            text=True,
            timeout=3000,
            check=False,
        )
        assert done.returncode == 0, (done.returncode, done.stdout[-500:], done.stderr[-2000:])
        return done.stdout.splitlines()


def make(folder: Path, interface: str, driver: str) -> Asker:
    """Build the program that asks."""
    source, library = PROGRAMS[interface]
    asker = Asker(folder, interface, driver)
    program = str(folder / interface)
    subprocess.run(["gcc", *FLAGS, "-o", program, str(HERE / source), library], check=True, timeout=60)
    if interface == "opencl":
        own = subprocess.run([program, "source"], check=True, capture_output=True, text=True, timeout=60).stdout
        (folder / "own.cl").write_text(own)
        (folder / "other.cl").write_text(f"{own}// another program, which does the same\n")
    return asker


@dataclass
class Compared:
    """How many answers were the same, and what the others are; those that plain runs disagree on, by their question."""

    same: int = 0
    not_compared: int = 0
    unstable: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def question(line: str) -> str:
    """Return what a line asks: the function and the name."""
    return " ".join(line.split(" ", 2)[:2])


def unstable_questions(first: Iterable[str], second: Iterable[str]) -> set[str]:
    """Return the questions that two plain runs answer differently."""
    return {question(left) for left, right in zip(first, second, strict=True) if left != right}


def compare(plain: Sequence[str], captured: Sequence[str], unstable: set[str], ignored: frozenset[str]) -> Compared:
    """Compare two runs answer by answer."""
    compared = Compared()
    if len(plain) != len(captured):
        compared.differences.append(f"{len(plain)} answers without, {len(captured)} with")
    for left, right in zip(plain, captured, strict=False):
        asked = question(left)
        if left == right:
            compared.same += 1
        elif asked in unstable:
            compared.unstable[asked] += 1
        elif asked in ignored:
            compared.not_compared += 1
        else:
            compared.differences.append(f"{left}\n      with: {right}")
    return compared


def trial(asker: Asker, ways: Iterable[str], seed: int, calls: int) -> dict[str, Compared]:
    """Ask so often under each way to capture, and compare with a plain run."""
    words = asker.words(seed, calls)
    plain = asker.plain(words)
    unstable = unstable_questions(plain, asker.plain(words))
    return {
        way: compare(
            plain, asker.captured(words, *WAYS[way]), unstable, frozenset() if way == "capture" else OTHER_BINARY
        )
        for way in ways
    }


def ways_of(interface: str, driver: str) -> list[str]:
    """Return the ways to capture that there are: simulated devices have no time, and Level Zero replaces no source."""
    left_out = {"replace"} if interface == "level-zero" else set()
    return [way for way in WAYS if way not in left_out and (way != "time" or DRIVERS[driver][1] is None)]


def main() -> None:
    """Ask so often on each driver, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000, help="of all drivers, interfaces and ways together")
    parser.add_argument("--driver", choices=list(DRIVERS), action="append")
    parser.add_argument("--interface", choices=list(PROGRAMS), action="append")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    pairs = [
        (interface, driver)
        for interface in arguments.interface or PROGRAMS
        for driver in arguments.driver or DRIVERS
        if (interface, driver) != ("level-zero", "pocl")
    ]
    ways = {pair: ways_of(*pair) for pair in pairs}
    runs = sum(map(len, ways.values()))
    different = 0
    for interface, driver in pairs:
        with tempfile.TemporaryDirectory() as folder:
            asker = make(Path(folder), interface, driver)
            compile_spirv(CONSTANTS, Path(folder) / "constants.cl")
            for way, compared in trial(
                asker, ways[interface, driver], arguments.seed, -(-arguments.calls // runs)
            ).items():
                different += len(compared.differences)
                print(
                    f"{interface:10} {driver:5} {way:8} {compared.same:9,} the same, {len(compared.differences):,} differ,"
                    f" {compared.not_compared:,} not compared, {sum(compared.unstable.values()):,} vary without kernlens"
                    f" ({len(compared.unstable)} questions)",
                    flush=True,
                )
                for line in compared.differences[:20]:
                    print(f"    {line}")
    raise SystemExit(different > 0)


#: A module for programs from IL.
CONSTANTS = "kernel void from_il(global int *a, float b) { a[get_global_id(0)] += (int)b; }\n"

if __name__ == "__main__":
    main()
