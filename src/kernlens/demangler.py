"""C++ names from libstdc++'s demangler, ``__cxa_demangle``, in a process of its own (``native/demangler``), which is started
for the first name.

A short name of hostile input can stand for gigabytes of text or for endless work, and nothing can stop a call within this
process. The other one has little memory and processor time, and ends where a name exceeds them; such a name stays mangled.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from functools import lru_cache

from kernlens import log
from kernlens.errors import ToolError
from kernlens.piped_process import PipedProcess, program_path

_PROGRAM = program_path("kernlens_demangler")
#: Characters; libstdc++ reads names of 1,024 at most.
_LONGEST_NAME = 4096
#: Names and texts that are kept; a text has 16 KiB at most (``native/demangler/main.c``).
_KEPT = 4096
#: How often the process may end within one run of this one; after that, names stay mangled.
_MOST_ENDS = 16


class _Process(PipedProcess):
    """A running demangler. Raises OSError if it cannot be started."""

    def __init__(self) -> None:
        super().__init__("the demangler", [_PROGRAM])

    def ask(self, name: str) -> str:
        """Return the text of a name, empty if libstdc++ does not read it. Raises ToolError if the process has ended."""
        self.write(name.encode() + b"\n")
        return self.read_line().decode("utf-8", "backslashreplace")


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
            except (OSError, ToolError) as error:
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
os.register_at_fork(after_in_child=lambda: _demangler.forget())


@lru_cache(_KEPT)
def demangled(name: str) -> str:
    """Return a mangled name as C++ source has it; one that libstdc++ does not read, or not within the limits, as it is."""
    if len(name) > _LONGEST_NAME or not name.isprintable():
        return name
    return _demangler.text(name)
