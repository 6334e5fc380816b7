"""Leave source text out of a recording (``--redact source``).

Compilers copy source lines into much of what they write: build logs quote them, assembly listings carry them as
comments, SPIR-V and debug data can hold whole files. So every source line is overwritten wherever it occurs, in the
same length, so that binary formats stay valid. Names of kernels, functions, variables and files stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: A line shorter than this says nothing, and would hit bytes that only look like it.
SHORTEST = 8
#: A line that is one word (``vector_add``) may be a name that the binary needs.
ONE_WORD = re.compile(r"[\w.]+")
STAND_IN = b"*"


class Redaction:
    """Overwrites the lines of the given source texts in any bytes."""

    def __init__(self, texts: Iterable[str]) -> None:
        lines = {line.strip() for text in texts for line in text.splitlines()}
        telling = {line for line in lines if len(line) >= SHORTEST and not ONE_WORD.fullmatch(line)}
        # The longest first: a line that lies within another must not break it up before it is found.
        self._lines = [line.encode() for line in sorted(telling, key=len, reverse=True)]

    def apply(self, content: bytes) -> bytes:
        """``content`` with every source line in it overwritten; its length stays."""
        for line in self._lines:
            if line in content:
                content = content.replace(line, STAND_IN * len(line))
        return content
