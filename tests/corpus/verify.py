"""The run of every check over the whole corpus, with counts: ``python -m tests.corpus.verify --help``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from kernlens.isa.intel.iga_library import search_also
from tests.corpus.build import Built, build
from tests.corpus.checks import CHECKS, Outcome, check_texts
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, programs


def verify(built: Sequence[Built], root: Path | None = None) -> dict[str, Outcome]:
    """Return the outcome of each check over all of ``built``. ``root``: the newest compiler's, if that made them."""
    totals: dict[str, Outcome] = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for outcomes in pool.map(partial(_verify_one, root=root), built, chunksize=4):
            for name, outcome in outcomes.items():
                totals.setdefault(name, Outcome(outcome.unit)).add(outcome)
    return totals


def _verify_one(built: Built, root: Path | None) -> dict[str, Outcome]:
    if root is not None:
        search_also(lambda: {"newest": str(root)})
    return {name: check_texts(built, root) if check is check_texts else check(built) for name, check in CHECKS.items()}


def main() -> int:
    """Print one line per check; exit status 1 if anything differs or did not compile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", action="append", help=f"default: {', '.join(DEVICES)}")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    parser.add_argument("--newest-root", type=Path, help="zebins of the newest compiler, in this root folder")
    parser.add_argument("--show", type=int, default=10, help="how many differences to print per check (default: 10)")
    arguments = parser.parse_args()
    prefixes = tuple(arguments.program or [""])
    chosen = [program for program in programs() if program.name.startswith(prefixes)]
    root = arguments.newest_root
    compiler = newest(root) if root else DEBIAN
    devices = arguments.device or (NEWEST_DEVICES if root else DEVICES)
    built, failed = build(chosen, devices, compiler=compiler)
    for failure in failed:
        print(f"does not compile: {failure.program.name} for {failure.device}")
    start = time.monotonic()
    totals = verify(built, root)
    kinds = f"{len({item.program.name for item in built})} programs, {len(built)} binaries for {', '.join(devices)}"
    print(f"{kinds} ({compiler}); checked in {time.monotonic() - start:.0f} s")
    for name, outcome in totals.items():
        print(f"{name}: {outcome.compared:,} {outcome.unit}, {len(outcome.differences)} differences{outcome.aside}")
        for difference in outcome.differences[: arguments.show]:
            print(f"    {difference}")
    return 1 if failed or any(outcome.differences or not outcome.compared for outcome in totals.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
