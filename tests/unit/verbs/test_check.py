"""``kernlens check``: what is held against what, what cannot pass unseen, and what is written for CI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema_rs
import pytest

import kernlens as package
from kernlens.cli.answers.verdict_document import verdict_document
from kernlens.errors import NotFoundError
from kernlens.model.figures import EVERY_FIGURE, FIGURES
from tests.tree import ROOT
from tests.unit.analysis.test_comparison import SOURCE, with_code
from tests.unit.conftest import Done, Kernlens

SCHEMA = ROOT / "tests" / "schemas" / "sarif-schema-2.1.0.json"


@pytest.fixture
def folder(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a kernel ``scale`` of 3 instructions, SIMD16, the same with 5, SIMD8, and its source; ``file`` has
    a kernel ``plain`` too, without a line table."""
    monkeypatch.chdir(tmp_path)
    Path("small.bin").write_bytes(with_code(48))
    Path("large.bin").write_bytes(with_code(80, simd=8))
    Path("scale.cl").write_text(SOURCE)
    return tmp_path


def states(done: Done) -> dict[str, str]:
    return {f"{each['kernel']} {each['rule']}": each["state"] for each in done.document["findings"]}


def test_what_is_within_its_bounds(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("check", "small.bin", "--max-spill-bytes", "0", "--min-simd", "16", "--max-code-size", "48")
    assert (done.status, done.out, done.err) == (0, "1 kernel, 0 unread, 3 bounds checked: all kept\n", "")


def test_what_is_not_names_kernel_figure_and_line(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("check", "large.bin", "--max-code-size", "64", "--min-simd", "16", "--max-move-instructions", "4")
    assert (done.status, done.err) == (1, "")
    assert done.out == (
        "scale  large on skl (9.0.9)\n"
        "  min-simd: SIMD 8, at least 16 (--min-simd)\n"
        "    this decoder does not report which registers these instructions read and write\n"
        "  max-code-size: code size 80, at most 64 (--max-code-size)\n"
        "    scale.cl:3 | a[id] *= 2;\n"
        "      4 of 5 instructions (1 for certain)\n"
        "  max-move-instructions: move instructions 5, at most 4 (--max-move-instructions)\n"
        "    scale.cl:3 | a[id] *= 2;\n"
        "      4 of 5 move instructions (1 for certain)\n"
        "\n"
        "1 kernel, 0 unread, 3 bounds checked: 3 not kept\n"
    )


def test_every_figure_has_options_and_those_that_binaries_state_are_in_the_help(
    kernlens: Kernlens, folder: Path
) -> None:
    words = [word for figure in EVERY_FIGURE for word in (f"--max-{figure.names[0]}", "999999")]
    done = kernlens("check", "small.bin", *words, "--allow-unknown", "--json")
    assert done.status == 0
    # What only others state of a thread's memory is held against what this binary states.
    expected = [{"private_segment_bytes": "scratch_bytes"}.get(figure.key, figure.key) for figure in EVERY_FIGURE]
    assert [each["metric"] for each in done.document["findings"]] == expected
    shown = kernlens("check", "--help").out
    for figure in FIGURES:
        assert f"--{'min' if figure.more_is_better else 'max'}-{figure.names[0]} N" in shown
    assert "--max-live-grfs N" in shown
    assert not any(f"--max-{former} N" in shown for former in ("sends", "registers", "spill", "peak-registers"))
    assert kernlens("check", "small.bin", "--max-slm", "0", "--min-simd", "16").status == 0


def test_without_source_lines_the_reason_is_told(kernlens: Kernlens, file: Path) -> None:
    done = kernlens("check", file, "--kernel", "plain", "--max-instructions", "2")
    assert done.status == 1
    assert "instructions 3, at most 2 (--max-instructions)\n    there are no source lines: " in done.out


# What may not pass unseen


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "there are no limits to check"),
        (("--kernel", "skal", "--max-spill-bytes", "0"), "there is no kernel 'skal'; the binary holds scale"),
        (("--kernel", "x*", "--max-spill-bytes", "0"), "there is no kernel 'x*'"),
        (("--budget", "none.toml"), "none.toml"),
        (("--tolerance", "spill=0", "--max-spill-bytes", "0"), "need a --baseline"),
        (("--fail-on-new", "--max-spill-bytes", "0"), "need a --baseline"),
        (("--baseline", "small.bin", "--tolerance", "spil=0"), "did you mean spill"),
        (("--baseline", "small.bin", "--tolerance", "spill"), "is not of the form"),
        (("--baseline", "none.bin"), "none.bin"),
        (("--baseline", "scale.cl"), "is a source"),
        (("--device", "dg2", "--max-spill-bytes", "0"), "contains no program for dg2, only for skl"),
        (("--build-options=-a", "--max-spill-bytes", "0"), "no source to compile"),
    ],
)
def test_what_cannot_be_checked_is_an_error(
    words: tuple[str, ...], message: str, kernlens: Kernlens, folder: Path
) -> None:
    done = kernlens("check", "small.bin", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_a_file_of_budgets(kernlens: Kernlens, folder: Path) -> None:
    (folder / "kernlens.toml").write_text(
        '[kernel."*"]\nmax-instructions = 4\nmin-simd = 8\n[kernel.scale]\nmin-simd = 16\n'
        '[kernel.scale.device.skl]\nmax-instructions = 5\n[kernel."*".device.pvc]\nmax-spill = 0\n'
    )
    done = kernlens("check", "large.bin")
    assert done.status == 1
    assert '  min-simd: SIMD 8, at least 16 (kernlens.toml, kernel."scale")\n' in done.out
    assert "instructions 5" not in done.out, "the device's table is the last that fits"
    assert 'no program is for the device of kernlens.toml, kernel."*".device.pvc\n' in done.out
    assert done.out.endswith("1 kernel, 0 unread, 2 bounds checked: 1 not kept  (budgets of kernlens.toml)\n")
    # What is named goes before the file, and the file beside a path before that of the working folder.
    assert kernlens("check", "large.bin", "--min-simd", "8").status == 0
    (folder / "inner").mkdir()
    (folder / "inner" / "large.bin").write_bytes(with_code(80, simd=8))
    (folder / "inner" / "kernlens.toml").write_text('[kernel."*"]\nmin-simd = 8\n')
    assert kernlens("check", "inner/large.bin").status == kernlens("check", "inner").status == 0
    (folder / "other.toml").write_text('[kernel."*"]\nmin-simd = 32\n')
    assert "other.toml" in kernlens("check", "inner/large.bin", "--budget", "other.toml").out


def test_limits_of_other_kernels_are_listed(kernlens: Kernlens, folder: Path) -> None:
    """A file holds the limits of a project: those of kernels in other files of it are no error, but in CI, if asked for."""
    limits = '[kernel."*"]\nmin-simd = 8\n[kernel.scal]\nmax-spill = 0\n[kernel.plain.device.bmg]\nmin-simd = 8\n'
    (folder / "kernlens.toml").write_text(limits)
    unused = "kernlens.toml, kernel.\"scal\": there is no kernel 'scal'; the binary holds scale"
    done = kernlens("check", "small.bin")
    assert (done.status, done.err) == (0, "")
    assert f"not checked: {unused}\n" in done.out
    assert kernlens("check", "small.bin", "--json").document["unused_rules"] == [unused]
    strict = kernlens("check", "small.bin", "--fail-on-unused")
    assert (strict.status, strict.out) == (2, "")
    assert unused in strict.err


def test_a_share_may_have_its_sign(kernlens: Kernlens, folder: Path) -> None:
    for share in ("60", "60%"):
        done = kernlens("check", "small.bin", "--max-wait-share", share, "--allow-unknown", "--json")
        (finding,) = done.document["findings"]
        assert finding["limit"] == 60
        (folder / "share.toml").write_text(
            f'[kernel."*"]\nmax-wait-share = {share if share == "60" else repr(share)}\n'
        )
        filed = kernlens("check", "small.bin", "--budget", "share.toml", "--allow-unknown", "--json")
        assert filed.document["findings"][0]["limit"] == 60
    assert "is not a whole number" in kernlens("check", "small.bin", "--max-instructions", "60%").err
    assert "is not a whole number" in kernlens("check", "small.bin", "--max-wait-share", "60%%").err
    (folder / "kernlens.toml").write_text('[kernel."*"]\nmax-spill = "60%"\n')
    assert "takes a whole number" in kernlens("check", "small.bin").err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[kernel."gem*"]\nmax-spill = 0\n', "kernel.\"gem*\": there is no kernel 'gem*'; the binary holds scale"),
        ('[kernel."gem*".device.skl]\nmax-spill = 0\n[kernel.neighbours]\nmin-simd=8\n', "there is no kernel 'gem*'"),
        ('[kernel."*".device.gd2]\nmax-spill = 0\n', 'kernel."*".device.gd2: '),
        ('[kernel."*"]\n', "kernlens.toml has none for these kernels"),
        ("#" * (1 << 20) + "\n", "kernlens.toml: the file is larger than 256 KB"),
        ('[kernel."*"]\nmax-spil = 0\n', "did you mean max-spill"),
    ],
)
def test_a_rule_that_fits_nothing_is_an_error(text: str, reason: str, kernlens: Kernlens, folder: Path) -> None:
    (folder / "kernlens.toml").write_text(text)
    done = kernlens("check", "small.bin")
    assert (done.status, done.out) == (2, "")
    assert reason in done.err
    assert done.err.count("\n") == 1


def test_a_rule_of_the_file_may_be_for_a_kernel_that_is_not_asked_for(kernlens: Kernlens, file: Path) -> None:
    (file.parent / "kernlens.toml").write_text("[kernel.scale]\nmax-instructions = 1\n[kernel.plain]\nmax-slm = 0\n")
    assert kernlens("check", file, "--kernel", "plain").status == 0
    assert kernlens("check", file).status == 1
    (file.parent / "kernlens.toml").write_text("[kernel.plain]\nmax-slm = 0\n")
    done = kernlens("check", file)
    assert (done.status, "no budget: scale\n" in done.out) == (0, True)


def test_a_figure_that_is_not_known_cannot_be_checked(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("check", "small.bin", "--max-live-grfs", "0")
    assert done.status == 2
    assert "  max-live-grfs: live GRFs -: cannot be checked; the decoder does not tell" in done.out
    assert "1 cannot be checked (--allow-unknown)" in done.out
    assert kernlens("check", "small.bin", "--max-live-grfs", "0", "--max-code-size", "1").status == 1
    both = kernlens("check", "small.bin", "large.bin", "--max-live-grfs", "0")
    assert both.out.count("the decoder does not tell") == 1, "the reason is given once"
    assert both.out.count("max-live-grfs: live GRFs -: cannot be checked, as above\n") == 1
    allowed = kernlens("check", "small.bin", "--max-live-grfs", "0", "--allow-unknown", "--json")
    assert (allowed.status, states(allowed)) == (0, {"scale max-live-grfs": "skipped"})
    Path("kernlens.toml").write_text('[kernel."*"]\nmax-live-grfs = 0\nallow-unknown = true\n')
    assert kernlens("check", "small.bin").status == 0


# A baseline


def test_a_baseline(kernlens: Kernlens, folder: Path) -> None:
    assert kernlens("check", "small.bin", "--baseline", "small.bin").status == 0
    better = kernlens("check", "small.bin", "--baseline", "large.bin")
    assert better.status == 0, "it is better in all"
    told = [line for line in better.out.splitlines() if line.startswith("better than the baseline: ")]
    assert told == [
        "better than the baseline: scale SIMD 8 -> 16, scale instructions 5 -> 3, scale code size 80 -> 48"
        "; replace it by what was checked to hold kernels to these"
    ]
    assert "better than" not in kernlens("check", "small.bin", "--baseline", "small.bin").out
    done = kernlens("check", "large.bin", "--baseline", "small.bin", "--tolerance", "simd=8")
    assert done.status == 1
    assert done.out == (
        "scale  large on skl (9.0.9)\n"
        "  baseline-instructions: instructions 3 -> 5, at most 3 (tolerance 0)\n"
        "    scale.cl:3 | a[id] *= 2;\n"
        "      instructions 2 -> 4 (1 for certain)\n"
        "  baseline-code-size: code size 48 -> 80, at most 48 (tolerance 0)\n"
        "    scale.cl:3 | a[id] *= 2;\n"
        "      instructions 2 -> 4 (1 for certain)\n"
        "\n"
        "1 kernel, 0 unread, 10 bounds checked: 2 not kept  (baseline small.bin)\n"
    )
    words = ("--tolerance", "simd=50%", "--tolerance", "code-size=67%", "--tolerance", "instructions=any")
    done = kernlens("check", "large.bin", "--baseline", "small.bin", *words, "--json")
    assert done.status == 0
    assert "scale baseline-instructions" not in states(done)
    costly = kernlens("check", "large.bin", "--baseline", "small.bin", *words, "--tolerance", "move-instructions=1")
    assert "move instructions 3 -> 5, at most 4 (tolerance 1)" in costly.out


def test_tolerances_of_the_file_give_way_to_those_that_are_named(kernlens: Kernlens, folder: Path) -> None:
    (folder / "kernlens.toml").write_text('[tolerance]\nsimd = 8\ncode-size = "67%"\ninstructions = 2\n')
    assert kernlens("check", "large.bin", "--baseline", "small.bin").status == 0
    assert kernlens("check", "large.bin", "--baseline", "small.bin", "--tolerance", "simd=4").status == 1
    assert kernlens("check", "large.bin", "--max-spill-bytes", "0").status == 0, "without a baseline they are of no use"


def test_a_baseline_of_another_device_is_refused(kernlens: Kernlens, folder: Path) -> None:
    Path("raw.bin").write_bytes(bytes(48))
    done = kernlens("check", "raw.bin", "--device", "dg2", "--baseline", "small.bin")
    assert (done.status, done.out) == (2, "")
    assert "the baseline small.bin is for skl, and has nothing for dg2, which is checked" in done.err


def test_kernels_of_one_side_are_named(kernlens: Kernlens, folder: Path, file: Path) -> None:
    Path("one.bin").write_bytes(with_code(48))
    done = kernlens("check", file, "--baseline", "one.bin")
    assert done.status == 0
    assert "new, not in the baseline: plain  scale on skl (9.0.9)\n" in done.out
    assert kernlens("check", file, "--baseline", "one.bin", "--fail-on-new").status == 1
    assert kernlens("check", file, "--baseline", "one.bin", "--fail-on-missing").status == 0
    gone = kernlens("check", "one.bin", "--baseline", file, "--fail-on-missing", "--json")
    assert (gone.status, [each["kernel"] for each in gone.document["missing"]]) == (1, ["plain"])
    assert gone.document["ok"] is False
    assert kernlens("check", "one.bin", "--baseline", file).status == 0
    only = kernlens("check", file, "--baseline", "one.bin", "--kernel", "plain")
    assert (only.status, "contains none of the checked kernels" in only.err) == (2, True)


def test_sources_are_compiled(kernlens: Kernlens, folder: Path, compiler: Path) -> None:
    done = kernlens("check", "scale.cl", "--device", "skl", "--build-options=-DA=1", "--max-instructions", "2")
    assert (done.status, done.err) == (1, "")
    assert "scale.cl:2 | int id = get_global_id(0);\n      2 of 3 instructions" in done.out
    assert "-DA=1" in (compiler.parent / "calls").read_text()
    Path("broken.cl").write_text("broken\n")
    failed = kernlens("check", "broken.cl", "--device", "skl", "--max-spill-bytes", "0")
    reason = "the only build failed: broken.cl for skl by system: it is broken at broken.cl:1:1"
    assert (failed.status, failed.out) == (
        3,
        f"{reason}\n0 kernels, 1 unread, 0 bounds checked: the only build failed\n",
    )
    assert "broken.cl:1:1: error: it is broken\n" in failed.err
    assert kernlens("check", "scale.cl", "--max-spill-bytes", "0").status == 2


def test_a_source_is_checked_once_for_every_device(kernlens: Kernlens, folder: Path, compiler: Path) -> None:
    every = kernlens("check", "scale.cl", "--device", "all", "--max-instructions", "3")
    assert (every.status, every.err) == (0, "")
    assert every.out.startswith("6 kernels, 0 unread, 6 bounds checked")  # two for dg2, icllp and skl each
    twice = kernlens("check", "scale.cl", "--device", "skl,skl", "--max-instructions", "3")
    assert twice.out.startswith("2 kernels, 0 unread, 2 bounds checked")


# What CI reads

Written = tuple[str, ElementTree.Element, dict[str, Any]]
HOSTILE = "a\x1b[2J\n<&\"']]>\u202e.cl"


@pytest.fixture(params=["plain", "hostile"])
def written(request: pytest.FixtureRequest, kernlens: Kernlens, folder: Path) -> Written:
    """The kind of names, and the two files of a check with all that they can hold."""
    if request.param == "hostile":
        Path("large.bin").write_bytes(with_code(80, simd=8, source=HOSTILE))
    words = ("--max-spill-bytes", "0", "--max-code-size", "64", "--min-simd", "16")
    done = kernlens("check", "large.bin", "scale.bin", *words, "--junit", "x.xml", "--sarif", "x.sarif")
    assert done.status == 1
    return request.param, ElementTree.parse("x.xml").getroot(), json.loads(Path("x.sarif").read_text())


def test_junit_counts_tests_and_failures(written: Written) -> None:
    kind, root, _ = written
    assert (root.tag, root.get("tests"), root.get("failures"), root.get("errors")) == ("testsuites", "9", "2", "0")
    assert set(root.keys()) == {"name", "tests", "failures", "errors"}, "junit-10.xsd has no other of these"
    assert sum(int(suite.get("tests", "")) for suite in root) == len(root.findall("*/testcase")) == 9
    (failure, _) = root.findall("*/testcase/failure")
    assert (failure.get("message"), failure.get("type")) == ("SIMD 8, at least 16 (--min-simd)", "budget")
    lines = (root.findall("*/testcase/failure")[1].text or "").split("\n")
    assert lines[1] == ("scale.cl:3 | a[id] *= 2;" if kind == "plain" else "a\\x1b[2J\\n<&\"']]>\\u202e.cl:3")


def test_sarif_is_valid_and_names_the_line(written: Written) -> None:
    kind, _, document = written
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(document)
    (run,) = document["runs"]
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("min-simd", "error"),
        ("max-code-size", "error"),
    ]
    assert [run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] for each in run["results"]] == [
        each["ruleId"] for each in run["results"]
    ]
    place = run["results"][1]["locations"][0]
    assert place["physicalLocation"]["region"] == {"startLine": 3}
    uri = "scale.cl" if kind == "plain" else "a%1B%5B2J%0A%3C%26%22%27%5D%5D%3E%E2%80%AE.cl"
    assert place["physicalLocation"]["artifactLocation"] == {"uri": uri}
    whole = "large on skl/scale"
    assert place["logicalLocations"] == [{"name": "scale", "fullyQualifiedName": whole, "kind": "function"}]


def test_sarif_names_a_source_from_the_working_folder(kernlens: Kernlens, folder: Path, compiler: Path) -> None:
    """The line table calls it ``scale.cl``, wherever it lies."""
    (folder / "inner").mkdir()
    (folder / "inner" / "scale.cl").write_text(SOURCE)
    words = ("--device", "skl", "--max-instructions", "2", "--sarif", "x.sarif")
    assert kernlens("check", "inner/scale.cl", *words).status == 1
    (run,) = json.loads(Path("x.sarif").read_text())["runs"]
    uris = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]}
    assert uris == {"inner/scale.cl"}


def test_the_schema_is_not_lenient() -> None:
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text()))
    assert not validator.is_valid({"version": "2.1.0", "runs": [{"tool": {}}]})


def test_new_kernels_and_unknown_figures_are_in_both_files(kernlens: Kernlens, folder: Path, file: Path) -> None:
    Path("one.bin").write_bytes(with_code(48))
    words = ("--baseline", "one.bin", "--fail-on-new", "--junit", "x.xml", "--sarif", "x.sarif")
    assert kernlens("check", file, *words).status == 1
    root, document = ElementTree.parse("x.xml").getroot(), json.loads(Path("x.sarif").read_text())
    (failure,) = root.findall("*/testcase/failure")
    assert failure.get("message") == "new against the baseline one.bin"
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(document)
    assert [each["ruleId"] for each in document["runs"][0]["results"]] == ["new"]


def test_a_file_that_cannot_be_written(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("check", "small.bin", "--max-spill-bytes", "0", "--junit", "/nowhere/x.xml")
    assert (done.status, "cannot write /nowhere/x.xml" in done.err) == (2, True)


# In Python


def test_python_gives_the_same_answers(kernlens: Kernlens, folder: Path) -> None:
    words = ("--max-code-size", "64", "--min-simd", "16", "--baseline", "small.bin", "--tolerance", "code-size=5%")
    document = kernlens("check", "large.bin", *words, "--json").document
    verdict = package.check(
        "large.bin", max_code_size=64, min_simd=16, baseline="small.bin", tolerances={"code-size": "5%"}
    )
    same = verdict_document(verdict)
    for each in (*document["findings"], *same["findings"]):
        each["origin"] = None  # which names the option
    assert same == document
    assert (verdict.ok, verdict.exit_status) == (False, 1)
    assert package.check(package.load("large.bin"), max_spill=0).ok
    with pytest.raises(NotFoundError, match="did you mean max_spill"):
        package.check("large.bin", max_spil=0)
