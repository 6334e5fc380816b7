"""The runs of compilers, disassemblers and driver probes as child processes, with limits on time, output and files.

When the time is over the whole process group is killed. A process that dies of a signal gets the signal's name.
"""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import OutputError, ToolError
from kernlens.runtime.file_limit import limit_file_size
from kernlens.runtime.temporary import TemporaryFolder
from kernlens.toolchain.child import Child, Starter
from kernlens.toolchain.confinement import Confinement, Leash, confinement
from kernlens.toolchain.shown_files import COMPLAINT, FAILED

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

#: Bytes kept of standard output, and of standard error; the rest is read and dropped.
OUTPUT_LIMIT = 16 << 20
#: Seconds that output pipes may stay open after the child has ended, as a grandchild may hold them.
PIPE_GRACE = 1.0
#: The part of its time in which a child that did not finish had a processor, at least, so that not the machine was busy.
_BUSY = 0.8
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Completed:
    """The outcome of a child process. ``stdout`` and ``stderr`` are decoded as UTF-8, with undecodable bytes replaced."""

    command: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def ok(self) -> bool:
        return self.returncode == 0

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended the process (``"SIGSEGV"``); None if it ended by itself."""
        return signal_name(self.returncode)

    @property
    def ending(self) -> str:
        """The end of the process, as the end of a sentence: ``was killed by SIGSEGV`` or ``ended with status 3``."""
        name = self.signal
        return f"was killed by {name}" if name else f"ended with status {self.returncode}"

    @property
    def log(self) -> str:
        """Standard output followed by standard error."""
        if self.stdout and self.stderr and not self.stdout.endswith("\n"):
            return f"{self.stdout}\n{self.stderr}"
        return self.stdout + self.stderr


def signal_name(returncode: int) -> str | None:
    """Return the signal in a ``returncode`` of subprocess, which is negative for a signal; None if there is none."""
    if returncode >= 0:
        return None
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


def command_line(command: Sequence[str]) -> str:
    """Return the command as a line that a shell understands."""
    return shlex.join(command)


class _Reader(threading.Thread):
    """The collector of one output pipe up to a limit. It reads and drops the rest, so that the child never blocks."""

    def __init__(self, pipe: IO[bytes], limit: int, on_line: Callable[[str], None] | None) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._limit = limit
        self._on_line = on_line
        self._chunks: list[bytes] = []
        self._size = 0
        self._dropped = 0
        self._pending = b""
        #: What ``on_line`` raised; it is not called again then, while the rest of the output is still collected.
        self.error: BaseException | None = None

    def run(self) -> None:
        descriptor = self._pipe.fileno()
        while chunk := os.read(descriptor, CHUNK):
            head = chunk[: self._limit - self._size]
            self._chunks.append(head)
            self._size += len(head)
            self._dropped += len(chunk) - len(head)
            if self._on_line is not None and self.error is None:
                try:
                    self._tell(chunk, self._on_line)
                except BaseException as error:
                    self.error = error

    def _tell(self, chunk: bytes, on_line: Callable[[str], None]) -> None:
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        self._pending = self._pending[-CHUNK:]
        for line in lines:
            on_line(line.decode("utf-8", "replace"))

    @property
    def text(self) -> str:
        text = b"".join(self._chunks).decode("utf-8", "replace")
        return f"{text}\n[{self._dropped} more bytes of output were dropped]\n" if self._dropped else text


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    timeout: float,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    file_size_limit: int | None = None,
    output_limit: int = OUTPUT_LIMIT,
    on_line: Callable[[str], None] | None = None,
    on_start: Callable[[Child], None] | None = None,
    keep_open: Sequence[int] = (),
) -> Completed:
    """Run ``command`` to its end and return how it ended; the caller judges the exit status.

    ``timeout`` is in seconds. ``env`` replaces the environment (None: inherit it). ``stdin`` is what the child reads
    (None: nothing). ``file_size_limit`` is the largest file in bytes that it may write (Linux only; elsewhere it is
    ignored); a child that exceeds it dies of SIGXFSZ. ``on_line`` gets each line of its standard output as it comes,
    from another thread; what it raises is raised here when the child has ended. ``on_start`` gets the Child, so that
    another thread can end it early. ``keep_open`` lists file descriptors that the child inherits. The limits and the
    folder of the ``Confinement`` that this runs in, if any, hold too.

    Raises ToolError if the program is missing or cannot start. If the time is over it kills the whole process group and
    raises ToolError with the output so far.
    """
    arguments = tuple(os.fspath(word) for word in command)
    confined = confinement()
    if confined is not None:
        timeout = confined.left(timeout)
        output_limit = min(output_limit, confined.limits.output)
        cwd = confined.folder if cwd is None else cwd
        env = confined.environment(os.environ if env is None else env)
    start, has_input = time.monotonic(), stdin is not None
    leashed = nullcontext() if confined is None else confined.leash(arguments, env or {}, has_input=has_input)
    with leashed as leash:
        starter = Starter(
            lambda: _start(arguments, cwd=cwd, env=env, has_input=has_input, keep_open=keep_open, leash=leash)
        )
        try:
            process = starter.process()
            child, readers = Child(process), _readers(process, output_limit, on_line)
            _limit(process, child, leash, file_size_limit)
            for reader in readers:
                reader.start()
            if on_start is not None:
                on_start(child)
            if stdin is not None:
                _feed(process, stdin)
            finished = _wait(process, readers, start + timeout, confined)
            used = _close(process, readers, child, finished)
        except BaseException:
            starter.end()
            raise
    if readers[0].error is not None:
        raise readers[0].error
    out, err = (reader.text for reader in readers)
    done = Completed(arguments, process.returncode, out, err, time.monotonic() - start)
    _refuse_unsound(done, confined, None if finished else timeout, used)
    log.debug("toolchain", "%s after %.2f s: %s", done.ending, done.seconds, command_line(arguments))
    return done


def _limit(process: subprocess.Popen[bytes], child: Child, leash: Leash | None, file_size_limit: int | None) -> None:
    if leash is not None:
        leash.fasten(process, child)
    if file_size_limit is not None:
        # Set from outside: a function that runs between fork and exec is not safe with threads.
        limit_file_size(file_size_limit, process.pid)


def _readers(
    process: subprocess.Popen[bytes], limit: int, on_line: Callable[[str], None] | None
) -> tuple[_Reader, _Reader]:
    """Return what collects the two outputs, not started yet."""
    assert process.stdout is not None
    assert process.stderr is not None
    return _Reader(process.stdout, limit, on_line), _Reader(process.stderr, limit, None)


def _refuse_unsound(done: Completed, confined: Confinement | None, timeout: float | None, used: float) -> None:
    """Raise ToolError for a process that could not be confined, did not end within its ``timeout`` (None: it did), took more
    than its confinement allows, or reached for what that keeps from it. ``used`` is its processor time."""
    program, line = os.path.basename(done.command[0]), command_line(done.command)
    if confined is not None and done.returncode == FAILED and done.stderr.startswith(COMPLAINT):
        raise ToolError(f"{program} could not be confined: {done.stderr.removeprefix(COMPLAINT).strip()}", command=line)
    excess = None if confined is None else confined.excess()
    if timeout is not None or excess:
        log.debug("toolchain", "stopped after %.2f s: %s", done.seconds, line)
        why, more = (excess, "") if excess else (f"did not finish within {timeout:g} s", "allow more time, or ")
        error = ToolError(
            f"{program} {why} and was stopped; {more}try a smaller input", command=line, log=done.stdout + done.stderr
        )
        error.is_slow = timeout is not None and not excess and used >= _BUSY * timeout
        raise error
    if confined is not None and (trap := confined.trap()):
        raise ToolError(f"{program} {trap} so kernlens discards its output", command=line)


def temporary_folder(below: Path | None = None, prefix: str = "kernlens-") -> TemporaryFolder:
    """Make a folder in ``below`` (None: that of the confinement, or the system's) that is removed after use.

    Raises OutputError if that fails."""
    confined = confinement()
    inside = below if below is not None or confined is None else confined.folder
    try:
        return TemporaryFolder(prefix, inside)
    except OSError as error:
        raise OutputError(f"no temporary folder can be made ({error}); point TMPDIR at one that is writable") from error


def _start(
    arguments: tuple[str, ...],
    *,
    cwd: str | Path | None,
    env: Mapping[str, str] | None,
    has_input: bool,
    keep_open: Sequence[int],
    leash: Leash | None,
) -> subprocess.Popen[bytes]:
    import subprocess

    if leash is not None:
        import shutil

        if shutil.which(arguments[0]) is None:  # The shell at the gate would only say so in words of its own.
            raise ToolError(missing(arguments[0]), command=command_line(arguments))
        keep_open = (*keep_open, *leash.descriptors)
    try:
        return subprocess.Popen(
            arguments if leash is None else leash.command,
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE if has_input or leash is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=tuple(keep_open),
        )
    except FileNotFoundError as error:
        if cwd is not None and not os.path.isdir(cwd):
            raise ToolError(f"the folder {cwd} to run {arguments[0]} in does not exist") from error
        raise ToolError(missing(arguments[0]), command=command_line(arguments)) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ToolError(f"{arguments[0]} could not be started: {reason}", command=command_line(arguments)) from error


def missing(program: str) -> str:
    """Return the sentence on a program that is not here, and how to get it."""
    from kernlens.toolchain.packages import how_to_get, is_packaged

    name = os.path.basename(program)
    if is_packaged(name):
        return f"{name} was not found; to get it: {how_to_get(name)}"
    return f"{program} was not found; install it or correct its path"


def _feed(process: subprocess.Popen[bytes], content: bytes) -> None:
    """Write the child's input from another thread, so that a child that does not read cannot outlive its time limit."""

    def write() -> None:
        assert process.stdin is not None
        try:
            with process.stdin as pipe:
                pipe.write(content)
        except (BrokenPipeError, ConnectionResetError):
            return  # The child did not read all of it; its exit status says whether that was right.

    threading.Thread(target=write, daemon=True).start()


def _wait(
    process: subprocess.Popen[bytes], readers: Sequence[_Reader], deadline: float, confined: Confinement | None
) -> bool:
    """Wait for the child's end; returns False if the deadline came first, or it took more than its confinement allows."""
    import subprocess

    # A child closes its pipes when it ends. Waiting for that needs no polling, unlike Popen.wait(timeout).
    for reader in readers:
        while reader.is_alive():
            reader.join(min(PIPE_GRACE, max(deadline - time.monotonic(), 0.0)))
            if process.poll() is not None:
                return True
            if time.monotonic() >= deadline or (confined is not None and confined.excess()):
                return False
    try:
        process.wait(max(deadline - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        return False
    return True


def _processor_time(pid: int) -> float:
    """Return the seconds in which a process, and those that it has waited for, had a processor; 0 if nobody says it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def _close(process: subprocess.Popen[bytes], readers: Sequence[_Reader], child: Child, is_over: bool) -> float:
    """Read what is left in the pipes, and kill the child if it is not over, and processes that it left behind and that hold
    them open. Return the processor time of a child that was not over."""
    used = 0.0 if is_over else _processor_time(process.pid)
    if not is_over:
        child.kill()
        process.wait()
    for reader in readers:
        if reader.ident is not None:
            reader.join(PIPE_GRACE)
    if any(reader.is_alive() for reader in readers):
        child.kill()
        for reader in readers:
            reader.join(PIPE_GRACE)
    for reader, pipe in zip(readers, (process.stdout, process.stderr), strict=True):
        if pipe is not None and not reader.is_alive():
            pipe.close()
    return used
