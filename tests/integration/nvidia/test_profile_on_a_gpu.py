"""Kept launches of four applications on an NVIDIA GPU: timed, kept, replayed, and profiled by Nsight Compute, whose page says
the same of each line. With KERNLENS_WHOLE all launches are profiled, which takes minutes; else the first of each application.

Where pytest is, nothing else of the tests is needed: ``python -m pytest --noconftest -o addopts= -s FILE``.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernlens.recording.reader import Recording
from tests.corpus.packages import CorpusError, fetch
from tests.whole import WHOLE

HERE, BEHAVIOUR = Path(__file__).parent / "applications", Path(__file__).parents[2] / "data" / "behaviour"
#: The application -> its words, and its package with the folder of kernels in it.
APPLICATIONS = {
    "own": (["own", str(HERE / "own.cl")], ""),
    "arrays": (["arrays"], ""),
    "silx": (
        ["launches", str(BEHAVIOUR / "silx.json")],
        "python3-silx/usr/lib/python3/dist-packages/silx/resources/opencl",
    ),
    "darktable": (["launches", str(BEHAVIOUR / "darktable.json")], "darktable/usr/share/darktable/kernels"),
}
OUTSIDE = "reads memory in front of its filter, where the filter has other rows than columns: what lies there differs"
#: Kernel -> why it is not profiled.
EXPLAINED = {"image": "CUDA's textures are others", "convol_2D_XY": OUTSIDE, "convol_2D_YZ": OUTSIDE}
#: Launches that are replayed at once. Nsight Compute profiles one after the other.
AT_ONCE, EACH_RUN = 6, 2


pytestmark = pytest.mark.skipif(not list(Path("/dev").glob("nvidia[0-9]*")), reason="no NVIDIA GPU here")
pytest.importorskip("pyopencl")


def run(*words: str | Path, status: int | None = 0) -> str:
    """Run a command, and return what it prints."""
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert status is None or done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout or done.stderr


def kernlens(*words: str | Path, status: int | None = 0) -> str:
    return run("-m", "kernlens", *words, status=status)


@dataclass(frozen=True)
class Kept:
    """An application's recording, and the launches in it."""

    path: Path
    launches: list[dict[str, Any]]


@pytest.fixture(scope="module", params=APPLICATIONS)
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """An application, captured in both ways."""
    words, package = APPLICATIONS[request.param]
    if request.param == "arrays":
        pytest.importorskip("mako")
    if package:
        try:
            words = [*words, str(fetch([package.partition("/")[0]]) / package)]
        except CorpusError as error:
            pytest.skip(f"{request.param}'s kernels: {error}")
    application, folder = [str(HERE / "application.py"), *words], tmp_path_factory.mktemp(request.param)
    alone, path = run(*application).strip(), folder / "kept.klens"
    timed = kernlens("capture", "--time", "-o", folder / "timed.klens", "--", sys.executable, *application)
    assert alone in timed
    assert alone in kernlens(
        "capture", "--lines", "--launch", "*:every=1", "-o", path, "--", sys.executable, *application
    )
    listed = json.loads(kernlens("replay", path, "--list", "--json"))["kept"]
    assert len({each["kernel"] for each in listed}) >= 6
    with Recording(str(folder / "timed.klens")) as recording:
        times = {name: time.total_ns for build in recording.builds() for name, time in build.device_times.items()}
    assert {each["kernel"] for each in listed} <= {name for name, total in times.items() if total > 0}
    return Kept(path, listed)


def replayed(recording: Path, *words: str | Path) -> tuple[dict[str, Any] | None, str]:
    """Return a launch that ran again, or what is said instead."""
    printed = kernlens("replay", recording, "--json", *words, status=None)
    return (json.loads(printed)["launches"][0], "") if printed.startswith("{") else (None, printed)


def test_launches_replay_and_are_profiled_as_the_profiler_counts(
    captured: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (ncu := shutil.which("ncu")) is None:
        pytest.skip("no Nsight Compute (ncu) here")
    alone = tmp_path / "ncu"
    alone.write_text(
        f'#!/bin/sh\ncase "$*" in *--export*) exec flock {tmp_path}/lock {ncu} "$@" ;; esac\nexec {ncu} "$@"\n'
    )
    alone.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    chosen = list({(each["kernel"], each["number"]): each for each in captured.launches}.values())

    def profiled(each: Mapping[str, Any]) -> tuple[str, str]:
        try:
            return each["kernel"], _profiled(captured.path, each["kernel"], each["number"], tmp_path)
        except AssertionError as error:
            return each["kernel"], f"FAILED: {error}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(profiled, chosen if WHOLE else chosen[:EACH_RUN]))
    print("", *(f"{kernel}: {outcome}" for kernel, outcome in outcomes), sep="\n")
    left = Counter(kernel for kernel, outcome in outcomes if not outcome.startswith("profiled"))
    assert left.keys() <= EXPLAINED.keys(), outcomes
    assert not [kernel for kernel, outcome in outcomes if "FAILED" in outcome]


def _profiled(recording: Path, kernel: str, number: int, folder: Path) -> str:
    """Replay and profile a launch, compare its page, and return what came of it."""
    name = folder / f"{kernel}-{number}"
    printed = kernlens(
        *("replay", recording, "--kernel", kernel, "--launch", str(number), "--runs", "3", "--json"),
        *("--profile", "ncu", "-o", name),
        status=None,
    )
    if not printed.startswith("{"):
        return f"refused: {printed.strip()}"
    (launch,) = json.loads(printed)["launches"]
    profile = launch["profile"]
    if not launch["equal"] or profile is None:
        differing = [each for each in launch["builds"][0]["results"] if each["difference"]]
        return f"differs: {differing or profile}"
    assert all(each["difference"] is None for each in profile["results"])
    code = [note for note in profile["notes"] if note.startswith("the profiled code")]
    assert len(code) == 1
    assert kernel not in ("where", "with_local", "with_const") or "rebuilt copy" in code[0]
    assert kernel not in ("set", "structs", "mixed") or "OpenCL's own" in code[0]
    others = [note for note in profile["notes"] if note not in code]
    return f"profiled, {_as_the_page(name)}; {'; '.join((code[0].removeprefix('the profiled code is '), *others))}"


def _as_the_page(name: Path) -> str:
    """Hold the samples of each line against those of the profiler's own page."""
    document = json.loads(kernlens("annotate", f"{name}.klens", "--samples", f"{name}.csv", "--json"))
    kernels = [kernel for program in document["programs"] for kernel in program["kernels"] if kernel.get("samples")]
    ours: Counter[int] = Counter()
    for line in (line for kernel in kernels for line in kernel["samples"]["lines"]):
        ours[line["line"]] += sum(line["samples"].values())
    theirs, instructions = page_lines(Path(f"{name}.csv"))
    assert sum(kernel["samples"]["total"] for kernel in kernels) == sum(count for count, _ in instructions.values())
    # An instruction of an inlined function stands at its own line and at the call's; it counts once.
    several: Counter[int] = Counter()
    for count, places in instructions.values():
        several.update(dict.fromkeys(places, count) if len(set(places)) > 1 else {})
    lines = {line for line in {*ours, *theirs} if ours[line] or theirs[line]}
    wrong = {line: (ours[line], theirs[line]) for line in lines if not 0 <= theirs[line] - ours[line] <= several[line]}
    assert not wrong, wrong
    twice = sum(ours[line] != theirs[line] for line in lines)
    return f"{len(lines) - twice} of {len(lines)} lines equal ({twice} with a call), {ours.total()} samples"


def page_lines(path: Path) -> tuple[Counter[int], dict[str, tuple[int, list[int]]]]:
    """Return the samples of each line in the rows of lines, and of each address with the lines that it stands under."""
    lines: Counter[int] = Counter()
    instructions: dict[str, tuple[int, list[int]]] = {}
    place: dict[str, int] = {}
    for row in csv.reader(path.open(newline="")):
        if row and row[0] in ("File Path", "Function Name"):
            place = {}
        elif row and row[0] == "Line No":
            place = {name: column for column, name in enumerate(row)}
        elif place and len(row) > place["Address"]:
            count = int(row[place["# Samples"]]) if "# Samples" in place and row[place["# Samples"]].isdigit() else 0
            if row[0].isdigit():
                current = int(row[0])
                lines[current] += count
            elif row[place["Address"]].startswith("0x"):
                instructions.setdefault(row[place["Address"]], (count, []))[1].append(current)
    return lines, instructions


def test_a_faster_build_is_told_in_both_orders_and_an_equal_one_is_not(tmp_path: Path) -> None:
    naive, tiled, other = HERE / "own.cl", HERE / "tiled.cl", tmp_path / "other.cl"
    other.write_text(naive.read_text() + "kernel void more(global int *o) { o[0] = 1; }\n")
    ratios = {}
    for first, second in ((naive, tiled), (tiled, naive), (naive, other)):
        path = tmp_path / f"{first.stem}-{second.stem}.klens"
        application = [sys.executable, str(HERE / "application.py"), "transpose", str(first)]
        kernlens("capture", "--launch", "transpose", "-o", path, "--", *application)
        launch, problem = replayed(path, "--kernel", "transpose", "--source", second)
        assert launch is not None, problem
        assert launch["equal"]
        ratios[first.stem, second.stem] = launch["ratio"]
        print(first.stem, second.stem, launch["answer"])
    assert [each["pairs"] for each in ratios.values()] == [20] * 3
    assert ratios["own", "tiled"]["low"] > 1.2
    assert ratios["tiled", "own"]["high"] < 0.9
    assert not ratios["own", "other"]["different"]
