"""Leave source text out of a recording (``--redact source``).

Compilers copy source lines into much of what they write: build logs quote them, assembly listings carry them as
comments, SPIR-V and debug data can hold whole files. Every source line is therefore overwritten wherever it occurs,
in its length, so that binary formats stay valid. Names of kernels, functions, variables and files stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: A shorter line, in characters, reveals nothing and would match unrelated bytes.
SHORTEST = 8
#: A line that is one word (``vector_add``) may be a name that the binary needs.
ONE_WORD = re.compile(r"[\w.]+")
STAND_IN = b"*"


class Redaction:
    """Overwrites the lines of source texts wherever they occur."""

    def __init__(self, texts: Iterable[str]) -> None:
        lines = {line.strip() for text in texts for line in text.splitlines()}
        revealing = {line for line in lines if len(line) >= SHORTEST and not ONE_WORD.fullmatch(line)}
        # The longest come first, as a line that is part of another would break that one up.
        self._lines = [line.encode() for line in sorted(revealing, key=len, reverse=True)]

    def apply(self, content: bytes) -> bytes:
        """Return ``content`` with every source line in it overwritten, in the same length."""
        for line in self._lines:
            if line in content:
                content = content.replace(line, STAND_IN * len(line))
        return content
