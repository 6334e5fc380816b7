"""Waits that an edit takes away: ``python -m tests.corpus.removed_waits --newest-root ROOT``.

Of real kernels, one token that an instruction waits for is left out. The compiler wrote it for a hazard, and a warning has to
tell that; code that is not edited has none.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import kernlens
from kernlens.isa.intel.iga_library import search_also
from kernlens.verbs.assemble import assemble
from kernlens.verbs.editable import editable_text
from tests.corpus.build import build
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import programs

TOLD, UNTOLD, FALSE = "told", "not told", "told of code that is not edited"
_TOKEN = re.compile(r",?\$\d+\.dst")


def removed_waits(paths: Iterable[Path], each: int, generator: random.Random) -> Counter[str]:
    """Return how often the warning came, for ``each`` waits of each kernel."""
    results: Counter[str] = Counter()
    for path in paths:
        (program,) = kernlens.load(path)
        for kernel in list(program.kernels.values())[:3]:
            lines = editable_text(str(path), program, kernel)
            results[FALSE] += bool(assemble("\n".join(lines), path, kernel=kernel.name).warnings)
            waiting = [
                number
                for number, line in enumerate(lines)
                if not line.startswith("//") and "sync" not in line and _TOKEN.search(line.partition("//")[0])
            ]
            for number in generator.sample(waiting, min(each, len(waiting))):
                edited = list(lines)
                without = _TOKEN.sub("", lines[number], count=1)
                edited[number] = without.replace("{,", "{").replace("{}", "")
                is_told = bool(assemble("\n".join(edited), path, kernel=kernel.name).warnings)
                results[TOLD if is_told else UNTOLD] += 1
    return results


def main() -> int:
    """Print the counts for each device; exit status 1 if a tenth of the waits or more goes without a warning."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, required=True)
    parser.add_argument("--programs", type=int, default=8)
    arguments = parser.parse_args()
    search_also(lambda: {"newest": str(arguments.newest_root)})
    chosen = [each for each in programs() if each.name.startswith("darktable/")][: arguments.programs]
    total: Counter[str] = Counter()
    for compiler, device in ((DEBIAN, "tgllp"), (DEBIAN, "dg2"), (newest(arguments.newest_root), "bmg")):
        built, _ = build(chosen, [device], compiler=compiler, jobs=1)
        results = removed_waits([item.binary for item in built], 6, random.Random(1))
        print(f"{device} ({compiler}): {dict(results)}", flush=True)
        total += results
    print(f"{total[TOLD] + total[UNTOLD]} waits left out, {total[TOLD]} told; {total[FALSE]} times {FALSE}")
    return 1 if total[FALSE] or total[UNTOLD] * 10 >= total[TOLD] else 0


if __name__ == "__main__":
    sys.exit(main())
