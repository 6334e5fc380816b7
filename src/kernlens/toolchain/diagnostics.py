"""A compiler's messages about a source, with their places, out of its log.

Intel's, AMD's and PoCL's OpenCL compilers write what their front end says in clang's form:
``PATH:LINE:COLUMN: SEVERITY: MESSAGE``, with the source line and a caret below, and notes behind. What IGC itself says has
a place in its text: ``in kernel 'K': MESSAGE (in file: PATH:LINE)``, or, until IGC 1.0, in lines below
(``CodeGenContext::EmitError``). It says the same again for each value of a line and each attempt at a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kernlens.dataclass import NamedTuple

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

#: What stands around a message of IGC: whose code it is about, and the line of it.
_CODE = re.compile(
    r"^in (?P<kind>kernel|function) '(?P<name>[^']*)'(?: called (?:by kernels?:? (?P<kernels>'[^']*'(?:, '[^']*')*)"
    r"|indirectly))?: "
)
_FILE = re.compile(r" \(in file: (?P<path>(?:(?! \(in file: )[^\n])+):(?P<line>\d+)\)$")
#: The same in lines of their own below the message.
_FILE_BELOW = re.compile(r"^in file: (?P<path>[^\n]+):(?P<line>\d+)$")
_CODE_BELOW = re.compile(r"^in (?P<kind>kernel|function): '(?P<name>[^']*)'(?P<callers>.*)$")
_CALLER_BELOW = re.compile(r"^  - '(?P<name>[^']*)'$")
_QUOTED = re.compile(r"'([^']*)'")
#: What IGC adds to each error.
_CLOSING = "backend compiler failed build."
#: What is about no place: how a compile ended, and what was run.
_ENDING = re.compile(r"^(?:Build succeeded|Build failed|Command was:|Compilation from IR|\d+ (?:warning|error)s? )")
_INCLUDED = re.compile(r"^In file included from ")
_CARET = re.compile(r"^[ \t~]*\^[ ~]*$")


class Fix(NamedTuple):
    """A change that the compiler proposes: ``text`` in place of the ``length`` characters from the message's column on."""

    length: int
    text: str


class ErrorLine(NamedTuple):
    """A compiler's message. ``line`` and ``column`` count from 1; without a place ``path`` is "" and both are 0, and only
    ``column`` where the compiler names a line alone. ``severity`` is ``error`` (a fatal one included), ``warning``, ``note``
    or ``remark``. ``fix`` is None if none is stated. ``kernels`` are those whose code it is about, or of which the
    ``function`` is that it is about; none where the compiler names neither."""

    path: str
    line: int
    column: int
    severity: str
    message: str
    fix: Fix | None = None
    kernels: tuple[str, ...] = ()
    function: str = ""

    @property
    def place(self) -> str:
        """The place in the source: ``PATH:LINE:COLUMN``, or as much of it as is known."""
        return f"{self.path}:{self.line}{f':{self.column}' if self.column else ''}" if self.path else ""

    @property
    def words(self) -> str:
        """The message with the kernel or function that it is about."""
        kernels = ", ".join(self.kernels)
        if self.function:
            return f"in function {self.function}{f' of kernel {kernels}' if kernels else ''}: {self.message}"
        return f"in kernel {kernels}: {self.message}" if kernels else self.message


class LogPart(NamedTuple):
    """A message with all that the compiler wrote about it: its ``notes``, and the ``text``, line by line. ``message`` is None
    for text that is no message. ``times`` is how often the log has it."""

    message: ErrorLine | None
    notes: tuple[ErrorLine, ...]
    text: tuple[str, ...]
    times: int = 1


def error_lines(log: str, source: str = "") -> tuple[ErrorLine, ...]:
    """Return a build log's messages in order, each once, with its notes behind it. ``source`` replaces the compiler's stand-in
    for the main file's name."""
    told = dict.fromkeys((part.message, part.notes) for part in log_parts(log, source))
    return tuple(each for message, notes in told for each in (message, *notes) if each is not None)


def log_parts(log: str, source: str = "") -> tuple[LogPart, ...]:
    """Return the parts of a build log in order, equal ones together; they have all lines of the log but the empty ones."""
    parts: dict[LogPart, LogPart] = {}
    for part in _joined(_Reader(log.splitlines(), source).parts()):
        known = parts.get(part)
        parts[part] = part if known is None else known._replace(times=known.times + 1)
    return tuple(parts.values())


def of_severity(messages: Iterable[ErrorLine], severity: str) -> list[ErrorLine]:
    """Return the messages of this severity."""
    return [message for message in messages if message.severity == severity]


def _joined(parts: Iterable[LogPart]) -> Iterator[LogPart]:
    """Yield the parts with what IGC adds to each error in the error's own; where it says nothing else, it is the error."""
    last: LogPart | None = None
    for part in parts:
        is_closing = part.message is not None and part.message.message == _CLOSING
        if is_closing and last is not None and last.message is not None and last.message.severity == "error":
            last = last._replace(text=(*last.text, *part.text))
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


class _Reader:
    """The reading of a log, line by line."""

    def __init__(self, lines: Sequence[str], source: str) -> None:
        self._lines = lines
        self._source = source
        self._message: ErrorLine | None = None
        self._notes: list[ErrorLine] = []
        self._text: list[str] = []
        #: Whether lines that say nothing themselves belong to the message before them.
        self._is_open = False

    def parts(self) -> Iterator[LogPart]:
        """Yield the parts as the log has them."""
        number = 0
        while number < len(self._lines):
            text = self._lines[number]
            number += 1
            if not text.strip():
                self._is_open = False
                continue
            message = _placed(text, self._source)
            if message is not None:
                message = message._replace(fix=_fix(message.message, self._lines[number + 1 : number + 3]))
                if message.severity == "note" and self._message is not None:
                    self._notes.append(message)
                    self._text.append(text)
                else:
                    yield from self._end(keeps_includes=True)
                    self._begin(message, text)
                # A source line may look like anything: the caret below it tells that it is one.
                if number + 1 < len(self._lines) and _CARET.match(self._lines[number + 1]):
                    self._text += self._lines[number : number + 2]
                    number += 2
            elif (message := _unplaced(text)) is not None:
                yield from self._end()
                self._begin(message, text)
            elif self._message is not None and (placed := _placed_below(self._message, text)) is not None:
                self._message = placed
                self._text.append(text)
            elif self._is_open and not _ENDING.match(text) and not _INCLUDED.match(text):
                self._continue(text)
            else:
                if not (self._message is None and self._text and _INCLUDED.match(self._text[-1])):
                    yield from self._end()
                self._text.append(text)
        yield from self._end()

    def _begin(self, message: ErrorLine, text: str) -> None:
        self._message, self._is_open = message, True
        self._text.append(text)

    def _continue(self, text: str) -> None:
        """Take a line that goes on with the message before it."""
        self._text.append(text)
        if self._message is not None and self._message.message.endswith(":"):
            self._message = self._message._replace(message=f"{self._message.message} {text.strip()}")

    def _end(self, *, keeps_includes: bool = False) -> Iterator[LogPart]:
        """Yield what was read, if it is more than the files through which the next message's file is included."""
        is_context = self._message is None and bool(self._text) and all(map(_INCLUDED.match, self._text))
        if keeps_includes and is_context:
            return
        if self._text:
            yield LogPart(self._message, tuple(self._notes), tuple(self._text))
        self._message, self._notes, self._text, self._is_open = None, [], [], False


def _placed_below(message: ErrorLine, text: str) -> ErrorLine | None:
    """Return a message of IGC with what a line below it says about its place; None if the line says nothing of that."""
    if message.column:
        return None
    if (match := _FILE_BELOW.match(text)) is not None:
        return message._replace(path=match["path"], line=int(match["line"][:9]))
    if (match := _CODE_BELOW.match(text)) is not None:
        if match["kind"] == "kernel":
            return message._replace(kernels=(match["name"],))
        return message._replace(function=match["name"], kernels=tuple(_QUOTED.findall(match["callers"])))
    if message.function and (match := _CALLER_BELOW.match(text)) is not None:
        return message._replace(kernels=(*message.kernels, match["name"]))
    return None


def _fix(message: str, below: Sequence[str]) -> Fix | None:
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
        return _of_igc(ErrorLine("", 0, 0, severity, match["message"]))
    if REFUSED.match(text):
        return ErrorLine("", 0, 0, "error", text)
    return None


def _of_igc(message: ErrorLine) -> ErrorLine:
    """Return a message with the place that IGC writes in its text."""
    text = message.message
    if (match := _FILE.search(text)) is not None:
        message = message._replace(path=match["path"], line=int(match["line"][:9]), message=text[: match.start()])
    if (match := _CODE.match(message.message)) is None:
        return message
    kernels = (match["name"],) if match["kind"] == "kernel" else tuple(_QUOTED.findall(match["kernels"] or ""))
    function = "" if match["kind"] == "kernel" else match["name"]
    return message._replace(message=message.message[match.end() :], kernels=kernels, function=function)
