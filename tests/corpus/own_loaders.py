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
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.capture.capture_fixtures import HERE, MAIN, POCL_DRIVER, counting_driver


@dataclass
class Counts:
    """What the driver counted in each run, of which the last is captured, and their outputs; what was recorded."""

    counted: list[Counter[str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    recorded: Counter[str] = field(default_factory=Counter)
    error: str = ""

    @property
    def are_equal(self) -> bool:
        """Whether all runs have the same counts and exit status, and something was built."""
        same = all(each == self.recorded for each in self.counted) and len(set(self.statuses)) == 1
        return same and self.recorded["build"] > 0

    def __str__(self) -> str:
        counted = ", ".join(str(dict(sorted(each.items()))) for each in self.counted)
        return f"counted {counted}, recorded {dict(sorted(self.recorded.items()))}, status {self.statuses}{self.error}"


def counts(folder: Path, words: list[str], variables: dict[str, str], runs: int = 1) -> Counts:
    """Run a program so often as it is, and once captured; each time with a home and caches of its own."""
    answer, all_counts = folder / "x.json", Counts()
    captured = [*MAIN, "capture", "-o", str(folder / "x.klens"), "--json-file", str(answer), "--", *words]
    for number, command in enumerate([*[words] * runs, captured]):
        file, home = folder / f"counted{number}", folder / f"home{number}"
        file.write_text("")
        home.mkdir()
        caches = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "POCL_CACHE_DIR": str(home / "pocl")}
        environment = {**os.environ, **variables, **caches, "COUNTED": str(file)}
        done = subprocess.run(
            command,
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=900,
        )
        all_counts.statuses.append(done.returncode)
        all_counts.outputs.append(done.stdout)
        all_counts.counted.append(Counter(file.read_text().split()))
    if not answer.exists():
        all_counts.error = f"; {done.stderr[-300:]}"
        return all_counts
    noted = json.loads(answer.read_text())
    launches = sum(kernel["launches"] for kernel in noted["kernels"])
    all_counts.recorded = +Counter({"build": noted["builds"], "launch": launches})
    return all_counts


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
            with tempfile.TemporaryDirectory(dir=folder) as runs:
                counted = counts(Path(runs), command, led)
            differing += not counted.are_equal
            print(f"{'equal' if counted.are_equal else 'DIFFERENT'}: {title}: {counted}")
    print(f"{len(programs) - differing} of {len(programs)} equal")
    return differing


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
