"""Builds that failed: every reader of a recording shows them, a check fails on them, and a bad source leaves the others."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import jsonschema_rs
import pytest

import kernlens as package
from kernlens.loading import open_file
from kernlens.model.build import (
    BUILT,
    BUILT_IN,
    CONNECTED,
    CONSUMED,
    LINKED,
    LINKED_AT_ONCE,
    NOT_ASKED,
    NOT_GIVEN,
    REFUSED,
    Build,
    HeldParts,
    Source,
    outcome_told,
)
from kernlens.recording.schema import SCHEMA_VERSION
from tests.explore_reader import Page
from tests.tree import ROOT
from tests.unit.cli.test_cli_every_verb import READERS
from tests.unit.conftest import Kernlens
from tests.writers.programs import SOURCE, binary
from tests.writers.recordings import CHAIN, record

LOG = "bad.cl:3:7: error: use of undeclared identifier 'nothere'\n  nothere\n1 error generated.\n"
GOOD = Build("scale", "skl", CHAIN, parts=HeldParts(binary=binary(), sources=(Source("scale.cl", SOURCE),)))
BAD = Build(
    "bad",
    "skl",
    CHAIN,
    options="-DN=7",
    ok=False,
    reason="the application's build failed with CL_BUILD_PROGRAM_FAILURE",
    parts=HeldParts(log=LOG, sources=(Source("/src/bad.cl", "kernel void bad() { nothere }\n"),)),
)
#: Of another device, which a choice of skl leaves out.
OTHER = replace(BAD, name="doubles", device="dg2")
WORDS = (
    "1 of 2 builds failed: /src/bad.cl for skl by newest: the application's build failed with CL_BUILD_PROGRAM_FAILURE"
)

#: What is asked of a recording, and where the text is written.
ASKED = {
    "advise": ("advise",),
    "annotate": ("annotate",),
    "check": ("check", "--max-spill-bytes", "0"),
    "disasm": ("disasm",),
    "extract": ("extract", "-o", "parts"),
    "inspect": ("inspect",),
    "symbols": ("symbols",),
    "diff": ("diff", "x.klens"),
}
#: Verbs that answer for each build by itself, or take sources.
OF_EACH = {"compile", "link", "observe", "recording", "replay", "stages", "sweep"}


@pytest.fixture
def folder(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a recording of a good and a bad build for skl, without libiga64."""
    monkeypatch.chdir(tmp_path)
    record(tmp_path / "x.klens", GOOD, BAD)
    return tmp_path


def test_every_reader_is_asked() -> None:
    assert ASKED.keys() | OF_EACH == READERS.keys()


@pytest.mark.parametrize("verb", ASKED)
@pytest.mark.parametrize("of", ["recording", "folder"])
def test_every_reader_shows_them(verb: str, of: str, kernlens: Kernlens, folder: Path) -> None:
    path = "x.klens"
    if of == "folder":
        (folder / "all").mkdir()
        record(folder / "all" / "y.klens", GOOD, BAD)
        path = "all"
    done = kernlens(*ASKED[verb], path)
    assert done.status == (1 if verb == "check" else 0), done.err
    if verb == "inspect":
        assert "\n1 of 2 builds failed\n  bad (/src/bad.cl) for skl" not in done.out
        section = done.out.split("\n1 of 2 builds failed\n")[1]
        assert section.startswith("  /src/bad.cl for skl, NEO 26.27.39122 / IGC 2.40.14\n    options: -DN=7\n")
        assert LOG.split("\n")[0] in section
        assert "the log has 3 lines: --log shows it\n" in section
        assert "\n  1 error generated.\n" in kernlens("inspect", path, "--log").out
    else:
        lines = done.out.rstrip("\n").split("\n")
        closing = lines[-2] if verb in ("advise", "check", "diff") else lines[-1]
        assert closing.startswith(WORDS)
        assert f"(kernlens inspect {path} --log shows the log)" in closing
    (*_, entry) = json.loads(kernlens(*ASKED[verb], path, "--json").out)["failed_builds"]
    assert (entry["program"], entry["device"], entry["toolchain_name"]) == ("bad", "skl", "newest")
    assert (entry["recording"], entry["source"], entry["build_options"]) == (path, "/src/bad.cl", "-DN=7")
    assert entry["log"] == LOG
    assert entry["reason"].endswith(
        "CL_BUILD_PROGRAM_FAILURE: bad.cl:3:7: error: use of undeclared identifier 'nothere'"
    )


def test_forms_of_annotate_show_them(kernlens: Kernlens, folder: Path) -> None:
    for words in (("--top", "2"), ("--offset", "0x0"), ("--own-lines",), ("--line", "2")):
        assert f"\n{WORDS}" in kernlens("annotate", "x.klens", "--kernel", "scale", *words).out, words
    table = kernlens("annotate", "x.klens", "--format", "csv")
    assert WORDS not in table.out
    assert WORDS in table.err
    done = kernlens("annotate", "x.klens", "--offset", "0x9999")
    assert (done.status, done.out) == (2, "")


def test_link_says_that_modules_are_missing(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("link", "x.klens")
    assert f"kernlens: {WORDS}" in done.err


def test_a_device_is_chosen_among_them_too(kernlens: Kernlens, folder: Path) -> None:
    record(folder / "two.klens", GOOD, BAD, OTHER)
    assert "2 of 3 builds failed: the first /src/bad.cl for skl" in kernlens("disasm", "two.klens").out
    assert "1 of 2 builds failed: /src/bad.cl for skl" in kernlens("disasm", "two.klens", "--device", "skl").out
    assert len(kernlens("inspect", "two.klens", "--device", "skl", "--json").document["failed_builds"]) == 1


@pytest.mark.parametrize("of", ["recording", "folder"])
def test_where_all_failed_a_chosen_device_shows_its_own(of: str, kernlens: Kernlens, folder: Path) -> None:
    """They are the answer: what is there are failed builds, which is no host file without device images."""
    (folder / "all").mkdir()
    path = record(folder / "all" / "failed.klens", BAD, OTHER) if of == "recording" else folder / "all"
    if of == "folder":
        record(folder / "all" / "failed.klens", BAD, OTHER)
    done = kernlens("inspect", path, "--device", "skl")
    assert (done.status, done.err) == (0, "")
    assert "  /src/bad.cl for skl, NEO 26.27.39122" in done.out
    assert "for dg2" not in done.out
    done = kernlens("extract", path, "--device", "skl", "-o", "parts")
    assert done.status == 0
    assert [each.name for each in (folder / "parts" / "failed_builds").iterdir()] == ["bad.skl.newest"]
    for verb in (("inspect",), ("extract", "-o", "none"), ("symbols",), ("link",)):
        done = kernlens(*verb, path, "--device", "bmg")
        assert done.status == 2
        assert "contains no program for bmg; what it holds are builds that failed, for skl, dg2" in done.err


def test_modules_of_failed_builds_are_told_from_files_without_modules(kernlens: Kernlens, folder: Path) -> None:
    record(folder / "failed.klens", BAD)
    for verb in ("link", "symbols"):
        done = kernlens(verb, "failed.klens")
        assert done.status == 2
        assert "contains nothing that can be linked: the only build failed: /src/bad.cl for skl by newest" in done.err
        record(folder / f"{verb}.klens", GOOD, OTHER)
        done = kernlens(verb, f"{verb}.klens", "--device", "dg2")
        assert "no program for dg2, only for skl; choose one of these; a build for it failed: doubles" in done.err


def test_extract_writes_what_is_known_of_them(kernlens: Kernlens, folder: Path) -> None:
    assert kernlens("extract", "x.klens", "-o", "parts").status == 0
    parts = folder / "parts" / "failed_builds" / "bad.skl.newest"
    assert (parts / "build_log.txt").read_text() == LOG
    assert (parts / "build_options.txt").read_text() == "-DN=7"
    assert (parts / "sources" / "_src_bad.cl").read_text() == BAD.sources[0].text
    assert "CL_BUILD_PROGRAM_FAILURE" in (parts / "reason.txt").read_text()


def test_the_page_lists_them_for_one_kernel_too(kernlens: Kernlens, folder: Path) -> None:
    assert kernlens("report", "x.klens", "--kernel", "scale", "-o", "x.html").status == 0
    _, failed = Page((folder / "x.html").read_text()).index["programs"]
    assert "CL_BUILD_PROGRAM_FAILURE" in failed["reason"]


def test_check_fails_on_them(kernlens: Kernlens, folder: Path) -> None:
    words = ("check", "x.klens", "--max-spill-bytes", "0", "--junit", "x.xml", "--sarif", "x.sarif")
    done = kernlens(*words)
    assert (done.status, done.err) == (1, "")
    assert done.out.endswith("2 kernels, 1 unread, 2 bounds checked: 1 of 2 builds failed\n")
    assert kernlens("check", "x.klens", "--max-spill-bytes", "0", "--json").document["ok"] is False
    root = ElementTree.parse("x.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "0", "1")
    (error,) = root.findall("*/testcase/error")
    assert error.get("type") == "build"
    assert "use of undeclared identifier" in (error.text or "")
    document = json.loads(Path("x.sarif").read_text())
    schema = json.loads((ROOT / "tests/schemas/sarif-schema-2.1.0.json").read_text())
    jsonschema_rs.validator_for(schema).validate(document)
    (result,) = document["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("failed-build", "error")
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("file:///src/bad.cl", {"startLine": 3})


def test_check_is_told_to_pass_them(kernlens: Kernlens, folder: Path) -> None:
    words = ("check", "x.klens", "--max-spill-bytes", "0", "--junit", "x.xml", "--sarif", "x.sarif")
    done = kernlens(*words, "--allow-failed-builds")
    assert (done.status, done.out.count("1 of 2 builds failed")) == (0, 1)
    assert done.out.endswith(": all kept\n")
    assert ElementTree.parse("x.xml").getroot().get("errors") == "0"
    (result,) = json.loads(Path("x.sarif").read_text())["runs"][0]["results"]
    assert result["level"] == "warning"
    (folder / "kernlens.toml").write_text('allow-failed-builds = true\n[kernel."*"]\nmax-spill = 0\n')
    assert kernlens("check", "x.klens").status == 0
    (folder / "kernlens.toml").write_text('allow-failed-builds = 1\n[kernel."*"]\nmax-spill = 0\n')
    assert "allow-failed-builds is true or false, not 1" in kernlens("check", "x.klens").err
    (folder / "kernlens.toml").unlink()
    verdict = package.check("x.klens", max_spill=0)
    assert (verdict.ok, verdict.exit_status) == (False, 1)
    assert package.check("x.klens", max_spill=0, allow_failed_builds=True).ok


def test_where_all_failed_there_is_nothing_else_to_say(kernlens: Kernlens, folder: Path) -> None:
    record(folder / "bad.klens", BAD, OTHER)
    done = kernlens("check", "bad.klens", "--max-spill-bytes", "0")
    assert done.status == 1
    assert done.out.startswith("all 2 builds failed: the first /src/bad.cl for skl")
    for verb in ("advise", "annotate", "disasm"):
        done = kernlens(verb, "bad.klens")
        assert (done.status, done.out) == (2, "")
        assert "bad.klens contains no kernels: all 2 builds failed: the first /src/bad.cl for skl by newest" in done.err
    assert "all 2 builds failed" in kernlens("inspect", "bad.klens").out


@pytest.mark.parametrize("schema", [2, SCHEMA_VERSION])
@pytest.mark.parametrize(
    ("outcome", "reason"), [(CONSUMED, LINKED_AT_ONCE), (LINKED, CONNECTED), (BUILT, BUILT_IN), (REFUSED, "no")]
)
def test_a_build_that_was_to_have_no_binary_did_not_fail(
    outcome: str, reason: str, schema: int, kernlens: Kernlens, folder: Path
) -> None:
    without = "" if outcome == REFUSED else outcome
    bare = replace(BAD, reason=f"{reason}: ...", parts=HeldParts(), without_binary=without)
    record(folder / "linked.klens", GOOD, bare)
    if schema == 2:
        with closing(sqlite3.connect(folder / "linked.klens")) as older:
            older.execute("UPDATE program SET status = iif(reason = '', 'ok', 'failed')")
            for table in ("behaviour", "launch", "memory"):
                older.execute(f"DROP TABLE {table}")
            older.execute("PRAGMA user_version = 2")
            older.commit()
    listed = json.loads(kernlens("recording", "list", "linked.klens", "--json").out)["programs"]
    assert [(each["ok"], each["outcome"]) for each in listed] == [(True, BUILT), (False, outcome)]
    assert f" {outcome} " in kernlens("recording", "list", "linked.klens").out.splitlines()[2]
    if outcome == REFUSED:
        assert kernlens("check", "linked.klens", "--max-spill-bytes", "0").status == 1
        return
    done = kernlens("check", "linked.klens", "--max-spill-bytes", "0")
    assert (done.status, "failed" in done.out) == (0, False)
    contents = open_file(folder / "linked.klens")
    assert (contents.failed_builds().count, bool(contents.failed_builds())) == (1, False)


def test_sides_of_a_comparison(kernlens: Kernlens, folder: Path) -> None:
    record(folder / "good.klens", GOOD)
    done = kernlens("diff", "good.klens", "x.klens")
    assert done.status == 1, "a build failed on one side only"
    assert done.out.count("1 of 2 builds failed") == 1
    assert kernlens("diff", "x.klens", "x.klens").status == 0
    markdown = kernlens("diff", "good.klens", "x.klens", "--markdown").out
    assert WORDS in unescape(markdown)


def test_a_bad_source_leaves_the_others(kernlens: Kernlens, folder: Path, compiler: Path) -> None:
    sources = folder / "sources"
    sources.mkdir()
    (sources / "a.cl").write_text("broken\n")
    (sources / "scale.cl").write_text(SOURCE)
    words = ("--device", "skl")
    done = kernlens("advise", sources, *words)
    assert (done.status, "2 kernels, 1 unread: " in done.out, "a.cl:1:1: error: it is broken" in done.err) == (
        3,
        True,
        True,
    )
    document = json.loads(kernlens("advise", sources, *words, "--json").out)
    assert [entry["recording"] for entry in document["failed_builds"]] == [None]
    assert {kernel["kernel"] for kernel in document["kernels"]} == {"scale", "plain"}
    limit = ("check", sources, *words, "--max-spill-bytes", "0", "--junit", "x.xml")
    done = kernlens(*limit)
    assert (done.status, "2 kernels, 1 unread, 2 bounds checked: 1 of 2 builds failed\n" in done.out) == (3, True)
    assert "a.cl:1:1: error: it is broken" in done.err
    assert ElementTree.parse("x.xml").getroot().get("errors") == "1"
    assert kernlens(*limit, "--allow-failed-builds").status == 0
    answer = package.advise(str(sources), device="skl")
    assert (len(answer.kernels), answer.failed[0].share) == (2, "1 of 2 builds failed")
    (sources / "scale.cl").unlink()
    assert kernlens("advise", sources, *words).status == 3


@pytest.mark.parametrize("reason", [NOT_GIVEN, f"{NOT_ASKED}: a kernel has a long name"])
def test_a_build_without_a_binary_is_none_that_failed(reason: str, tmp_path: Path, kernlens: Kernlens) -> None:
    """Neither that the driver gave none nor that kernlens asked for none is a refusal; inspect says which."""
    build = replace(BAD, reason=reason, without_binary=outcome_told(reason), parts=HeldParts())
    recording = record(tmp_path / "x.klens", build)
    done = kernlens("inspect", recording)
    assert (done.status, "failed" in done.out) == (0, False)
    assert f"bad: {reason}" in done.out
    listed = json.loads(kernlens("recording", "list", recording, "--json").out)["programs"]
    assert [program["outcome"] for program in listed] == [BUILT]
