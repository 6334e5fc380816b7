"""Literal numbers of OpenCL C."""

from __future__ import annotations

import re

#: A longer one is none that a person writes: digits that may be endings, too, are tried in the square of their number.
_LONGEST = 100
_LITERAL = re.compile(
    r"[-+]?\(?[-+]?(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)[fFhHuUlL]*\)?"
)


def literal(text: str) -> float | None:
    """Return the value of a literal number of OpenCL C, such as ``2.0f`` or ``(-1)``; None for any other expression."""
    if len(text) > _LONGEST or not _LITERAL.fullmatch(text.strip()):
        return None
    digits = text.strip("() \t").rstrip("fFhHuUlL") if "x" not in text.lower() else text.strip("() \t").rstrip("uUlL")
    try:
        return float(int(digits, 16)) if "x" in digits.lower() else float(digits)
    except ValueError:
        return None
