"""Captures through OpenCL loaders: what is recorded equals what a driver counts, and the application sees no difference.

    python -m tests.corpus.own_loaders LOADER...       # files of loaders, such as those in wheels
    python -m tests.corpus.own_loaders -- APP [ARG]... # an application that brings its own

PoCL is the driver, behind one that counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.integration.capture.capture_fixtures import HERE, MAIN, POCL_DRIVER, counting_driver


def counts(
    folder: Path, words: list[str], variables: dict[str, str]
) -> tuple[Counter[str], Counter[str], Counter[str], bool]:
    """Return what the driver counted without and with a capture, what was recorded, and whether the statuses are equal."""
    answer = folder / "x.json"
    counted: list[Counter[str]] = []
    statuses: list[int] = []
    for command in (words, [*MAIN, "capture", "-o", str(folder / "x.klens"), "--json-file", str(answer), "--", *words]):
        file = folder / f"counted{len(counted)}"
        file.write_text("")
        environment = {**os.environ, **variables, "COUNTED": str(file), "POCL_CACHE_DIR": str(folder)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
        statuses.append(done.returncode)
        counted.append(Counter(file.read_text().split()))
    noted = json.loads(answer.read_text())
    recorded = Counter({"build": noted["builds"], "launch": sum(kernel["launches"] for kernel in noted["kernels"])})
    return counted[0], counted[1], +recorded, statuses[0] == statuses[1]


def main(words: list[str]) -> int:
    """Print a line for each loader, or for the application; the number of those that differ."""
    differing = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        led = counting_driver(folder, POCL_DRIVER)
        programs = [words[1:]] if words[:1] == ["--"] else []
        for number, loader in enumerate(words if not programs else []):
            program = folder / f"program{number}"
            source = HERE / "loaders" / "linked_application.c"
            subprocess.run(["gcc", "-O1", f'-DOPENED_LOADER="{loader}"', "-o", program, source], check=True)
            programs.append([str(program), "3", "7"])
        for title, command in zip(words if words[:1] != ["--"] else [words[-1]], programs, strict=True):
            led["PYOPENCL_HOME"] = os.environ.get("PYOPENCL_HOME", str(Path(title).parent.parent))
            plain, captured, recorded, is_same = counts(folder, command, led)
            is_equal = is_same and plain == captured == recorded and plain["build"] > 0
            differing += not is_equal
            print(
                f"{'equal' if is_equal else 'DIFFERENT'}: {title}: counted {dict(captured)}, recorded {dict(recorded)}"
            )
    print(f"{len(programs) - differing} of {len(programs)} equal")
    return differing


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
