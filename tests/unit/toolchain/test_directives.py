"""Directives that may include a file, in all their spellings."""

from __future__ import annotations

import re

import pytest

from kernlens.toolchain.sources import directives
from kernlens.toolchain.sources.directives import inclusions, joined_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('#include "a.h"', [("a.h", "")]),
        ("%: import <b.h>", [("b.h", "")]),
        ("??=\tembed NAME", [("", "NAME")]),
        ('# /* a */ /* b */ include_next /**/ "c.h"', [("c.h", "")]),
        ('#inc\\ \nlude "d.h"', [("d.h", "")]),
        ('"#include <e.h>"', [("e.h", "")]),
        ('#include <f.h>#include "g.h"\n#include <h.h>', [("f.h", ""), ("g.h", ""), ("h.h", "")]),
        ('#included "a.h"\n# include\n#define include "a.h"', []),
        ('# /* include "a.h"', []),
        ('# /*/ include "a.h" */', []),
        ('# /* # include "a.h" */ include "b.h"', [("b.h", ""), ("a.h", "")]),
    ],
)
def test_each_spelling(text: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(inclusions(joined_lines(text))) == sorted(expected)


class _Counted:
    """A pattern that counts how often it is tried."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.count = 0

    def match(self, text: str, start: int) -> re.Match[str] | None:
        self.count += 1
        return self.pattern.match(text, start)


@pytest.mark.parametrize("text", ["# /*" * 3000, "# /*" * 3000 + "*/" + "/**/" * 3000 + 'include "a"'])
def test_each_comment_is_read_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blanks = _Counted(directives._BLANKS)
    monkeypatch.setattr(directives, "_BLANKS", blanks)
    names = set(inclusions(text))
    assert names == ({("a", "")} if text.endswith('"') else set())
    assert 3000 <= blanks.count <= 10_000
