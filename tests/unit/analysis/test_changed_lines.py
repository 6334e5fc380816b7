"""What a changed line is, how its instructions are counted, and which lines of two sources belong together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kernlens.analysis.comparison.line_changes import OTHER_WAITS, LineChange, changed_lines, instruction_pairs
from kernlens.analysis.comparison.normal_form import Code
from kernlens.analysis.comparison.source_lines import LineKey, SourceLines
from kernlens.model.build import Source
from kernlens.report.diff.comparison import _growth
from kernlens.report.style import rendered
from tests.unit.analysis.test_comparison import ADD, a_kernel, code

SYNC, MUL = "sync.nop null {{Compacted,{}}}", "mul (16|M0) r{}.0<1>:f r{}.0<1;1,0>:f r2.0<0;1,0>:f"


def changed(old: Sequence[str], new: Sequence[str]) -> tuple[list[LineChange], tuple[Code, Code]]:
    kernels = a_kernel("k"), a_kernel("k")
    codes = code(*old), code(*new)
    return changed_lines(kernels, codes, SourceLines((), ()), has_lines=False), codes


def test_instructions_and_waits_count_apart() -> None:
    """Two ``mul`` more and two ``sync.nop`` less: as many instructions as before."""
    old = [SYNC.format("$1"), MUL.format(4, 6), SYNC.format("$2"), ADD.format(8, 4, 6, "F")]
    new = [MUL.format(4, 6), MUL.format(10, 6), MUL.format(12, 6), ADD.format(8, 4, 6, "F")]
    ((line,), codes) = changed(old, new)
    assert (len(line.old), len(line.new), line.removed, line.added, line.old_waits, line.new_waits) == (
        4,
        4,
        0,
        2,
        2,
        0,
    )
    shown = _growth(line)
    assert [rendered(words).strip() for words in shown] == ["", "+2", "-2"]
    pairs = instruction_pairs(codes, line)
    assert [(each.old, each.new) for each in pairs if None not in (each.old, each.new)] == [(1, 0), (3, 3)]


def test_what_moved_within_a_line_is_neither_added_nor_removed() -> None:
    moves = [f"mov (16|M0) r{number}.0<1>:f 0x{number}:f" for number in range(8, 14)]
    ((line,), codes) = changed([MUL.format(4, 6), *moves], [*moves, "nop", MUL.format(20, 6), ADD.format(8, 4, 6, "F")])
    assert (line.removed, line.added, line.old_waits, line.new_waits) == (0, 1, 0, 1)
    pairs = [(each.old, each.new) for each in instruction_pairs(codes, line)]
    assert pairs == [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (None, 6), (0, 7), (None, 8)]


def test_waits_of_lines_that_did_not_change_are_a_row_of_their_own() -> None:
    (line,), _ = changed([MUL.format(4, 6)], [SYNC.format("$1"), MUL.format(4, 6)])
    assert (line.key, line.change, line.old, line.new) == (OTHER_WAITS, "sync", (), (0,))
    assert (line.removed, line.added, line.old_waits, line.new_waits) == (0, 0, 0, 1)


def lines(old: str, new: str, name: str = "a.cl") -> SourceLines:
    return SourceLines([Source("a.cl", old)], [Source(name, new)])


def test_lines_follow_what_stands_before_them() -> None:
    pairs = lines("one\ntwo\nthree\nfour", "zero\none\nTWO\nthree")
    assert pairs.edited == {LineKey("a.cl", 0, 1), LineKey("a.cl", 2, 3), LineKey("a.cl", 4, 0)}
    assert pairs.old_key("a.cl", 3) == pairs.new_key("a.cl", 4) == LineKey("a.cl", 3, 4)
    assert pairs.old_key("other.cl", 3) == pairs.new_key("other.cl", 3)


def test_a_line_that_stands_elsewhere_is_the_same_line() -> None:
    """Two lines change places, and one moves behind a brace: those which no other line is like."""
    pairs = lines("a = 1;\nb = 2;\n{\nx++;\n}\nx++;\nc = 3;", "b = 2;\na = 1;\n{\n}\nx++;\n  c = 3;\nx--;")
    assert pairs.old_key("a.cl", 1) == LineKey("a.cl", 1, 2)
    assert pairs.old_key("a.cl", 2) == LineKey("a.cl", 2, 1)
    assert pairs.new_key("a.cl", 6) == LineKey("a.cl", 7, 6)
    assert LineKey("a.cl", 7, 6) in pairs.edited
    assert LineKey("a.cl", 4, 0) in pairs.edited
    assert all(pairs.new_key("a.cl", pairs.old_key("a.cl", line).new).old == line for line in (1, 2, 3, 5, 6, 7))


def test_a_line_has_the_texts_of_both_files() -> None:
    pairs = lines("one\ntwo  \nthree", "ONE\nthree\nfour", "there/a.cl")
    texts = {key: pairs.texts(key) for key in pairs.edited}
    name = "there/a.cl"
    assert texts == {
        LineKey(name, 1, 1): ("one", "ONE"),
        LineKey(name, 2, 0): ("two", None),
        LineKey(name, 0, 3): (None, "four"),
    }
    assert {pairs.old_path(key) for key in texts} == {"a.cl"}
    assert pairs.texts(LineKey("other.h", 1, 1)) == (None, None)


def test_a_file_that_was_not_read_is_not_edited() -> None:
    pairs = SourceLines([Source("a.cl", "one\ntwo")], [Source("b/a.cl", "", unread="outside of the folder")])
    assert not pairs.edited
    assert pairs.texts(pairs.old_key("a.cl", 1)) == ("one", None)


@pytest.mark.parametrize("name", ["a.cl", "there/a.cl", "b.cl"])
def test_a_file_is_found_in_another_folder_and_by_another_name(name: str) -> None:
    pairs = lines("one\ntwo", "one\ntwo and more", name)
    assert pairs.edited == {LineKey(name, 2, 2)}
    assert pairs.old_key("a.cl", 2) == pairs.new_key(name, 2)


def test_instructions_have_the_same_forms_together_as_alone() -> None:
    """What is new of a kernel is taken apart at once; none may get the registers of its neighbours."""
    texts = [
        MUL.format(4, 6, 8),
        "nop",
        "mov (16|M0) r14.2<1>:uw acc3.1<1;1,0>:uw {Compacted,$3.dst}",
        "add (8|M0) r5.0<1>:f\nr6.0<1;1,0>:f r7.3<0;1,0>:f",
        "(W) send.dc0 (16|M0) r107 r14 null:0 0x0 0x02484402 {$1} // wr:1h+0, rd:4; of r99",
        "(f0.1) while (16|M0) L16",
        "mov (1|M0) a0.0<1>:uw r9.1<0;1,0>:uw",
    ]
    alone = [code(text).forms[0] for text in texts]
    assert code(*texts, *reversed(texts)).forms == [*alone, *reversed(alone)]
    assert [len(form.cells) for form in alone] == [3, 0, 2, 3, 2, 0, 1]
    assert alone[2].cells == (14 * 16 + 2, (512 + 3) * 16 + 1)
    assert (alone[3].first, alone[3].read) == (5 * 16, (6 * 16, 7 * 16 + 3 * 2))
    assert (alone[4].first, alone[5].template.labels, alone[6].first) == (107 * 16, (16,), -1)
