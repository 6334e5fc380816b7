"""The process that assembles (``native/assembler``): one for each libiga64, started for the first text.

libiga64's parser is not made for hostile text. The process has little time and memory, opens nothing, and when it ends, the
text that ended it is refused and the next one gets a new process.
"""

from __future__ import annotations

import os
import struct
from _thread import allocate_lock
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from kernlens.errors import ToolError
from kernlens.piped_process import PipedProcess, program_path

_PROGRAM = program_path("kernlens_assembler")
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


class _Process(PipedProcess):
    """A running assembler. Raises OSError if it cannot be started, ToolError if the library cannot be used."""

    def __init__(self, library: str) -> None:
        super().__init__(f"the assembler of {library}", [_PROGRAM, library])
        try:
            (magic,) = _WORD.unpack(self.read(_WORD.size))
        except ToolError:
            self.end()
            raise
        self.check_version(magic == _MAGIC)

    def ask(self, kind: int, platform: int, options: int, offsets: bytes, content: bytes) -> tuple[int, int, bytes]:
        """Return status, number of messages, and the bytes behind. Raises ToolError if the process ends instead."""
        self.write(_REQUEST.pack(kind, platform, options, len(offsets) // _WORD.size, len(content)), offsets, content)
        status, count, size = _ANSWER.unpack(self.read(_ANSWER.size))
        parts = []
        for _ in range(count):
            head = self.read(_MESSAGE.size)
            parts += [head, self.read(_MESSAGE.unpack(head)[3])]
        return status, count, b"".join([*parts, self.read(size)])


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


os.register_at_fork(after_in_child=_forget_all)


def assembler_of(path: str) -> Assembler:
    """Return the assembler of the library in this file. Raises ToolError where the process was not built."""
    if not os.path.isfile(_PROGRAM):
        raise ToolError("the assembler's process is not part of this installation; reinstall kernlens on Linux")
    if path not in _assemblers:
        _assemblers[path] = Assembler(path)
    return _assemblers[path]
