"""The processor time that a capture adds to an application: ``python -m benchmarks.capture_cost [--pairs 8] [-- APP ARGS]``.

Each pair is the application under ``kernlens run`` and under ``kernlens capture``, on a simulated dg2, both with an empty
home and cache. They run at the same time, each on a processor of its own, which they exchange from pair to pair: what
else the machine does, and its clock, count for both. The figures are user and system time of the whole commands.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence

KERNLENS = [sys.executable, "-m", "kernlens"]
VERBS = {"run": ["run"], "capture": ["capture", "-o", "x.klens"]}
SIMULATE = ["--simulate", "dg2", "--hang-timeout", "0"]


def start(verb: Sequence[str], application: Sequence[str], home: str, processor: int) -> subprocess.Popen[bytes]:
    """Start the application under a verb, on one processor."""
    return subprocess.Popen(
        [*KERNLENS, *verb, *SIMULATE, "--", *application],
        cwd=home,
        env={**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {processor}),
    )


def ended(process: subprocess.Popen[bytes]) -> float:
    """Wait for the end; returns the user and system time of the process and its children."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"status {process.returncode}: {process.args!r}")
    return used.ru_utime + used.ru_stime


def pair(application: Sequence[str], processors: Sequence[int]) -> dict[str, float]:
    """Run both at the same time, so that what disturbs the machine disturbs both; return the seconds of each verb."""
    with tempfile.TemporaryDirectory() as folder:
        started = {}
        for (name, verb), processor in zip(VERBS.items(), processors, strict=True):
            home = f"{folder}/{name}"
            os.mkdir(home)
            started[name] = start(verb, application, home, processor)
        return {name: ended(process) for name, process in started.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("application", nargs="*", default=["darktable-cltest"])
    options = parser.parse_args()
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        raise SystemExit("two processors are needed: the two of a pair run at the same time")
    pair(options.application, processors)  # What is read once and then in memory.
    pairs = []
    for number in range(options.pairs):
        pairs.append(pair(options.application, processors[:: 1 if number % 2 else -1]))
        run, capture = pairs[-1].values()
        print(f"run {run:.2f} s, capture {capture:.2f} s: {capture / run - 1:+.1%}", flush=True)
    # Each processor once for each side, so that neither's speed counts.
    both = [
        sum(program["capture"] for program in two) / sum(program["run"] for program in two) - 1
        for two in zip(pairs[::2], pairs[1::2], strict=False)
    ]
    print(f"median of two pairs each, processors exchanged: {statistics.median(both or [0.0]):+.1%}")
    total = sum(entry["capture"] for entry in pairs) / sum(pair["run"] for pair in pairs) - 1
    print(f"all: {total:+.1%}")


if __name__ == "__main__":
    main()
