"""A capture whose processes are killed at random moments: ``python -m tests.integration.capture.capture_stress [--count 50]``.

The application says of each build that it has finished. However its capture ends, the recording holds all of these: kernlens
makes it if the application is killed, ``capture --recover`` if kernlens is.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernlens.recording.reader import Recording
from kernlens.verbs.capture.capture import recover
from tests.integration.capture.capture_fixtures import APPLICATION, MAIN, environment
from tests.integration.layers.opencl_layer_fixtures import SLICES, intel

#: How many programs the application builds.
BUILDS = 6


def build_application(folder: Path) -> Path:
    """Compile the application of the tests of capture."""
    app = folder / "app"
    subprocess.run(["gcc", "-o", str(app), *APPLICATION], check=True, timeout=60)
    return app


def trial(app: Path, work: Path, victim: str, seconds: float | None) -> tuple[int, int]:
    """Capture the application, and kill it (``app``) or kernlens (``kernlens``) after so many seconds (None: not at all).

    Returns how many builds had finished, and how many there are altogether; raises AssertionError if the recording lacks one.
    """
    recording, log = work / "x.klens", work / "said"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*MAIN, "capture", "-o", str(recording), "--", str(app), "churn", str(BUILDS)],
            cwd=work,
            env=environment(intel("dg2", SLICES["dg2"])),
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        children = []
        if seconds is not None:
            time.sleep(seconds)
            children = _children(process.pid)
            for number in children if victim == "app" else [process.pid]:
                _kill(number)
        process.wait(120)
        _await(children)
    finished = {line.removeprefix("built ") for line in log.read_text().splitlines() if line.startswith("built ")}
    folder = recording.with_name("x.klens.capture")
    if folder.exists() and (folder / "recording").exists():
        recover(folder)
    recorded = set()
    if recording.exists():
        with Recording(recording) as opened:
            recorded = {build.options or "" for build in opened.builds() if build.ok and build.binary}
    assert finished <= recorded, f"{sorted(finished - recorded)} had finished and are not recorded"
    return len(finished), len(recorded)


def _children(process: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return  # It had ended.


def _await(processes: list[int]) -> None:
    """Wait for processes that are no children of this one."""
    for process in processes:
        for _ in range(2400):
            try:
                state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                break
            if state == "Z":
                break
            time.sleep(0.05)


def run(app: Path, work: Path, victim: str, count: int, seed: int = 0) -> list[int]:
    """Do so many trials, in moments that are spread over a capture; returns how many builds had finished in each."""
    chance = random.Random(f"{victim} {seed}")
    began = time.monotonic()
    finished = [trial(app, _new_folder(work / f"{victim}-0"), victim, None)[0]]
    whole = time.monotonic() - began
    for number in range(1, count):
        finished.append(trial(app, _new_folder(work / f"{victim}-{number}"), victim, chance.uniform(0, whole))[0])
    return finished


def _new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        app = build_application(Path(name))
        for victim in ("app", "kernlens"):
            finished = run(app, Path(name), victim, options.count, options.seed)
            print(f"{victim} killed {options.count} times, after {finished} finished builds: all of them are recorded")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
