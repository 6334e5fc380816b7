"""The files that ``kernlens check`` writes for CI: which test and which alert is the same one in the next run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema_rs
import pytest

from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.recording.writer import RecordingWriter
from tests.unit.analysis.test_comparison import with_code
from tests.unit.conftest import Kernlens
from tests.unit.verbs.test_check import SCHEMA
from tests.unit.verbs.test_counted_spills import folder as spilling_folder  # noqa: F401
from tests.writers.programs import SOURCE, binary

SETS = (("a/scale.cl", "system", ""), ("a/scale.cl", "newest", ""), ("b/scale.cl", "system", ""))
ALIKE = (("a/scale.cl", "newest", "-DN=2"), ("a/scale.cl", "newest", "-DN=2"))


def recorded(path: Path, builds: tuple[tuple[str, str, str], ...], content: bytes | None = None) -> str:
    """Write a recording of the program ``scale`` by each of these sources, toolchains and options; return its path."""
    with RecordingWriter(path) as writer:
        for source, toolchain, options in builds:
            each = content or binary(options=f"-gline-tables-only {options}".strip())
            parts = HeldParts(binary=each, sources=(Source(source, SOURCE),))
            writer.add(Build("scale", "skl", BuildToolchain(toolchain, "1.2", "3.4"), options, parts=parts))
    return str(path)


@pytest.fixture
def everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path) -> str:
    """A recording of one source name in two folders, by two toolchains, some with the same options."""
    monkeypatch.chdir(tmp_path)
    return recorded(tmp_path / "all.klens", SETS + ALIKE)


def files_of(kernlens: Kernlens, *words: str) -> tuple[ElementTree.Element, list[dict[str, Any]]]:
    """Return the JUnit file, and the results of the SARIF file."""
    done = kernlens("check", *words, "--max-instructions", "2", "--junit", "x.xml", "--sarif", "x.sarif")
    assert done.status == 1, done.err
    document = json.loads(Path("x.sarif").read_text())
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(document)
    (run,) = document["runs"]
    return ElementTree.parse("x.xml").getroot(), run["results"]


def test_no_two_cases_and_no_two_alerts_are_one(kernlens: Kernlens, everything: str) -> None:
    root, results = files_of(kernlens, everything)
    cases = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(cases) == len(set(cases)) == 10
    assert {name for name, _ in cases} == {
        "a/scale.cl on skl by system",
        "a/scale.cl on skl by newest",
        "b/scale.cl on skl by system",
        "a/scale.cl on skl by newest (-DN=2)",
        "a/scale.cl on skl by newest (-DN=2) #2",
    }
    assert [suite.get("name") for suite in root] == list(dict.fromkeys(name for name, _ in cases))
    (properties,) = {tuple(each.get("value") for each in suite.iter("property"))[:2] for suite in root}
    assert properties == ("skl (9.0.9)", "NEO 1.2 / IGC 3.4")
    for key in ("kernlens/v2", "primaryLocationLineHash"):
        assert len({result["partialFingerprints"][key] for result in results}) == len(results) == 10


def test_what_is_checked_as_well_changes_no_name(kernlens: Kernlens, everything: str, tmp_path: Path) -> None:
    whole, results = files_of(kernlens, everything)
    alone, fewer = files_of(kernlens, recorded(tmp_path / "one.klens", SETS[:1]))
    classes = {case.get("classname") for case in alone.iter("testcase")}
    assert classes < {case.get("classname") for case in whole.iter("testcase")}
    prints = [{tuple(each["partialFingerprints"].items()) for each in of_run} for of_run in (results, fewer)]
    assert prints[1] < prints[0]


def test_an_alert_stays_the_same_when_its_line_moves(
    kernlens: Kernlens, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prints, lines = [], []
    for source, name in (("scale.cl", "scale.cl"), ("other.cl", "scale.cl")):
        Path("scale.cl").write_text(SOURCE)
        (compiler.parent / "binary").write_bytes(binary(source, kernel="scale"))
        _, results = files_of(kernlens, name, "--device", "skl", "--kernel", "scale")
        prints.append([result["partialFingerprints"] for result in results])
        lines.append([result["locations"][0]["physicalLocation"] for result in results])
    assert prints[0] == prints[1]
    assert lines[0] != lines[1]


def test_text_names_path_and_toolchain_where_they_tell_programs_apart(kernlens: Kernlens, everything: str) -> None:
    done = kernlens("check", everything, "--max-instructions", "2", "--kernel", "scale")
    headings = [line for line in done.out.splitlines() if line.startswith("scale  ")]
    assert headings == [
        "scale  a/scale.cl on skl (9.0.9) by system",
        "scale  a/scale.cl on skl (9.0.9) by newest",
        "scale  b/scale.cl on skl (9.0.9) by system",
        "scale  a/scale.cl on skl (9.0.9) by newest (-DN=2)",
        "scale  a/scale.cl on skl (9.0.9) by newest (-DN=2) #2",
    ]
    document = kernlens("check", everything, "--max-instructions", "2", "--kernel", "scale", "--json").document
    assert [(each["source"], each["toolchain_name"]) for each in document["findings"]] == [
        (source, toolchain) for source, toolchain, _ in SETS + ALIKE
    ]


def test_the_toolchain_of_the_baseline_is_named_if_it_is_another(
    kernlens: Kernlens, everything: str, tmp_path: Path
) -> None:
    sizes = {"system": 48, "newest": 80}
    old, new, same = (
        recorded(tmp_path / f"{number}.klens", (("scale.cl", name, ""),), with_code(sizes[size]))
        for number, (name, size) in enumerate((("system", "system"), ("newest", "newest"), ("system", "newest")))
    )
    done = kernlens("check", new, "--baseline", old, "--json")
    assert (done.status, {each["baseline_toolchain"] for each in done.document["findings"]}) == (1, {"system"})
    heading = "scale  scale on skl (9.0.9) by newest, the baseline by system\n"
    assert heading in kernlens("check", new, "--baseline", old).out
    assert "scale  scale on skl (9.0.9) by system\n" in kernlens("check", same, "--baseline", old).out


@pytest.mark.usefixtures("spilling_folder")
def test_results_are_sentences(kernlens: Kernlens) -> None:
    words = ("--baseline", "nine.bin", "--max-spill-stores", "5", "--max-live-grfs", "9", "--min-simd", "32")
    assert kernlens("check", "ten.bin", *words, "--sarif", "x.sarif").status == 1
    (run,) = json.loads(Path("x.sarif").read_text())["runs"]
    by_rule = {each["ruleId"]: each for each in run["results"]}
    texts = {rule: each["message"]["text"] for rule, each in by_rule.items()}
    no_lines = "There are no source lines: the program was built without debug data"
    assert texts["max-spill-stores"].startswith(
        f"The metric 'spill stores' of kernel 'k' on skl is 10. The maximum is 5 (--max-spill-stores). {no_lines}"
    )
    assert texts["baseline-spill-stores"].startswith(
        "The metric 'spill stores' of kernel 'k' on skl is 10. In the baseline nine.bin it is 9. "
        f"The maximum is 9 (tolerance 0). {no_lines}"
    )
    assert "'k' on skl is 16. The minimum is 32 (--min-simd). " in texts["min-simd"]
    assert texts["max-live-grfs"].startswith(
        "The metric 'live GRFs' of kernel 'k' on skl cannot be checked: the decoder"
    )
    driver = run["tool"]["driver"]
    texts |= {f"{rule['id']} {key}": rule[key]["text"] for rule in driver["rules"] for key in rule if "Desc" in key}
    texts |= {f"{rule['id']} help": rule["help"]["text"] for rule in driver["rules"]}
    assert {rule: text for rule, text in texts.items() if text[-1] != "." or not text[0].isupper()} == {}
    # What has no source is shown at the file that was checked: a code host refuses results without one.
    (places,) = {json.dumps(each["locations"][0]["physicalLocation"]) for each in run["results"]}
    assert json.loads(places) == {"artifactLocation": {"uri": "ten.bin"}, "region": {"startLine": 1}}
