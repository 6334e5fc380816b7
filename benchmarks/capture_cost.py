"""What a capture adds to an application's processor time: ``python -m benchmarks.capture_cost [--pairs 7] [-- APP ARGS]``.

Each pair is the application under ``kernlens run`` and under ``kernlens capture``, on a simulated dg2, in turn; both with an
empty home and cache. User and system time of the whole commands count, so other work of the machine disturbs little.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence

KERNLENS = [sys.executable, "-m", "kernlens"]
SIMULATE = ["--simulate", "dg2", "--hang-timeout", "0"]


def seconds(verb: Sequence[str], application: Sequence[str]) -> float:
    """Run the application under a verb; returns the user and system time of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache"}
        subprocess.run(
            [*KERNLENS, *verb, *SIMULATE, "--", *application],
            cwd=home,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("application", nargs="*", default=["darktable-cltest"])
    options = parser.parse_args()
    verbs = {"run": ["run"], "capture": ["capture", "-o", "x.klens"]}
    seconds(verbs["capture"], options.application)  # What is read once and then in memory.
    added = []
    for number in range(options.pairs):
        order = list(verbs)[:: 1 if number % 2 else -1]
        took = {name: seconds(verbs[name], options.application) for name in order}
        added.append(took["capture"] / took["run"] - 1)
        print(f"run {took['run']:.2f} s, capture {took['capture']:.2f} s: {added[-1]:+.1%}", flush=True)
    print(f"median {statistics.median(added):+.1%}")


if __name__ == "__main__":
    main()
