"""Stage maps, one line through them, passes and differences, on snapshots that are written here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.analysis.stage_changes import difference, pass_steps
from kernlens.errors import KernlensError, NotFoundError, TooManyError
from kernlens.loading.stage_maps import Beside, snapshot_map, stage_maps
from kernlens.model.build import HeldParts
from kernlens.model.line_choice import LineChoice
from kernlens.model.stage import Snapshot, choose
from kernlens.model.stage_map import ProgramLine
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from tests.limits import processor_time
from tests.writers.recordings import FULL


def snapshot(stage: str, text: str, ending: str = ".ll", kernel: str | None = None, form: str = "text") -> Snapshot:
    content = text.encode()
    return Snapshot(stage, kernel, form, ending, lambda: content, len(content))


def dump(name: str, body: str, number: int = 1) -> Snapshot:
    """LLVM IR as IGC dumps it: with its file's name on top, and numbered metadata."""
    rule = "; " + "-" * 48
    text = f"{rule}\n; OCL_asm0_{name}.ll\n{rule}\ndefine void @f() #{number} {{\n{body}}}\n"
    tables = f"attributes #{number} = {{ nounwind }}\n!{number} = !DILocation(line: 5, scope: !0)\n"
    return snapshot(name, text + tables)


def test_passes_without_effect_are_folded_and_renumbering_is_none() -> None:
    add, ret = "  %a = add i32 1, 2, !dbg !{0}\n", "  ret void\n"
    steps = list(
        pass_steps(
            [
                dump("llvm-before-unification", add.format(1) + ret, 1),
                dump("0001-Unify-Idle", add.format(7) + ret, 7),
                dump("0002-Unify-Idle", add.format(8) + ret, 8),
                dump("0003-Unify-Remove", ret, 8),
                dump("llvm-unified", ret, 9),
                dump("0004-OPT-Idle", ret, 9),
                dump("0005-OPT-Add", add.format(2) * 2 + ret, 2),
                dump("0006-OPT-Swap", ret + add.format(2) * 2, 2),
            ]
        )
    )
    assert [(step.snapshot.stage, step.changed, step.added, step.removed, step.count) for step in steps] == [
        ("0002-Unify-Idle", False, 0, 0, 2),
        ("0003-Unify-Remove", True, 0, 1, 1),
        ("0004-OPT-Idle", False, 0, 0, 1),
        ("0005-OPT-Add", True, 2, 0, 1),
        ("0006-OPT-Swap", True, 0, 0, 1),
    ]


def test_a_dump_of_loops_alone_is_not_compared_with_the_program() -> None:
    def whole(name: str, body: str) -> Snapshot:
        return snapshot(name, f'target triple = "spir64"\ndefine void @f() {{\n{body}}}\n')

    steps = pass_steps(
        [
            whole("llvm-unified", "  a\n"),
            whole("0001-OPT-Idle", "  a\n"),
            snapshot("0002-OPT-RotateLoops", "; Preheader:\n\n; Loop:\n  b\n"),
            whole("0003-OPT-Idle", "  a\n"),
            snapshot("0004-OPT-Inliner", "define void @f() {\n  b\n}\n"),
            whole("0005-OPT-Next", "  b\n"),
        ]
    )
    assert [(step.snapshot.stage, step.changed, step.added, step.removed) for step in steps] == [
        ("0001-OPT-Idle", False, 0, 0),
        ("0002-OPT-RotateLoops", None, 0, 0),
        ("0003-OPT-Idle", False, 0, 0),
        ("0004-OPT-Inliner", None, 0, 0),
        ("0005-OPT-Next", True, 1, 1),
    ]


def test_a_difference_shows_the_lines_as_they_are_and_looks_past_numbers() -> None:
    before = dump("llvm-unified", "  %a = add i32 1, 2, !dbg !1\n  ret void, !dbg !1\n", 1)
    after = dump("llvm-optimized", "  ret void, !dbg !9\n", 9)
    lines = list(difference(before, after))
    assert lines[:2] == ["--- llvm-unified", "+++ llvm-optimized"]
    assert [line for line in lines[2:] if line[0] in "+-"] == ["-  %a = add i32 1, 2, !dbg !1"]
    assert not list(difference(before, before))
    with pytest.raises(KernlensError, match=r"program has no text to compare, only its \.progbin"):
        list(difference(before, snapshot("program", "", ".progbin", form="binary")))


def visa(kernel: str, *lines: int) -> Snapshot:
    text = 'FILE "/s/k.cl"\n' + "".join(f"LOC {line}\n    op{line} (M1, 1) V1 /// $1\n" for line in lines)
    return snapshot("visa", text, ".visaasm", kernel)


def test_a_line_through_stages_names_each_kernel_that_has_a_part() -> None:
    ir = "define void @k() {\n  add, !dbg !1\n  mul, !dbg !2\n  sub, !dbg !1\n}\n"
    ir += "!1 = !DILocation(line: 5, scope: !3)\n!2 = !DILocation(line: 6, scope: !3)\n"
    ir += '!3 = !DISubprogram(file: !4)\n!4 = !DIFile(filename: "k.cl", directory: "/s")\n'
    snapshots = [snapshot("llvm-codegen", ir), visa("a", 5, 6, 5, 5), visa("b", 6), visa("c", 6, 5)]
    broken = Snapshot("visa", "d", "text", ".visaasm", bytes, failure="the disk is full")
    maps = stage_maps(
        [*snapshots, broken, snapshot("source", "x", ".cl"), snapshot("object", "// Line 5\n  mov\n", ".asm")], []
    )
    assert [(stage_map.stage, stage_map.kernel) for stage_map in maps] == [
        ("llvm-codegen", None),
        *(("visa", name) for name in "abc"),
    ]
    five = ProgramLine(LineChoice("k.cl", 5), maps)
    assert [(part.stage, part.kernel, part.texts) for part in five.stages] == [
        ("llvm-codegen", None, ("  add, !dbg !1", "  sub, !dbg !1")),
        ("visa", "a", ("    op5 (M1, 1) V1 /// $1",) * 3),
        ("visa", "c", ("    op5 (M1, 1) V1 /// $1",)),
    ]
    code, a, _ = five.stages
    assert code.positions == (2, 4)
    assert list(a.runs()) == [(0,), (2, 3)]
    nowhere = ProgramLine(LineChoice(None, 7), maps).stages
    assert [(part.stage, part.kernel, part.indexes) for part in nowhere] == [
        ("llvm-codegen", None, ()),
        ("visa", "a", ()),
    ]
    assert not any(part.indexes for part in ProgramLine(LineChoice("other.cl", 5), maps).stages)


def test_the_text_of_a_map_is_read_when_it_is_asked_for() -> None:
    stage_map = snapshot_map(visa("a", 5), Beside([]))
    assert stage_map is not None
    assert (len(stage_map), stage_map.lines) == (1, {("/s/k.cl", 5): (0,)})
    assert snapshot_map(snapshot("visa", "    op (M1, 1) V1\n", ".visaasm"), Beside([])) is None  # no line at all


@pytest.mark.parametrize(("stage", "ending"), [("visa", ".visaasm"), ("gen-assembly", ".asm"), ("llvm-codegen", ".ll")])
def test_a_text_of_too_many_lines_is_refused_before_it_is_read(stage: str, ending: str) -> None:
    with pytest.raises(TooManyError, match=f"{stage}: 1,000,00. lines in an input"), processor_time(1):
        snapshot_map(snapshot(stage, "a\n" * 1_000_001, ending), Beside([]))


@pytest.mark.slow
def test_the_texts_of_a_recording_share_one_bound_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "packed.klens"
    text = b"a\n" * 400_000
    with RecordingWriter(path) as writer:
        for name in ("first", "second"):
            stages = [Snapshot("visa", kernel, "text", ".visaasm", lambda: text) for kernel in ("k", "l")]
            writer.add(replace(FULL, name=name, parts=HeldParts(binary=b"1", snapshots=tuple(stages))))
    snapshots = [snapshot for build in Recording(path).builds() for snapshot in build.snapshots]
    assert len(snapshots) == 4
    for snapshot in (*snapshots[:2], *snapshots[:2]):  # A text that is read again is not counted again.
        assert snapshot_map(snapshot, Beside([])) is None
    with pytest.raises(
        TooManyError, match=r"visa: [0-9,]+ lines in an input of [0-9,]+ bytes, where kernlens reads [0-9,]+ at most"
    ):
        snapshot_map(snapshots[2], Beside([]))


def test_a_choice_names_what_there_is() -> None:
    result = (
        snapshot("visa", "a", ".visaasm", "a"),
        snapshot("visa", "b", ".isa", "a", "binary"),
        snapshot("source", "s"),
    )
    assert [snapshot.form for snapshot in choose(result, "visa")] == ["text"]
    assert [entry.form for entry in choose(result, "visa", "a", "binary")] == ["binary"]
    assert choose(result, "source", "a", "binary")[0].form == "text"
    with pytest.raises(NotFoundError, match="there is no stage 'viso' here; there is: visa"):
        choose(result, "viso")
