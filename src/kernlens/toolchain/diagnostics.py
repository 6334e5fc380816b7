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


#: Messages whose insertion below the caret replaces what the caret underlines, and those whose insertion is put before it.
#: The log tells the two apart by nothing else.
_REPLACED = re.compile(r"; did you mean '[^']+'\?$")
_INSERTED = re.compile(r"^expected '(?P<text>[^']+)'")


class Fix(NamedTuple):
    """A change that the compiler proposes: ``text`` in place of the ``length`` characters from the message's column on."""

    length: int
    text: str


class ErrorLine(NamedTuple):
    """A compiler's message. ``line`` and ``column`` count from 1; without a place ``path`` is "" and both are 0.
    ``severity`` is ``error`` (a fatal one included), ``warning``, ``note`` or ``remark``. ``fix`` is None if none is stated."""

    path: str
    line: int
    column: int
    severity: str
    message: str
    fix: Fix | None = None


def error_lines(log: str, source: str = "") -> tuple[ErrorLine, ...]:
    """Return a build log's messages in order. ``source`` replaces the compiler's stand-in for the main file's name."""
    messages = []
    lines = log.splitlines()
    for number, text in enumerate(lines):
        message = _placed(text, source)
        if message is not None:
            messages.append(message._replace(fix=_fix(message.message, lines[number + 2 : number + 4])))
        elif (message := _unplaced(text)) is not None:
            messages.append(message)
    return tuple(messages)


def _fix(message: str, below: list[str]) -> Fix | None:
    """Return what clang writes under the source line of a message: a caret with what it underlines, and what is inserted there.

    Source: clang's TextDiagnostic.cpp, ``emitSnippetAndCaret`` and ``buildFixItInsertionLine``.
    """
    if len(below) < 2:
        return None
    caret, inserted = below
    at = len(inserted) - len(inserted.lstrip(" "))
    underlined = re.fullmatch(r" *(\^~*)", caret)
    text = inserted.strip()
    if underlined is None or underlined.start(1) != at or not text:
        return None
    if (match := _REPLACED.search(message)) is not None and match[0] == f"; did you mean '{text}'?":
        return Fix(len(underlined[1]), text)
    match = _INSERTED.match(message)
    return Fix(0, text) if match is not None and match["text"] == text else None


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
