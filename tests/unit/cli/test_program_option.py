"""``--program``: one of several programs of a recording that hold a kernel of one name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from kernlens.cli.verb_group import kernlens as kernlens_command
from kernlens.model.build import Build, HeldParts
from kernlens.model.stage import Snapshot
from kernlens.recording.writer import RecordingWriter
from tests.explore_reader import Page
from tests.unit.conftest import Kernlens
from tests.writers import programs
from tests.writers.recordings import CHAIN, holding

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
    done = kernlens("report", recording, "-o", "page.html", "--program", "second")
    assert (done.status, done.out) == (0, f"written: page.html ({Path('page.html').stat().st_size:,} bytes)\n")
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


def _names(document: Any, key: str = "program") -> set[str]:
    """Return the programs that a document names, wherever."""
    if isinstance(document, dict):
        own = {document[key].removeprefix("a.klens:")} if isinstance(document.get(key), str) else set()
        return own.union(*(_names(value, key) for value in document.values()))
    return set().union(*(_names(value, key) for value in document)) if isinstance(document, list) else set()


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("check", "--max-code-size", "1000000"), "program"),
        (("advise",), "program"),
        (("symbols",), "name"),
    ],
    ids=["check", "advise", "symbols"],
)
def test_verbs_of_several_paths_read_only_that_program(
    words: tuple[str, ...], key: str, recording: Path, kernlens: Kernlens
) -> None:
    name, *others = words
    whole = json.loads(kernlens(name, recording, *others, "--json").out)
    done = kernlens(name, recording, *others, "--program", "*ir*", "--json")
    assert done.status == 0, done.err
    some = json.loads(done.out)
    assert {"first", "second", "third"} <= _names(whole, key)
    assert {"first", "third"} <= _names(some, key)
    assert "second" not in _names(some, key)
    wrong = kernlens(name, recording, *others, "--program", "secund")
    assert wrong.status == 2
    assert f"there is no program 'secund' in {recording}; it holds second" in wrong.err


def test_of_several_paths_one_may_lack_the_program(recording: Path, kernlens: Kernlens) -> None:
    other = recording.with_name("b.klens")
    with RecordingWriter(other) as writer:
        writer.add(holding("fourth", programs.binary(kernel="twice")))
    done = kernlens("check", recording, other, "--max-code-size", "1000000", "--program", "fourth", "--json")
    assert _names(json.loads(done.out)) == {"fourth"}


def test_a_comparison_is_of_that_program_on_both_sides(recording: Path, kernlens: Kernlens) -> None:
    other = recording.with_name("b.klens")
    with RecordingWriter(other) as writer:
        writer.add(holding("second", programs.binary(kernel="twice")))
    assert kernlens("diff", recording, other).status == 1
    assert kernlens("diff", recording, other, "--program", "second").status == 0
    done = kernlens("diff", recording, other, "--program", "first")
    assert done.status == 2
    assert f"there is no program 'first' in {other}; it holds second" in done.err
    refused = kernlens("diff", "--git", "HEAD", "--program", "first")
    assert "programs cannot be chosen in folders of sources and revisions" in refused.err


def test_a_baseline_s_other_programs_are_not_missing(recording: Path, kernlens: Kernlens) -> None:
    words = ("check", recording, "--baseline", recording, "--fail-on-missing", "--program", "second")
    assert kernlens(*words).status == 0


def test_stages_are_those_of_that_program(tmp_path: Path, kernlens: Kernlens) -> None:
    path = tmp_path / "a.klens"
    with RecordingWriter(path) as writer:
        for name in ("first", "second"):
            snapshot = Snapshot("llvm", None, "text", ".ll", f"; of {name}\n".encode)
            writer.add(Build(name, "dg2", CHAIN, parts=HeldParts(binary=programs.binary(), snapshots=(snapshot,))))
    assert "; of first" in kernlens("stages", path, "--stage", "llvm").out
    done = kernlens("stages", path, "--stage", "llvm", "--program", "second")
    assert done.out == "; of second\n"
    assert "there is no program 'secund'" in kernlens("stages", path, "--program", "secund").err


def test_every_verb_that_chooses_kernels_chooses_programs() -> None:
    """``assemble`` edits a file of one program; ``compile`` and ``observe`` make programs of sources."""
    context = click.Context(kernlens_command)
    options = {
        verb: {name for each in command.params for name in each.opts}
        for verb in kernlens_command.list_commands(context)
        if (command := kernlens_command.get_command(context, verb)) is not None
    }
    with_kernels = {verb for verb, names in options.items() if "--kernel" in names}
    assert {verb for verb in with_kernels if "--program" not in options[verb]} == {"assemble", "compile", "observe"}
