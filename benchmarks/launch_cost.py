"""What a capture costs each launch: ``python -m benchmarks.launch_cost [--launches 300000] [--pairs 3]``.

A C program sets an argument and launches a small kernel on PoCL, again and again. Each pair is the program alone and under
one way to capture, one behind the other, in an order that changes from pair to pair. The figures are seconds by the clock
and user and system time, of the whole commands, and ratios of pairs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).with_name("launch_cost.c")
CAPTURE = [sys.executable, "-m", "kernlens", "capture", "-o", "x.klens"]
#: Ways to capture, and their options.
WAYS = {"capture": (), "capture --launch advance:first": ("--launch", "advance:first"), "capture --time": ("--time",)}


def spent(words: Sequence[str], folder: str) -> tuple[float, float]:
    """Run a command; return its seconds by the clock, and in user and system time."""
    variables = {**os.environ, "POCL_CACHE_DIR": f"{folder}/cache", "POCL_AFFINITY": "0"}
    start = time.monotonic()
    process = subprocess.Popen(words, cwd=folder, env=variables, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"status {process.returncode}: {words!r}")
    return time.monotonic() - start, used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=300_000)
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/launches"
        subprocess.run(
            ["gcc", "-O2", "-Wno-deprecated-declarations", "-o", program, str(SOURCE), "-lOpenCL"], check=True
        )
        alone = [program, str(options.launches)]
        spent([program, "10"], folder)  # PoCL's cache.
        for way, more in WAYS.items():
            ratios = []
            for number in range(options.pairs):
                commands = {"alone": alone, way: [*CAPTURE, *more, "--", *alone]}
                figures = {name: spent(commands[name], folder) for name in sorted(commands, reverse=bool(number % 2))}
                (clock, processor), (own_clock, own_processor) = figures[way], figures["alone"]
                ratios.append((clock / own_clock, processor / own_processor))
                print(
                    f"{way}: {clock:.2f} s and {own_clock:.2f} s alone, {processor:.2f} and {own_processor:.2f} s of processors"
                )
            middle = [statistics.median(each) for each in zip(*ratios, strict=True)]
            print(f"{way}: {middle[0]:.3f} by the clock, {middle[1]:.3f} in processor time", flush=True)


if __name__ == "__main__":
    main()
