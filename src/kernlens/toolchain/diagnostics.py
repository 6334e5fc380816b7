"""A compiler's messages about a source, with their places, out of its log.

Intel's and PoCL's OpenCL compilers write them in clang's form: ``PATH:LINE:COLUMN: SEVERITY: MESSAGE``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Names that the OpenCL front end gives to the main file, which it reads from memory, unless ``-s`` names it.
UNNAMED_FILES = ("1", "<stdin>", "<source>")

PLACED = re.compile(
    r"^(?P<path>(?:[A-Za-z]:)?[^:\n]+):(?P<line>\d+):(?P<column>\d+): "
    r"(?P<severity>fatal error|error|warning|note|remark): (?P<message>.*)$"
)
UNPLACED = re.compile(r"^(?P<severity>[Ff]atal error|[Ee]rror|[Ww]arning) ?: (?P<message>.*)$")
REFUSED = re.compile(r"^(?:Unrecognized build options|InvalidModule|Invalid \w+|Could not \w+)\b.*$")


class ErrorLine(NamedTuple):
    """A compiler's message. ``line`` and ``column`` count from 1; without a place ``path`` is "" and both are 0.
    ``severity`` is ``error`` (a fatal one included), ``warning``, ``note`` or ``remark``."""

    path: str
    line: int
    column: int
    severity: str
    message: str


def error_lines(log: str, source: str = "") -> tuple[ErrorLine, ...]:
    """Return a build log's messages in order. ``source`` replaces the compiler's stand-in for the main file's name."""
    messages = []
    for text in log.splitlines():
        message = _placed(text, source) or _unplaced(text)
        if message is not None:
            messages.append(message)
    return tuple(messages)


def _placed(text: str, source: str) -> ErrorLine | None:
    match = PLACED.match(text)
    if match is None:
        return None
    path = source if source and match["path"] in UNNAMED_FILES else match["path"]
    severity = "error" if match["severity"] == "fatal error" else match["severity"]
    return ErrorLine(path, int(match["line"][:9]), int(match["column"][:9]), severity, match["message"])


def _unplaced(text: str) -> ErrorLine | None:
    match = UNPLACED.match(text)
    if match is not None:
        severity = "warning" if match["severity"].lower() == "warning" else "error"
        return ErrorLine("", 0, 0, severity, match["message"])
    if REFUSED.match(text):
        return ErrorLine("", 0, 0, "error", text)
    return None
