"""The process that assembles (``native/assembler``): one for each libiga64, started for the first text.

libiga64's parser is not made for hostile text. The process has little time and memory, opens nothing, and when it ends, the
text that ended it is refused and the next one gets a new process.
"""

from __future__ import annotations

import os
import struct
import sys
from _thread import allocate_lock
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from kernlens import log
from kernlens.errors import ToolError

_PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "native", "kernlens_assembler")
#: The structures of ``native/assembler/main.c``.
_REQUEST, _ANSWER, _MESSAGE, _WORD = (
    struct.Struct("=5I"),
    struct.Struct("=3I"),
    struct.Struct("=4I"),
    struct.Struct("=I"),
)
_MAGIC = 0x4D534147
_ASSEMBLE, _PRINT = 1, 2
_OK = 0
#: Bytes of text that one question may have.
MOST_TEXT = 16 << 20


class AssemblerMessage(NamedTuple):
    """A message of the library on a place in the text; lines and columns count from 1, 0 if it names none."""

    line: int
    column: int
    is_warning: bool
    text: str


class AssembledText(NamedTuple):
    """The code, None if the library refuses the text, and what it says."""

    code: bytes | None
    messages: tuple[AssemblerMessage, ...]


class _Process:
    """A running assembler. Raises OSError if it cannot be started, ToolError if the library cannot be used."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._log = os.memfd_create("assembler")
        questions, to_process = os.pipe()
        self._questions = os.fdopen(to_process, "wb")
        with os.fdopen(questions, "rb", 0):
            from_process, answers = os.pipe()
            self._answers = os.fdopen(from_process, "rb")
            with os.fdopen(answers, "wb", 0):
                environment = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
                actions = [(os.POSIX_SPAWN_DUP2, end, at) for at, end in enumerate((questions, answers, self._log))]
                self.id = os.posix_spawn(_PROGRAM, [_PROGRAM, library], environment, file_actions=actions)
        try:
            (magic,) = _WORD.unpack(self._read(_WORD.size))
        except ToolError:
            self.end()
            raise
        if magic != _MAGIC:
            self.end()
            raise ToolError(f"{_PROGRAM} is of another version of kernlens")

    def ask(self, kind: int, platform: int, options: int, offsets: bytes, content: bytes) -> tuple[int, int, bytes]:
        """Return status, number of messages, and the bytes behind. Raises ToolError if the process ends instead."""
        try:
            self._questions.write(_REQUEST.pack(kind, platform, options, len(offsets) // _WORD.size, len(content)))
            self._questions.write(offsets)
            self._questions.write(content)
            self._questions.flush()
        except BrokenPipeError as error:
            raise self._ending() from error
        status, count, size = _ANSWER.unpack(self._read(_ANSWER.size))
        parts = []
        for _ in range(count):
            head = self._read(_MESSAGE.size)
            parts += [head, self._read(_MESSAGE.unpack(head)[3])]
        return status, count, b"".join([*parts, self._read(size)])

    def _read(self, size: int) -> bytes:
        content = self._answers.read(size)
        if len(content) < size:
            raise self._ending()
        return content

    def _ending(self) -> ToolError:
        complaint = os.pread(self._log, 1 << 10, 0).decode("utf-8", "replace")
        why = " ".join(complaint.split())
        return ToolError(f"the assembler of {self._library} ended without an answer{f': {why}' if why else ''}")

    def leave(self) -> None:
        """Close this side's pipes. The process ends when nobody has them open."""
        for end in (self._questions, self._answers):
            try:
                end.close()
            except BrokenPipeError:
                log.debug("isa", "the assembler of %s has ended", self._library)
        os.close(self._log)

    def end(self) -> None:
        """Close the pipes and wait for the process's end."""
        self.leave()
        try:
            os.waitpid(self.id, 0)
        except ChildProcessError:
            log.debug("isa", "the application waits for all its children itself")


class Assembler:
    """An assembler of one libiga64 (``path``), which asks one process after the other, as they end."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._process: _Process | None = None
        self._lock = allocate_lock()

    def assemble(self, platform: int, text: str, options: int = 0) -> AssembledText:
        """Assemble a kernel's text; ``options`` are those of iga's encoder. Raises ToolError if the text is too large, if
        the library crashes on it, or if it takes too long."""
        content = text.encode("utf-8", "backslashreplace")
        if len(content) > MOST_TEXT:
            raise ToolError(f"the text has {len(content):,} bytes; the assembler takes at most {MOST_TEXT:,}")
        status, count, answer = self._ask(_ASSEMBLE, platform, options, b"", content.replace(b"\0", b"?"))
        messages, at = [], 0
        for _ in range(count):
            line, column, is_warning, size = _MESSAGE.unpack_from(answer, at)
            at += _MESSAGE.size
            words = answer[at : at + size].decode("utf-8", "replace")
            messages.append(AssemblerMessage(line, column, bool(is_warning), " ".join(words.split())))
            at += size
        return AssembledText(answer[at:] if status == _OK else None, tuple(messages))

    def texts(self, platform: int, code: bytes, offsets: Sequence[int], options: int) -> list[str]:
        """Return the text of the instruction at each offset; ``options`` are those of iga's formatter."""
        status, _, answer = self._ask(_PRINT, platform, options, array("I", offsets).tobytes(), code)
        lines = answer.decode("utf-8", "replace").split("\n")[:-1]
        if status != _OK or len(lines) != len(offsets):
            raise ToolError(f"{self._path} does not print the code")
        return lines

    def _ask(self, kind: int, platform: int, options: int, offsets: bytes, content: bytes) -> tuple[int, int, bytes]:
        with self._lock:
            # It is taken out as long as it is asked: an interrupted question must not leave its answer to the next.
            try:
                process, self._process = self._process or _Process(self._path), None
            except OSError as error:
                raise ToolError(f"the assembler's process does not start: {error.strerror}: {_PROGRAM}") from error
            try:
                answer = process.ask(kind, platform, options, offsets, content)
            except BaseException:
                process.end()
                raise
            self._process = process
        return answer

    def forget(self) -> None:
        """Leave the process to the original of this forked copy."""
        if self._process is not None:
            self._process.leave()
        self._process = None
        self._lock = allocate_lock()


_assemblers: dict[str, Assembler] = {}


def _forget_all() -> None:
    for assembler in _assemblers.values():
        assembler.forget()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget_all)


def assembler_of(path: str) -> Assembler:
    """Return the assembler of the library in this file. Raises ToolError where the process was not built."""
    if not os.path.isfile(_PROGRAM):
        raise ToolError("the assembler's process is not part of this installation; reinstall kernlens on Linux")
    if path not in _assemblers:
        _assemblers[path] = Assembler(path)
    return _assemblers[path]
