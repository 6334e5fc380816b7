"""The first screen of a comparison: sums that can be added up by hand, the worst kernels, Markdown; and folders of sources."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.unit.analysis.test_comparison import with_code
from tests.unit.cli.test_terminal_text import HOSTILE
from tests.unit.conftest import Kernlens
from tests.unit.toolchain.test_compile_cache import calls
from tests.writers.programs import SOURCE, decoded

#: Bytes of code and SIMD width of each kernel, on both sides; an instruction has 16 bytes.
SIZES = {"a": (48, 16, 96, 8), "b": (480, 16, 48, 16), "c": (48, 8, 48, 16), "d": (96, 16, 96, 16)}


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path) -> Path:
    """Return the working folder, with two folders of four programs, of which one is equal."""
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
    for name, (size, simd, new_size, new_simd) in SIZES.items():
        (tmp_path / f"old/{name}.bin").write_bytes(with_code(size, simd=simd))
        (tmp_path / f"new/{name}.bin").write_bytes(with_code(new_size, simd=new_simd))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_sums_are_those_of_the_kernels(sides: Path, kernlens: Kernlens) -> None:
    summary = kernlens("diff", "old", "new", "--json").document["summary"]
    assert {key: summary[key] for key in ("equal", "grown", "shrunk", "others")} == {
        "equal": 1, "grown": 1, "shrunk": 1, "others": 1,
    }  # fmt: skip
    means = {mean["metric"]: mean for mean in summary["means"]}
    for key, bytes_of_one in (("code_size", 1), ("instructions", 16)):
        mean = means[key]
        assert (mean["kernels"], mean["old"], mean["new"]) == (3, 576 // bytes_of_one, 192 // bytes_of_one)
        assert mean["ratio"] == pytest.approx(math.prod([2, 0.1, 1]) ** (1 / 3))
    assert means["wait_cycles"] == {"metric": "wait_cycles", "ratio": None, "kernels": 0, "old": 0, "new": 0}
    assert [(each["program"], each["old"], each["new"]) for each in summary["simd"]] == [("a", 16, 8), ("c", 8, 16)]
    assert (summary["spills"], summary["equal_code"]) == ([], [])
    done = kernlens("diff", "old", "new")
    for line in (
        "  4 kernels compared, 3 differ",
        "  1 equal, 1 grown, 1 shrunk, 1 changed with as many instructions",
        "  instructions     36 -> 12         0.585 (-41.5%)",
        "  wait cycles      unknown: before Xe-LP",
        "  SIMD width       1 narrower: scale 16 -> 8; 1 wider: scale 8 -> 16",
        "  spills           as before",
    ):
        assert line in done.out


def test_the_worst_kernels_are_printed_and_all_are_in_json(sides: Path, kernlens: Kernlens) -> None:
    def shown(*words: str) -> list[str]:
        lines = kernlens("diff", "old", "new", *words).out.splitlines()
        return [line.split()[1] for line in lines if line.startswith("scale  ")]

    assert sorted(shown()) == ["a", "b", "c"]
    assert shown("--all") == shown()
    assert shown("--top", "1") == shown()[:1]
    assert "\n2 more kernels differ; --all prints all" in kernlens("diff", "old", "new", "--top", "1").out
    assert "more kernel" not in kernlens("diff", "old", "new", "--top", "1", "--all").out
    assert shown("--top", "0") == []
    assert len(kernlens("diff", "old", "new", "--top", "1", "--json").document["kernels"]) == 3


def test_two_kernels_alone_need_no_sums(sides: Path, kernlens: Kernlens) -> None:
    assert "geometric mean" not in kernlens("diff", "old/a.bin", "new/a.bin").out
    assert "geometric mean" not in kernlens("diff", "old", "old").out


def test_markdown_is_a_comment_whatever_names_hold(sides: Path, kernlens: Kernlens, tmp_path: Path) -> None:
    for side, size in (("old", 48), ("new", 96)):
        (tmp_path / side / "|<b>`@me`[x](y)<!--.bin").write_bytes(with_code(size))
    done = kernlens("diff", "old", "new", "--markdown", "--top", "2")
    assert done.status == 1
    assert done.out.startswith("### kernlens: 4 of 5 kernels differ\n\n|kernel|program|")
    assert "<details><summary>What was compared</summary>\n\n<pre>\n- old" in done.out
    assert "<details><summary>scale" in done.out
    assert "\n2 more kernels differ" in done.out
    # Nothing but the tags of its own begins markup.
    for text in ("<b>", "`", "@me", "[x]", "<!--"):
        assert text not in done.out
    table = [line for line in done.out.splitlines() if line.startswith("|")]
    assert [line.count("|") for line in table] == [6] * 4
    assert kernlens("diff", "old", "new", "--markdown", "--json").status == 2


def test_a_comment_has_fifteen_lines_above_what_is_folded(sides: Path, kernlens: Kernlens, tmp_path: Path) -> None:
    for number in range(20):
        for side, size in (("old", 48), ("new", 96)):
            (tmp_path / side / f"more-{number}.bin").write_bytes(with_code(size))
        (tmp_path / "new" / f"alone-{number}.bin").write_bytes(with_code(48))
    head, _, folded = kernlens("diff", "old", "new", "--markdown").out.partition("<details>")
    assert head.count("\n") == 15
    assert "more lines below" in head
    assert folded.count("only here") == 10 + 1


def test_a_comment_is_no_longer_than_it_may_be(
    sides: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernlens.cli.answers.comparison_markdown._LIMIT", 1000)
    done = kernlens("diff", "old", "new", "--markdown", "--all")
    assert len(done.out) < 1200
    assert "The lines of 3 kernels are left out: a comment holds no more." in done.out


def test_the_sources_of_one_file_differ_and_its_code_is_equal(
    kernlens: Kernlens, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.cl").write_text(SOURCE)
    Path("new.cl").write_text(SOURCE + "// one\n// two\n")
    done = kernlens("diff", "old.cl", "new.cl", "--device", "skl")
    assert done.status == 0
    assert "the sources differ in 2 lines, the code is equal" in done.out
    assert "the code is equal" not in kernlens("diff", "old.cl", "old.cl", "--device", "skl").out


def test_folders_of_sources(
    kernlens: Kernlens, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for side, header in (("old", "1"), ("new", "2")):
        for name, text in (("k/a.cl", '#include "x.h"\n' + SOURCE), ("k/b.cl", SOURCE), ("include/x.h", header)):
            path = tmp_path / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    words = ("--device", "skl", "--unconfined", "--build-options", "-I include")
    done = kernlens("diff", "old", "new", *words)
    assert (done.status, done.err, calls(compiler)) == (0, "", 2)
    assert "1 source compiled; 1 not, as it is equal with all that it includes" in done.out
    assert "the sources differ in 1 line, the code is equal" in done.out
    # Two sets of options: everything is compiled on both sides.
    two_sets = ("--build-options", "-I include", "--build-options", "-I include -DX")
    done = kernlens("diff", "old", "--device", "skl", "--unconfined", *two_sets)
    assert (done.status, calls(compiler)) == (0, 2 + 4)
    assert "- old --build-options -I include" in done.out
    assert kernlens("diff", "old", "old", *words).status == 0
    assert calls(compiler) == 2 + 4
    for others, sentence in (
        (("old", "new", "--stages"), "stages are not compared of folders of sources and revisions; name one source"),
        (
            ("old", "new", "--pair", "a=b"),
            "pairs of kernels cannot be chosen in folders of sources and revisions; name",
        ),
        (("old", "k.bin"), "old is a folder of sources and k.bin is not"),
        (("old",), "there is nothing to compare with"),
    ):
        done = kernlens("diff", *others, "--device", "skl")
        assert done.status == 2
        assert sentence in done.err
    assert "no target device for old" in kernlens("diff", "old", "new").err
    assert "name two sides, or revisions" in kernlens("diff").err


def test_names_of_a_hostile_tree_are_shown_as_escapes(
    kernlens: Kernlens, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = HOSTILE.replace("/", "").replace("\0", "")[:100] + ".cl"
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
        (tmp_path / side / name).write_text(SOURCE + f"// {side}\n")
    for form in ((), ("--markdown",), ("--json",)):
        done = kernlens("diff", "old", "new", "--device", "skl", "--unconfined", *form)
        assert done.status in (0, 3)
        assert "\x1b" not in done.out + done.err
