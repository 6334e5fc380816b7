"""``kernlens capture --launch`` leaves an application the order of its events, and keeps what a launch left."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.corpus import launches
from tests.corpus.event_order import differences, read
from tests.integration.capture.capture_fixtures import FLAGS, HERE, MAIN, environment
from tests.integration.capture.test_kept_launches import launches_of, lines_of
from tests.integration.layers.opencl_layer_fixtures import Platform, pocl
from tests.made_once import once
from tests.whole import before_release

#: Real programs, of which at least six must be here for the long form.
REAL = ("clfft", "clblast-axpy", "clblast-dot", "clblast-xgemv", "clblast-copy_fast", "clblast-transpose_fast")
FEWEST = 6


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def fill(path: Path) -> None:
        for name in ("ordered_events", "kept_launches"):
            words = ["gcc", *FLAGS, "-o", str(path / name), str(HERE / f"{name}.c"), "-lOpenCL", "-lpthread"]
            subprocess.run(words, check=True, timeout=60)
        launches.event_layer(path)

    return once(tmp_path_factory, "event-order-programs", fill)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Platform:
    """PoCL, which builds once for all tests of a process: they are about launches, and its builds take longer than all else."""
    return pocl(tmp_path_factory.mktemp("pocl-cache"))


def outputs(platform: Platform, programs: Path, work: Path, name: str, *before: str) -> tuple[list[str], Path]:
    """Run a program; return its output and the log of its events. One that hangs fails the test."""
    log = work / f"events{len(list(work.glob('events*')))}"
    variables = environment(platform, OPENCL_LAYERS=str(programs / "libevents.so"), EVENTS=str(log))
    done = subprocess.run(
        [*before, str(programs / name)],
        cwd=work,
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines(), log


@pytest.mark.parametrize("name", ["ordered_events", "kept_launches"])
def test_events_come_in_the_same_order(name: str, tmp_path: Path, platform: Platform, programs: Path) -> None:
    """Commands, what they wait for, callbacks and times; a later command may let a launch begin, on a queue without order."""
    capture = [*MAIN, "capture", "--launch", "*:every=1", "-o", str(tmp_path / "x.klens"), "--"]
    first, again, captured = (outputs(platform, programs, tmp_path, name, *words) for words in ([], [], capture))
    assert sorted(captured[0]) == sorted(first[0]) == sorted(again[0])
    orders = [read(log) for _, log in (first, again, captured)]
    assert [each.faults() for each in orders] == [[], [], []]
    assert differences(orders[0], orders[1], orders[2]) == []
    assert len(orders[2].commands) == len(orders[0].commands) > 20


def test_what_follows_at_once_is_not_what_a_launch_left(tmp_path: Path, platform: Platform, programs: Path) -> None:
    """Other queues write to its memory behind its event, and once the host has waited for it."""
    capture = [*MAIN, "capture", "--launch", "*:every=1", "-o", str(tmp_path / "x.klens"), "--"]
    known, _ = outputs(platform, programs, tmp_path, "ordered_events", *capture)
    left = [line for line in lines_of(launches_of(tmp_path / "x.klens")) if " after " in line]
    assert left == sorted(line for line in known if " after " in line)
    assert len(left) == 21
    assert "0 markers early" in known


def test_an_order_that_differs_is_told(tmp_path: Path, platform: Platform, programs: Path) -> None:
    """The comparison itself: another command, a lost end, an end before what it follows."""
    _, log = outputs(platform, programs, tmp_path, "ordered_events")
    text = log.read_text()
    lines = text.splitlines()
    ends = [place for place, line in enumerate(lines) if line.startswith("C 3 ")]
    swapped = list(lines)
    swapped[ends[0]], swapped[ends[1]] = lines[ends[1]], lines[ends[0]]
    changes = {
        "ended before": "\n".join(swapped),
        "has not ended": text.replace(lines[ends[0]], "S 99 0"),
        "sequences": text.replace("NDRangeKernel add", "NDRangeKernel sub", 1),
    }
    for words, changed in changes.items():
        (tmp_path / "changed").write_text(changed)
        assert any(words in each for each in differences(read(log), read(log), read(tmp_path / "changed"))), words


@before_release
def test_real_programs_see_the_same_order(tmp_path: Path) -> None:
    present = [name for name in REAL if shutil.which(launches.PROGRAMS[name].words[0])]
    if len(present) < FEWEST:
        pytest.skip("Debian's clfft-client, clblast-tests and clblast-utils are not installed")
    driver = launches.drivers(tmp_path)
    for name in present:
        work = tmp_path / name
        work.mkdir()
        outcome = launches.tried(launches.PROGRAMS[name], work, driver, None, None)
        assert outcome.faults == []
        assert outcome.events >= outcome.counted > 0
