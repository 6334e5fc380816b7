"""``--program``: one of several programs of a recording that hold a kernel of one name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernlens.recording.writer import RecordingWriter
from tests.explore_reader import Page
from tests.unit.conftest import Kernlens
from tests.writers import programs
from tests.writers.recordings import holding

VERBS = {
    "annotate": ("annotate",),
    "disasm": ("disasm",),
    "inspect": ("inspect",),
    "extract": ("extract", "-o", "parts"),
}


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a recording of three programs, two of which hold the kernel ``twice``."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.klens"
    with RecordingWriter(path) as writer:
        for name, kernel in (("first", "twice"), ("second", "twice"), ("third", "once")):
            writer.add(holding(name, programs.binary(kernel=kernel)))
    return path


@pytest.mark.parametrize("verb", VERBS)
def test_only_that_program_is_read(verb: str, recording: Path, kernlens: Kernlens) -> None:
    name, *others = VERBS[verb]
    done = kernlens(name, recording, *others, "--program", "second")
    assert done.status == 0, done.err
    files = [path for path in recording.parent.rglob("*") if path.is_file() and path != recording]
    written = done.out + "".join(path.read_text(errors="replace") + str(path) for path in files)
    assert "twice" in written
    assert "once" not in written


def test_a_report_has_only_that_program(recording: Path, kernlens: Kernlens) -> None:
    assert kernlens("report", recording, "-o", "page.html", "--program", "second").status == 0
    shown = json.dumps(Page(Path("page.html").read_text()).index)
    assert '"second"' in shown
    assert '"first"' not in shown


def test_a_pattern_names_several(recording: Path, kernlens: Kernlens) -> None:
    document = json.loads(kernlens("annotate", recording, "--program", "*ir*", "--json").out)
    assert [program["name"] for program in document["programs"]] == ["first", "third"]


def test_a_program_that_is_not_there_is_told_with_those_that_are(recording: Path, kernlens: Kernlens) -> None:
    done = kernlens("annotate", recording, "--program", "secund")
    assert done.status == 2
    assert "there is no program 'secund'" in done.err
    assert "it holds second" in done.err


@pytest.mark.parametrize("verb", ["annotate", "disasm"])
def test_a_kernel_of_several_programs_is_told(verb: str, recording: Path, kernlens: Kernlens) -> None:
    told = "2 programs hold twice: first, second; --program NAME shows one"
    assert told in kernlens(verb, recording, "--kernel", "twice").err
    assert "programs hold" not in kernlens(verb, recording, "--kernel", "twice", "--program", "first").err
    assert "programs hold" not in kernlens(verb, recording, "--kernel", "once").err
