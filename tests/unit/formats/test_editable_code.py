"""The text that people edit: what is read of it, and what is not."""

from __future__ import annotations

import pytest

from kernlens.errors import FormatError
from kernlens.formats.listings.editable_code import editable_lines, read_editable

HEAD = ["kernel: two words", f"code sha256: {'ab' * 32}"]


def test_what_is_printed_is_read() -> None:
    lines = editable_lines(HEAD, [0, 16], ["nop", "jmpi L0"], {0, 32}, ["a.cl:1", ""], ["a.cl:1 | x // y\nz", None])
    edit = read_editable("\n".join(lines))
    assert (edit.kernel, edit.hash) == ("two words", "ab" * 32)
    assert [(each.words, each.offset) for each in edit.instructions] == [("nop", 0), ("jmpi L0", 16)]
    assert [line for line in edit.lines if line] == ["L0:", "nop", "jmpi L0", "L32:"]


def test_comments_are_no_code() -> None:
    text = "/* a\nnop */ add r1 /* b */ r2 // 0x20 x\nL7: mov // 16\n// 0x30\nnop // 0x30z\nnop /* 0x40 */"
    edit = read_editable(text)
    assert [(each.number, each.words, each.offset, each.label) for each in edit.instructions] == [
        (2, "add r1 r2", 0x20, ""),
        (3, "mov", None, "L7:"),
        (5, "nop", None, ""),
        (6, "nop", None, ""),
    ]
    assert edit.lines[1].index("add") == text.splitlines()[1].index("add"), "columns of errors are the text's"


def test_a_comment_without_end() -> None:
    with pytest.raises(FormatError, match="begins in line 2 does not end"):
        read_editable("nop\nnop /* a\nnop")


def test_a_header_behind_code_counts_as_a_header_but_not_in_a_line_of_code() -> None:
    assert read_editable("nop // kernel: a").kernel is None


def test_lines_end_as_on_any_system() -> None:
    assert [each.words for each in read_editable("nop\r\nadd\rmov").instructions] == ["nop", "add", "mov"]
