"""A program of kernlens's own (``native/``) that answers questions: a child process with a pipe each way.

What such a program works with, libraries and hostile bytes, may end it. It is started without a thread or a shell, and what it
complains of goes to a file without a name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from kernlens import log
from kernlens.errors import ToolError

#: Bytes of a complaint that are read, and characters of it that a message repeats.
_MOST_COMPLAINT, _MOST_WORDS = 1 << 16, 300


def program_path(name: str) -> str:
    """Return where a program of this installation lies, whether it was built or not."""
    return os.path.join(os.path.dirname(__file__), "native", name)


class PipedProcess:
    """A running program; ``title`` is its name in messages. ``environment`` is added to the process's, which has nothing else
    but where libraries are looked for. Raises OSError if it cannot be started."""

    def __init__(self, title: str, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        self.title = title
        self._told = 0
        self._log = os.memfd_create("complaints")
        questions, to_process = os.pipe()
        self._questions = os.fdopen(to_process, "wb")
        with os.fdopen(questions, "rb", 0):
            from_process, answers = os.pipe()
            self._answers = os.fdopen(from_process, "rb")
            with os.fdopen(answers, "wb", 0):
                own = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
                actions = [(os.POSIX_SPAWN_DUP2, end, at) for at, end in enumerate((questions, answers, self._log))]
                self.id = os.posix_spawn(command[0], command, {**own, **(environment or {})}, file_actions=actions)

    def write(self, *parts: bytes | memoryview) -> None:
        """Send the parts of a question. Raises ToolError if the process has ended."""
        self._told = os.fstat(self._log).st_size
        try:
            for part in parts:
                self._questions.write(part)
            self._questions.flush()
        except BrokenPipeError as error:
            raise self.ending() from error

    def read(self, size: int) -> bytes:
        """Return so many bytes of the answer. Raises ToolError if the process ends instead."""
        content = self._answers.read(size)
        if len(content) < size:
            raise self.ending()
        return content

    def read_line(self) -> bytes:
        """Return a line of the answer without its end. Raises ToolError if the process ends instead."""
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            raise self.ending()
        return line[:-1]

    def check_version(self, is_equal: bool) -> None:
        """End the process, and raise ToolError, unless its greeting is that of this version."""
        if not is_equal:
            self.end()
            raise ToolError(f"{self.title} is of another version of kernlens")

    @property
    def complaint(self) -> str:
        """The text that the process has written to its standard error since the last question."""
        return os.pread(self._log, _MOST_COMPLAINT, self._told).decode("utf-8", "replace").strip()

    def ending(self) -> ToolError:
        """Return the error that says that it has ended, and why."""
        why = " ".join(self.complaint.split())[-_MOST_WORDS:]
        return ToolError(f"{self.title} ended without an answer{f': {why}' if why else ''}")

    def leave(self) -> None:
        """Close this side's pipes. The process ends when nobody has them open."""
        for end in (self._questions, self._answers):
            try:
                end.close()
            except BrokenPipeError:
                log.debug("processes", "%s has ended", self.title)
        os.close(self._log)

    def end(self) -> None:
        """Close the pipes and wait for the process's end."""
        self.leave()
        try:
            os.waitpid(self.id, 0)
        except ChildProcessError:
            log.debug("processes", "the application waits for all its children itself")
