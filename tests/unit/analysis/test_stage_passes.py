"""What single passes did: to the program, and to one source line. The dumps are as Intel's compiler writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.model.build import Build, HeldParts
from kernlens.model.stage import Snapshot
from kernlens.recording.writer import RecordingWriter
from tests.unit.conftest import Kernlens
from tests.writers.recordings import snapshot

HEADING = (
    "; ------------------------------------------------\n; {}.ll\n; ------------------------------------------------\n"
)
TARGET = 'target triple = "spir64-unknown-unknown"\n'
TABLES = """\
!1 = !DIFile(filename: "k.cl", directory: "/src")
!2 = distinct !DISubprogram(name: "work", scope: null, file: !1, line: 1)
!{0} = !DILocation(line: 5, column: 9, scope: !2)
!{1} = !DILocation(line: 6, column: 9, scope: !2)
"""


def dump(
    stage: str, *code: str, numbers: tuple[int, int] = (5, 6), is_whole: bool = True, attempt: int = 1
) -> Snapshot:
    """``code`` ends with 5 or 6: the source line that the instruction came from."""
    body = "".join(f"  {line[:-1]}!dbg !{numbers[int(line[-1]) - 5]}\n" for line in code)
    text = HEADING.format(stage) + (TARGET if is_whole else "")
    text += f"define spir_kernel void @work(i32 %x) !dbg !2 {{\n{body}  ret void\n}}\n"
    return snapshot(stage, ".ll", (text + TABLES.format(*numbers)).encode(), attempt=attempt)


PASSES = (
    dump("llvm-before-unification", "%a = add i32 %x, 1, 5", "%1 = mul i32 %a, 2, 5", "%2 = sub i32 %a, 3, 6"),
    dump("0000-Unify-First", "%a = add i32 %x, 1, 5", "%1 = mul i32 %a, 2, 5", "%2 = sub i32 %a, 3, 6", numbers=(7, 8)),
    dump("0001-Unify-Second", "%a = add i32 %x, 1, 5", "%1 = mul i32 %a, 2, 5", "%2 = sub i32 %a, 3, 6"),
    # A nameless value of line 6 goes, and another gets its number: nothing of line 5 has changed.
    dump("0002-OPT-Third", "%a = add i32 %x, 1, 5", "%7 = mul i32 %a, 2, 5"),
    dump("0003-OPT-Loops", "%a = add i32 %x, 1, 5", is_whole=False),
    dump("0004-OPT-Fourth", "%a = shl i32 %x, 1, 5"),
    dump("0005-OPT-Fifth"),
    dump("0006-OPT-Sixth"),
)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "passes.klens"
    with RecordingWriter(path) as writer:
        writer.add(Build("k", "dg2", parts=HeldParts(snapshots=PASSES)))
    return path


def test_folded_passes_keep_their_names(kernlens: Kernlens, recording: Path) -> None:
    (pipeline,) = kernlens("stages", recording, "--all-passes", "--json").document["pipelines"]
    assert [(step["pass"], step["passes"], step["count"]) for step in pipeline["passes"]] == [
        ("0001-Unify-Second", ["0000-Unify-First", "0001-Unify-Second"], 2),
        ("0002-OPT-Third", ["0002-OPT-Third"], 1),
        ("0003-OPT-Loops", ["0003-OPT-Loops"], 1),
        ("0004-OPT-Fourth", ["0004-OPT-Fourth"], 1),
        ("0005-OPT-Fifth", ["0005-OPT-Fifth"], 1),
        ("0006-OPT-Sixth", ["0006-OPT-Sixth"], 1),
    ]


@pytest.mark.parametrize(
    ("name", "before", "changed"),
    [
        ("0000-Unify-First", "llvm-before-unification", []),
        ("Third", "0001-Unify-Second", ["-  %1 = mul", "-  %2 = sub", "+  %7 = mul"]),
        # The dump before it is a part of the program only.
        ("Fourth", "0002-OPT-Third", ["-  %a = add", "-  %7 = mul", "+  %a = shl"]),
    ],
)
def test_what_one_pass_did(name: str, before: str, changed: list[str], kernlens: Kernlens, recording: Path) -> None:
    (document,) = kernlens("stages", recording, "--diff", name, "--json").document["differences"]
    assert document["from"] == before
    lines = [line for line in document["diff"] if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert [line.partition(" i32")[0] for line in lines] == changed
    done = kernlens("stages", "--diff", name, recording)
    assert done.status == 0
    assert done.out.startswith(f"--- {before}\n" if changed else f"{before} and {name} are equal")


def test_a_pass_of_which_a_part_was_dumped(kernlens: Kernlens, recording: Path) -> None:
    done = kernlens("stages", recording, "--diff", "Loops")
    assert done.status == 2
    assert "only a part of the program after 0003-OPT-Loops" in done.err
    assert "--diff 0004-OPT-Fourth" in done.err


def test_one_stage_alone_is_no_pass(kernlens: Kernlens, recording: Path) -> None:
    done = kernlens("stages", recording, "--diff", "llvm-before-unification", "--json")
    assert done.status == 2
    assert "is not a compiler pass; name a second stage" in done.err


def test_the_passes_that_changed_a_line(kernlens: Kernlens, recording: Path) -> None:
    (pipeline,) = kernlens("stages", recording, "--line", "5", "--all-passes", "--json").document["pipelines"]
    assert pipeline["passes"] == [
        {"pass": "0004-OPT-Fourth", "attempt": 1, "before": 2, "after": 1, "partial": ["0003-OPT-Loops"]},
        {"pass": "0005-OPT-Fifth", "attempt": 1, "before": 1, "after": 0, "partial": []},
    ]
    (pipeline,) = kernlens("stages", recording, "--line", "6", "--all-passes", "--json").document["pipelines"]
    assert [step["pass"] for step in pipeline["passes"]] == ["0002-OPT-Third"]
    text = kernlens("stages", recording, "--line", "5", "--all-passes").out
    rows = [line.split() for line in text.split("passes that changed it\n")[1].splitlines()[1:]]
    assert rows[0][:3] == ["0004-OPT-Fourth", "2", "1"]
    assert "or 0003-OPT-Loops, of which only a part was dumped" in text
    assert rows[1] == ["0005-OPT-Fifth", "1", "0", "removed"]
    assert "passes" not in kernlens("stages", recording, "--line", "5", "--json").document["pipelines"][0]


def test_each_attempt_begins_anew(kernlens: Kernlens, tmp_path: Path) -> None:
    again = (
        dump("llvm-before-unification", "%a = add i32 %x, 1, 5", attempt=2),
        dump("0007-OPT-Again", "%a = add i32 %x, 1, 5", attempt=2),
        dump("0008-OPT-Change", "%a = add i32 %x, 2, 5", attempt=2),
    )
    path = tmp_path / "attempts.klens"
    with RecordingWriter(path) as writer:
        writer.add(Build("k", "dg2", parts=HeldParts(snapshots=(*PASSES, *again))))
    (pipeline,) = kernlens("stages", path, "--line", "5", "--all-passes", "--json").document["pipelines"]
    assert [(step["pass"], step["attempt"]) for step in pipeline["passes"]] == [
        ("0004-OPT-Fourth", 1),
        ("0005-OPT-Fifth", 1),
        ("0008-OPT-Change", 2),
    ]
    (document,) = kernlens("stages", path, "--diff", "Again", "--json").document["differences"]
    assert (document["from"], document["attempt"], document["diff"]) == ("llvm-before-unification", 2, [])
