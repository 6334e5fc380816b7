"""The fuzzer itself: that it is guided by coverage, goes on behind a fault, and tells what it found."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT

# An atheris that is there and cannot be imported is a failure.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None,
    reason="atheris is not installed: pip install -e '.[fuzz]' (on Linux, x86-64)",
)

#: Fuzzes targets as the command does, then one that is broken, and one that crashes, for inputs that begin like an archive:
#: what atheris does to all modules would take most of the time, so that it is done to what these targets read with alone; the
#: fuzzing in scripts/test.sh is with all.
_CAMPAIGNS = """
import ctypes, sys
from pathlib import Path
from tests.fuzz import fuzzer
fuzzer.prepare(["kernlens.formats.ar", "kernlens.formats.zebin.ze_info", "kernlens.formats.zstd_frame"])
fuzzer.prepare = lambda: None
from kernlens.formats.ar import read_ar
from tests.fuzz.__main__ import main
from tests.fuzz.campaign import report, run
from tests.fuzz.targets import Target
def ar(data):
    if data.startswith(b"!<arch>"):
        ctypes.string_at(0) if how == "crash" else [][1]
    read_ar(memoryview(data))
good, *places = sys.argv[1:]
sys.argv[1:] = ["--count", "600", "--findings", good, "zstd", "ze_info"]
print("==", main(), flush=True)
for how, findings, work in (("raise", *places[:2]), ("crash", *places[2:])):
    courses = run([Target(ar, 200)], {"ar": 200}, ["-seed=1"], Path(findings), Path(work), 1)
    print("==", report(courses, Path(findings)), flush=True)
"""

#: Of three children the second outlives the others, with a copy of the first one's pipe; the third ends at once, before the
#: campaign looks, and its pipe has the number of the first one's.
_CHILDREN = """
import os, sys, time
from pathlib import Path
from tests.fuzz import campaign
from tests.fuzz.targets import Target
held_reading, held = os.pipe()
def start(target, options, findings):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(held)
        if target.name == "second":
            os.read(held_reading, 1)
        os._exit(0)
    os.close(writing)
    if target.name != "second":
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    if target.name == "third":
        os.close(held)
    numbers[target.name] = reading
    return child, reading
def first(data): pass
def second(data): pass
def third(data): pass
numbers = {}
campaign.start = start
courses = campaign.run([Target(each, 1) for each in (first, second, third)], dict.fromkeys(("first", "second", "third"), 1),
                       [], Path(sys.argv[1]), Path(sys.argv[2]), 2)
assert numbers["third"] == numbers["first"], numbers
print(*sorted(course.target.name for course in courses), *(course.failure for course in courses))
"""


def python(*words: str | Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def folders(outer: Path) -> tuple[Path, Path]:
    """Makes one for what is found and one for what is learnt."""
    result, work = outer / "found", outer / "work"
    result.mkdir()
    work.mkdir()
    return result, work


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, str]]:
    """Of the command, of the target that raises and of that which crashes: the folder of what was found, and what was told."""
    good = tmp_path_factory.mktemp("good")
    places = [folders(tmp_path_factory.mktemp(how)) for how in ("raise", "crash")]
    done = python("-c", _CAMPAIGNS, good, *places[0], *places[1])
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"(.*?)^== (\d)\n", done.stdout, re.DOTALL | re.MULTILINE)
    assert [status for _, status in told] == ["0", "1", "1"], done.stdout
    return [(folder, text) for folder, (text, _) in zip([good, *(place[0] for place in places)], told, strict=True)]


def test_targets_are_fuzzed_with_coverage(campaigns: list[tuple[Path, str]]) -> None:
    folder, text = campaigns[0]
    assert re.search(r"\n6\d\d inputs, 0 found\n", text)
    edges = {name: int(count) for name, count in re.findall(r"^done (\w+) .* (\d+) edges", text, re.MULTILINE)}
    assert edges["zstd"] > 20
    assert edges["ze_info"] > 150
    assert list(folder.iterdir()) == []


def test_a_fault_is_kept_and_fuzzing_goes_on(campaigns: list[tuple[Path, str]]) -> None:
    folder, text = campaigns[1]
    assert "200 inputs, 1 found" in text
    (finding,) = (path for path in folder.iterdir() if path.suffix != ".txt")
    assert finding.name.startswith("ar-IndexError")
    assert finding.read_bytes().startswith(b"!<arch>")
    assert f"again: python -m tests.fuzz --replay {finding}" in text
    assert "IndexError: list index out of range" in finding.with_name(finding.name + ".txt").read_text()
    again = python("-m", "tests.fuzz", "--replay", finding)
    assert (again.returncode, "is taken as it should be" in again.stdout) == (0, True)


def test_a_crash_is_told_with_its_input(campaigns: list[tuple[Path, str]]) -> None:
    folder, text = campaigns[2]
    (finding,) = folder.glob("ar-crash-*")
    assert finding.read_bytes().startswith(b"!<arch>")
    assert "it crashed or hung" in text
    assert "ar ended with" in text


def test_children_of_which_each_holds_its_elders_pipes_end_once(tmp_path: Path) -> None:
    done = python("-c", _CHILDREN, *folders(tmp_path))
    assert done.stdout.endswith("first second third 0 0 0\n"), done.stdout + done.stderr
