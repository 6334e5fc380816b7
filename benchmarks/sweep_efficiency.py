"""The share of two processors that a sweep gives to the compilers, and its cost when everything was measured before.

    python -m benchmarks.sweep_efficiency [--sources N] [--jobs 2]

Sweeps darktable's programs (of the test corpus) for five devices with two sets of options, twice, with an empty cache of
its own. Efficiency is the processor time of the compilers, as the kernel counts it for ended children, divided by the
number of jobs and by the time that the whole command took. Only a quiet machine gives a figure.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.corpus.manifest import DEVICES, program
from tests.corpus.packages import fetch

OPTIONS = ("-cl-fast-relaxed-math", "-cl-opt-disable")


def kernels() -> list[Path]:
    """Return darktable's programs."""
    package = program("darktable/nlmeans").package
    return sorted((fetch([package.name]) / package.name / package.folder).glob("*.cl"))


def timed(sources: list[Path], jobs: int, folder: Path, name: str) -> tuple[float, float, float, float]:
    """Return the seconds that the command took, those of the compilers and of kernlens on the processors, and megabytes."""
    words = [word for options in OPTIONS for word in ("--build-options", options)]
    command = [sys.executable, "-m", "benchmarks.sweep_efficiency", "--child", str(folder / name), "sweep"]
    command += [*map(str, sources), "--device", ",".join(DEVICES), *words, "--jobs", str(jobs), "--top", "1"]
    command += ["--csv", str(folder / f"{name}.csv")]
    start = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, "KERNLENS_CACHE": str(folder / "cache")}, capture_output=True)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr.decode())
    children, own, peak = map(float, (folder / name).read_text().split())
    return seconds, children, own, peak


def child(result: str, words: list[str]) -> None:
    """Run the command line in this process, and write what it and its children used."""
    from kernlens.cli.main import main

    sys.argv = ["kernlens", *words]
    try:
        main()
    finally:
        children, own = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
        used = (children.ru_utime + children.ru_stime, own.ru_utime + own.ru_stime, own.ru_maxrss / 1024)
        Path(result).write_text(" ".join(map(str, used)))


def main() -> None:
    """Print both runs."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    sources = kernels()[: chosen.sources]
    with TemporaryDirectory(prefix="kernlens-sweep-") as name:
        folder = Path(name)
        first = timed(sources, chosen.jobs, folder, "first")
        second = timed(sources, chosen.jobs, folder, "second")
        same = (folder / "first.csv").read_bytes() == (folder / "second.csv").read_bytes()
        entries = [path.stat().st_size for path in (folder / "cache").rglob("*") if path.is_file()]
    cells = len(sources) * len(DEVICES) * len(OPTIONS)
    print(f"{len(sources)} sources, {len(DEVICES)} devices, {len(OPTIONS)} sets of options: {cells} compiles")
    for title, (seconds, children, own, peak) in (("first", first), ("second", second)):
        print(
            f"{title}: {seconds:.1f} s; compilers {children:.1f} s of processor time, kernlens {own:.1f} s, {peak:.0f} MB"
        )
    print(f"parallel efficiency: {first[1] / chosen.jobs / first[0]:.3f}")
    print(
        f"the second run is {first[0] / second[0]:.0f} times as fast, its answer {'the same' if same else 'DIFFERENT'}"
    )
    print(f"the cache holds {len(entries):,} entries in {sum(entries) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
