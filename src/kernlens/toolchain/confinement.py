"""The confinement of the compilers and tools that a block of code starts, however deep below it they are started.

A server compiles what a page sends it, and recordings are compiled that anybody may have made. Within ``with
Confinement(...)`` every child of ``toolchain/process.py`` can open only what it is shown (``shown_files.py``), gets limits on
its time, memory, files and output, works in the confinement's folder, can be ended from another thread, and ends with this
process, whatever ends that (``runtime/lifeline.py``). The child waits at a gate until all this is set: a shell that reads a
line, and then becomes the program.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Protocol, Self

from kernlens.dataclass import dataclass, replace
from kernlens.errors import ToolError
from kernlens.runtime.driver_environment import WORKER_VARIABLES, DriverEnvironment
from kernlens.runtime.lifeline import Lifeline
from kernlens.toolchain.folders import entries_below
from kernlens.toolchain.shown_files import confining, inherited, mechanism, program_path, python_words

if TYPE_CHECKING:
    import subprocess

#: Waits for a line, or ends if none comes as whoever would write it has died; then becomes the program.
_GATE = 'IFS= read -r line || exit 1; exec "$@"'
_CLOSED_GATE = f"{_GATE} </dev/null"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a confined block: ``seconds`` for all of it, ``memory`` (address space) and ``file_size`` in bytes
    for each process and file, ``written`` bytes in all files together, ``output`` bytes of each stream that are kept."""

    seconds: float = 60.0
    memory: int = 4 << 30
    file_size: int = 128 << 20
    written: int = 256 << 20
    output: int = 1 << 20


class Killable(Protocol):
    """A child process; ``kill`` ends its whole group."""

    def kill(self) -> None: ...


class Children:
    """Child processes that can be ended together, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: set[Killable] = set()
        self._stopped = False

    def add(self, child: Killable) -> None:
        """Let ``stop`` end this child too, at once if it was called."""
        with self._lock:
            self._children.add(child)
            if self._stopped:
                child.kill()

    def remove(self, *children: Killable) -> None:
        """Forget these children, which have ended."""
        with self._lock:
            self._children.difference_update(children)

    def stop(self) -> None:
        """End all children, and let no other begin. Nothing that they wrote is wanted, so that they are killed at once."""
        with self._lock:
            self._stopped = True
            for child in self._children:
                child.kill()


class Confinement(Children):
    """A block of code whose children are confined to ``folder``, an existing one, and ``limits``; enter it once. They
    can open nothing but the folder, ``shown`` (see ``foreign_text.shown_to_compilers``) and the system's libraries;
    with None they can open all files. Raises UnsupportedError if this machine cannot do that."""

    def __init__(self, folder: str, limits: Limits, shown: Sequence[str] | None = None) -> None:
        super().__init__()
        self.folder = os.path.realpath(folder)
        self.limits = limits
        self.shown = shown
        if shown is not None:
            mechanism()
        self._deadline = time.monotonic() + limits.seconds
        self._token: Token[Confinement | None] | None = None

    def __enter__(self) -> Self:
        self._token = _current.set(self)
        self._deadline = time.monotonic() + self.limits.seconds
        return self

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _current.reset(self._token)

    def left(self, timeout: float) -> float:
        """Return the seconds that a child may take which else may take ``timeout``. Raises ToolError if all was stopped."""
        if self._stopped:
            raise ToolError("the compile was stopped")
        return max(0.0, min(timeout, self._deadline - time.monotonic()))

    def command(
        self, arguments: Sequence[str], variables: Mapping[str, str], *, of_driver: bool = False, of_cuda: bool = False
    ) -> list[str]:
        """Return what starts the command, which gets these variables, so that it can open only what is shown; ``of_driver``: it
        is Python with a driver, ``of_cuda``: with CUDA's, and a profiler in it."""
        if self.shown is None:
            return list(arguments)
        program = program_path(arguments[0])
        words = confining(self.folder, self.shown, program, variables, of_driver=of_driver, of_cuda=of_cuda)
        return [*words, program, *arguments[1:]]

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return what a child gets of these variables."""
        return dict(environment) if self.shown is None else inherited(environment, self.folder)

    def leash(self, arguments: Sequence[str], variables: Mapping[str, str], *, has_input: bool) -> Leash:
        """Return the leash that starts a child of this confinement, which gets these variables; a context manager,
        which is left when the child has ended."""
        return Leash(self, arguments, variables, has_input=has_input)

    def excess(self) -> str | None:
        """Return what was taken beyond the limits, as the rest of a sentence; None as long as all is well."""
        try:
            if _bytes_below(self.folder, self.limits.written) > self.limits.written:
                return f"wrote more than {self.limits.written >> 20} MB"
        except OSError as error:
            return f"made folders in one another that cannot be read ({error.strerror})"
        return None

    def trap(self) -> str | None:
        """Return what children that have ended left for who reads their files: a link that leads elsewhere, or a pipe
        that would be waited for; as the rest of a sentence, None if there is none. Compilers leave none."""
        try:
            for entry in entries_below(self.folder) if self.shown is not None else ():
                if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
                    return f"left {entry.name!a}, which is neither a file nor a folder,"
        except OSError as error:
            return f"left folders in one another that cannot be read ({error.strerror}),"
        return None


_current: ContextVar[Confinement | None] = ContextVar("confinement", default=None)


def confinement() -> Confinement | None:
    """Return the one that this code runs in; None if it runs in none."""
    return _current.get()


def confined_driver(environment: DriverEnvironment, *, of_cuda: bool = False) -> DriverEnvironment:
    """Return how a worker is started here: within a Confinement that shows files, so that it can open nothing else.
    ``of_cuda``: a profiler of CUDA may be in it."""
    confined = confinement()
    if confined is None or confined.shown is None:
        return environment
    merged = {**os.environ, **environment.variables}
    variables = confined.environment({name: value for name, value in merged.items() if value is not None})
    for name in WORKER_VARIABLES:
        variables.pop(name, None)
    removed = dict.fromkeys(name for name in os.environ if name not in WORKER_VARIABLES)
    python = confined.command(python_words(environment.python), variables, of_driver=True, of_cuda=of_cuda)
    return replace(environment, variables=removed | variables, python=tuple(python))


def _bytes_below(folder: str, enough: int) -> int:
    """Return the bytes in all files below a folder; counting ends when there are more than ``enough``."""
    total = 0
    for entry in entries_below(folder):
        with contextlib.suppress(FileNotFoundError):  # It was removed meanwhile.
            total += 0 if entry.is_dir(follow_symlinks=False) else entry.stat(follow_symlinks=False).st_size
        if total > enough:
            return total
    return total


class Leash:
    """The tie of one child to this process and to its confinement. ``command`` is what starts it, in place of the
    program itself, and ``descriptors`` what it inherits; ``fasten`` opens its gate."""

    def __init__(
        self, confined: Confinement, arguments: Sequence[str], variables: Mapping[str, str], *, has_input: bool
    ) -> None:
        gate = _GATE if has_input else _CLOSED_GATE
        self.command = ("/bin/sh", "-c", gate, "sh", *confined.command(arguments, variables))
        self._confined = confined
        self._has_input = has_input
        self._child: Killable | None = None
        self._lifeline = Lifeline()
        self.descriptors = self._lifeline.inherited

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go: what is left of the child's process group ends too."""
        if self._child is not None:
            self._confined.remove(self._child)
        self._lifeline.cut()

    def fasten(self, process: subprocess.Popen[bytes], child: Killable) -> None:
        """Set the limits of a process that waits at its gate, bind its process group to this process, and let it go on."""
        self._child = child
        self._confined.add(child)
        with contextlib.suppress(
            ProcessLookupError, BrokenPipeError
        ):  # It was killed meanwhile, as its status will say.
            _limit(process.pid, self._confined.limits)
            self._lifeline.fasten(process.pid)
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
            if not self._has_input:
                process.stdin.close()


def _limit(process: int, limits: Limits) -> None:
    import resource

    seconds = int(limits.seconds) + 1
    # Drivers of GPUs reserve more addresses than any machine has memory; what is written to counts here.
    data = min(limits.memory, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4)
    for kind, soft, hard in (
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_AS, limits.memory, limits.memory),
        (resource.RLIMIT_DATA, data, data),
        (resource.RLIMIT_FSIZE, limits.file_size, limits.file_size),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        most = resource.prlimit(process, kind)[1]
        most = hard if most == resource.RLIM_INFINITY else min(most, hard)
        resource.prlimit(process, kind, (min(soft, most), most))
