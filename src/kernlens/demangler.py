"""C++ names from libstdc++'s demangler, ``__cxa_demangle``, in a process of its own (``native/demangler``), which is started
for the first name.

A short name of hostile input can stand for gigabytes of text or for endless work, and nothing can stop a call within this
process. The other one has little memory and processor time, and ends where a name exceeds them; such a name stays mangled.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock
from functools import lru_cache

from kernlens import log

_PROGRAM = os.path.join(os.path.dirname(__file__), "native", "kernlens_demangler")
#: Characters; libstdc++ reads names of 1,024 at most.
_LONGEST_NAME = 4096
#: Names and texts that are kept; a text has 16 KiB at most (``native/demangler/main.c``).
_KEPT = 4096
#: How often the process may end within one run of this one; after that, names stay mangled.
_MOST_ENDS = 16


class _Process:
    """A running demangler. Raises OSError if it cannot be started."""

    def __init__(self) -> None:
        names, to_process = os.pipe()
        self._names = os.fdopen(to_process, "wb", 0)
        with os.fdopen(names, "rb", 0):
            from_process, texts = os.pipe()
            self._texts = os.fdopen(from_process, "rb")
            with os.fdopen(texts, "wb", 0):
                environment = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
                actions = [(os.POSIX_SPAWN_DUP2, names, 0), (os.POSIX_SPAWN_DUP2, texts, 1)]
                self.id = os.posix_spawn(_PROGRAM, [_PROGRAM], environment, file_actions=actions)

    def ask(self, name: str) -> str:
        """Return the text of a name, empty if libstdc++ does not read it. Raises OSError if the process has ended."""
        self._names.write(name.encode() + b"\n")
        text = self._texts.readline()
        if not text.endswith(b"\n"):
            raise BrokenPipeError("the demangler has ended")
        return text[:-1].decode("utf-8", "backslashreplace")

    def leave(self) -> None:
        """Close this side's pipes. The process ends when nobody has them open."""
        self._names.close()
        self._texts.close()

    def end(self) -> None:
        self.leave()
        try:
            os.waitpid(self.id, 0)
        except ChildProcessError:
            log.debug("demangler", "the application waits for all its children itself")


class Demangler:
    """A demangler that asks one process after the other, as they end."""

    def __init__(self) -> None:
        self.process: _Process | None = None
        self._ends = 0
        self._lock = allocate_lock()

    def text(self, name: str) -> str:
        """Return a name's text; the name itself if libstdc++ does not read it, or not within the limits."""
        with self._lock:
            if self._ends == _MOST_ENDS:
                return name
            process: _Process | None = None
            try:
                # It is taken out as long as it is asked: an interrupted question must not leave its answer to the next.
                process, self.process = self.process or _Process(), None
                text = process.ask(name)
                self.process = process
            except OSError as error:
                log.debug("demangler", "%s stays mangled: %s", name, error)
                self._ends += 1
                if process is not None:
                    process.end()
                return name
        return text or name

    def forget(self) -> None:
        """Leave the process to the original of this forked copy."""
        if self.process is not None:
            self.process.leave()
        self.process = None
        self._lock = allocate_lock()


_demangler = Demangler()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=lambda: _demangler.forget())


@lru_cache(_KEPT)
def demangled(name: str) -> str:
    """Return a mangled name as C++ source has it; one that libstdc++ does not read, or not within the limits, as it is."""
    if sys.platform == "win32" or len(name) > _LONGEST_NAME or not name.isprintable():
        return name
    return _demangler.text(name)
