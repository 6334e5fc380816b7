"""The texts that are printed for an input, and the checks that hold for every printed text."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from typing import Any

from kernlens.report.json_text import json_pieces
from kernlens.report.style import rendered

#: Unicode's categories that no printed line may have: controls, surrogates, separators of lines and paragraphs.
_FORBIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})


def check_lines(lines: Iterable[str]) -> None:
    """Print lines as the command line does, and look for what a terminal would obey."""
    for line in lines:
        printed = rendered(line)
        if printed.isprintable():
            continue
        wrong = [
            character for character in printed if character != "\t" and unicodedata.category(character) in _FORBIDDEN
        ]
        assert not wrong, f"{wrong[:8]} in {printed[:200]!r}"


def check_document(document: dict[str, Any]) -> None:
    """Print a document: ASCII on one line, from which the same document can be read."""
    text = "".join(json_pieces(document))
    assert text.isascii(), "JSON is not ASCII"
    assert text.isprintable(), "JSON holds a control character"
    json.loads(text)
