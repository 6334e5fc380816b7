"""The comments of C sources."""

from __future__ import annotations

import re

#: A text that is not closed ends with its line, as clang has it.
_COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?' r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?", re.DOTALL
)


def without_comments(text: str, *, has_lines: bool = False) -> str:
    """Return a text with a blank in place of each comment; ``has_lines``: with the line breaks that stand in comments."""

    def plain(match: re.Match[str]) -> str:
        if match[0][0] != "/":
            return match[0]
        return " " + "\n" * match[0].count("\n") if has_lines else " "

    return _COMMENT_OR_TEXT.sub(plain, text)
