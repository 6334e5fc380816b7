"""What the documents of several verbs say of the same thing has the same key."""

from __future__ import annotations

import re

from tests.tree import ROOT

PAGE = ROOT / "docs" / "json.md"


def test_a_toolchain_is_named_under_one_key() -> None:
    """``toolchain`` is a title for people, and in ``sweep`` a name; scripts read ``toolchain_name``."""
    lists = re.findall(r'"toolchain"[^\n]{0,30}', PAGE.read_text("utf-8"))
    assert len(lists) >= 8
    assert [keys for keys in lists if not keys.startswith('"toolchain", "toolchain_name"')] == []
