"""``kernlens advise``: what it prints, and what it says of kernels without lines or text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kernlens as package
from kernlens.analysis.advice import rules
from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.answers import Advice
from kernlens.model.advice import DIFFER, EQUAL
from tests.unit.analysis.test_comparison import SOURCE, with_code
from tests.unit.conftest import Kernlens


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a kernel of 3 instructions, two of line 3, where a rule speaks."""
    monkeypatch.chdir(tmp_path)
    Path("scale.bin").write_bytes(with_code(48))
    Path("scale.cl").write_text(SOURCE)
    monkeypatch.setattr(rules, "RULES", (COSTLY,))
    return tmp_path


def _on_line_3(facts: Facts) -> Iterator[Advice]:
    for place, rows in facts.sites.items():
        if place.line == 3 and (construct := facts.tokens.at(place)):
            yield COSTLY.advice(
                facts, place, rows, f"`{construct.token}`", f"is {len(rows)} instructions", "write less"
            )


COSTLY = Rule("costly-line", "Costly line", (DIFFER,), _on_line_3)


UNKNOWN = "unknown, as cycles are not known: waits are unknown on Gen9: the code does not state who waits for whom before Xe-LP"
NARROW = "  SIMD16, where the widest kernels have 32 lanes: kernlens advise --try compares other sub-group sizes"
OCCUPANCY = "  occupancy: 100% with work-groups of 64 to 128, 85% with 256 (limited by threads)"


def test_the_text(folder: Path, kernlens: Kernlens) -> None:
    done = kernlens("advise", "scale.bin")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        "scale  scale on skl (9.0.9)",
        "  scale.cl:3:5 | a[id] *= 2;",
        "    `a` is 2 instructions (at most 66.7% of the kernel); write less (results differ)",
        "    counted in the code, 1 of 2 certainly of this line; docs/advice.md#costly-line",
        NARROW,
        f"  bound: {UNKNOWN}",
        OCCUPANCY,
        "",
        "1 kernel, 0 unread: 1 piece of advice",
    ]
    assert str(package.advise("scale.bin")) + "\n" == done.out


def test_the_document(folder: Path, kernlens: Kernlens) -> None:
    (entry,) = kernlens("advise", "scale.bin", "--json").document["kernels"]
    (piece,) = entry["advice"]
    assert (entry["kernel"], entry["device"], entry["instructions"], entry["reason"]) == ("scale", "skl", 3, None)
    assert (
        piece["sentence"]
        == "`a` at scale.cl:3:5 is 2 instructions (at most 66.7% of the kernel); write less (results differ)"
    )
    assert (piece["line"], piece["column"], piece["count"], piece["share"]) == (3, 5, 2, 0.6667)
    assert piece["offsets"] == [16, 32]
    assert piece["source"] == "a[id] *= 2;"


def test_the_table(folder: Path) -> None:
    answer = package.advise("scale.bin", kernel="sc*")
    (row,) = answer.table
    assert (row["kernel"], row["rule"], row["line"], row["instructions"]) == ("scale", "costly-line", 3, 2)
    assert repr(answer) == "<AdviceAnswer pieces=1 kernels=1>"
    assert repr(answer.advice[0]).startswith("<Advice costly-line: `a` at scale.cl:3:5 is 2 instructions")


def test_annotate_has_a_sentence_below_its_table(folder: Path, kernlens: Kernlens) -> None:
    done = kernlens("annotate", "scale.bin", "--top", "2")
    assert done.out.endswith(
        "\n\n  `a` at scale.cl:3:5 is 2 instructions (at most 66.7% of the kernel); write less (results differ)\n\n"
    )
    (kernel,) = kernlens("annotate", "scale.bin", "--top", "2", "--json").document["programs"][0]["kernels"]
    assert [(line["line"], [piece["rule"] for piece in line["advice"]]) for line in kernel["lines"]] == [
        (3, ["costly-line"]),
        (2, []),
    ]


def test_why_rules_are_silent_is_said(folder: Path, kernlens: Kernlens) -> None:
    Path("scale.cl").unlink()
    (entry,) = kernlens("advise", "scale.bin", "--json").document["kernels"]
    assert entry["advice"] == []
    assert entry["reason"] == "the source text was not found; --source-root names a folder to search"
    assert kernlens("advise", "scale.bin").out.splitlines() == [
        "scale  scale on skl (9.0.9)",
        NARROW,
        f"  bound: {UNKNOWN}",
        OCCUPANCY,
        "",
        f"most rules need lines and source text; in 1 kernel: {entry['reason']}",
        "1 kernel, 0 unread: no advice by the rules of docs/advice.md; kernlens annotate PATH --top 10 lists the lines"
        " with most instructions",
    ]


def test_advice_names_instructions() -> None:
    with pytest.raises(ValueError, match="names no instruction"):
        Advice("rule", "it", "is", "do", None, 0, 0, (), 3, DIFFER)


def test_advice_on_a_whole_kernel_has_no_place() -> None:
    piece = Advice("rule", "`printf`", "is 1 instruction", "remove it", None, 0, 0, (2,), 4, EQUAL)
    assert (
        piece.sentence
        == piece.short
        == "`printf` is 1 instruction (25.0% of the kernel); remove it (results stay equal)"
    )
