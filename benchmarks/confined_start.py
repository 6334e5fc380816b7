"""What confining a process adds to its start: ``python -m benchmarks.confined_start`` (docs/confinement.md, "Readers")."""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path

import kernlens

PAIRS = 150
HELPER = Path(kernlens.__file__).parent / "native" / "kernlens_confine"
PROGRAM = ["/usr/bin/true"]
SHOWN = [word for path in ("/usr", "/lib", "/lib64", "/dev/null") for word in ("--show", path)]


def seconds(words: list[str]) -> float:
    """Return how long a command takes."""
    start = time.perf_counter()
    subprocess.run(words, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print the median difference of pairs, for each mechanism."""
    for mechanism in (["namespaces", "--own-processes"], ["landlock"]):
        confined = [str(HELPER), *mechanism, *SHOWN, "--write", "/tmp", "--", *PROGRAM]
        added = [seconds(confined) - seconds(PROGRAM) for _ in range(PAIRS)]
        print(f"{mechanism[0]}: {1000 * statistics.median(added):.1f} ms")


if __name__ == "__main__":
    main()
