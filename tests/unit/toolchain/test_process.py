"""Child processes: time limits, signals, bounded output, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kernlens.errors import ToolError
from kernlens.toolchain import packages, process
from kernlens.toolchain.child import Child
from kernlens.toolchain.process import run
from tests.processes import ASLEEP, LATE, OVERSTAY, PATIENCE

PYTHON = sys.executable
#: Starts a grandchild that opens the pipe WITNESS, and waits until it has.
WITH_WITNESS = f"""
import subprocess, sys, time
START = "import sys, time; pipe = open(sys.argv[1], 'w'); print('open', flush=True); "
SLEEP = "time.sleep({PATIENCE}); pipe.write('alive')"
child = subprocess.Popen([sys.executable, "-c", START + SLEEP, sys.argv[1]])
"""


class Clock:
    """Time that a test can make pass: ``time`` for the module ``process``."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    watch = Clock()
    monkeypatch.setattr(process, "time", watch)
    monkeypatch.setattr(process, "PIPE_GRACE", 0.05)
    return watch


class Witness:
    """A named pipe that a process holds open; what comes out of it tells how the process ended."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "witness"
        os.mkfifo(self.path)
        self._texts: list[str] = []
        self._thread = threading.Thread(target=lambda: self._texts.append(self.path.read_text()), daemon=True)
        self._thread.start()

    def was_killed(self) -> bool:
        """Wait for the process's end; whether it came before the process could say that it had slept enough."""
        with contextlib.suppress(OSError):  # The reader is done already.
            # Of a process that was killed before it came to open the pipe, the reader would wait for ever.
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        self._thread.join()
        return self._texts == [""]


def test_output_status_and_time() -> None:
    done = run([PYTHON, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"], timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert done.signal is None
    assert not done.ok
    assert done.ending == "ended with status 3"
    assert done.log == "out\nerr\n"
    assert done.seconds > 0


def test_standard_input_environment_and_folder(tmp_path: Path) -> None:
    program = "import os, sys; print(sys.stdin.read() + os.environ['WORD'] + os.getcwd())"
    done = run([PYTHON, "-c", program], timeout=20, stdin=b"in ", env={"WORD": "word "}, cwd=tmp_path)
    assert done.stdout == f"in word {tmp_path}\n"


def test_a_child_that_ignores_a_large_input_is_no_error() -> None:
    assert run([PYTHON, "-c", "pass"], timeout=20, stdin=bytes(4 << 20)).ok


def test_without_input_the_child_reads_nothing() -> None:
    assert run([PYTHON, "-c", "import sys; print(repr(sys.stdin.read()))"], timeout=20).stdout == "''\n"


def test_a_death_by_a_signal_has_a_name() -> None:
    done = run([PYTHON, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"], timeout=20)
    assert done.signal == "SIGSEGV"
    assert done.ending == "was killed by SIGSEGV"


def test_a_time_out_kills_the_whole_group(tmp_path: Path, clock: Clock) -> None:
    witness = Witness(tmp_path)
    program = WITH_WITNESS + f"time.sleep({PATIENCE})"

    def time_is_over(line: str) -> None:
        clock.ahead = 1000.0

    with pytest.raises(ToolError, match="did not finish within 600 s") as caught:
        run([PYTHON, "-c", program, witness.path], timeout=600, on_line=time_is_over)
    assert caught.value.log == "open\n"
    assert caught.value.command is not None
    assert caught.value.exit_status == 3
    assert witness.was_killed()


def test_a_grandchild_that_holds_the_pipe_does_not_hold_us(tmp_path: Path, clock: Clock) -> None:
    witness = Witness(tmp_path)
    done = run([PYTHON, "-c", WITH_WITNESS + "sys.stdin.read()", witness.path], timeout=600)
    assert done.ok
    assert witness.was_killed()


@pytest.mark.slow
def test_a_child_that_closes_its_output_is_still_timed(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="did not finish"):
        run([PYTHON, "-c", f"import os; os.close(1); os.close(2); {OVERSTAY}"], timeout=1, cwd=tmp_path)
    assert not (tmp_path / LATE).exists()


def test_output_is_bounded() -> None:
    done = run([PYTHON, "-c", "print('x' * 5_000_000)"], timeout=20, output_limit=1000)
    assert done.stdout.startswith("x" * 1000 + "\n[4999001 more bytes")
    assert len(done.stdout) < 1100


def test_lines_as_they_come() -> None:
    lines: list[str] = []
    run([PYTHON, "-c", "print('one'); print('two')"], timeout=20, on_line=lines.append)
    assert lines == ["one", "two"]


def test_file_size_limit(tmp_path: Path) -> None:
    program = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); open('big', 'wb').write(bytes(100_000))"
    assert run([PYTHON, "-c", program], timeout=2 * PATIENCE, cwd=tmp_path, file_size_limit=5000).signal == "SIGXFSZ"
    assert (tmp_path / "big").stat().st_size == 5000


def test_another_thread_can_end_it(tmp_path: Path) -> None:
    def started(child: Child) -> None:
        threading.Timer(0.2, child.kill).start()

    assert run([PYTHON, "-c", OVERSTAY], timeout=2 * PATIENCE, cwd=tmp_path, on_start=started).signal == "SIGKILL"


@pytest.mark.parametrize(
    ("program", "advice"),
    [("ocloc", "apt install intel-opencl-icd"), ("no-such-program", "install it or correct its path")],
)
def test_a_missing_program(program: str, advice: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(packages, "_packages", lambda: ("intel-opencl-icd",))
    with pytest.raises(ToolError, match=advice):
        run([program, "--help"], timeout=5)


def test_a_program_that_cannot_start(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    with pytest.raises(ToolError, match="could not be started: Permission denied"):
        run([plain], timeout=5)
    with pytest.raises(ToolError, match=r"the folder .*gone .* does not exist"):
        run([PYTHON, "-c", "pass"], timeout=5, cwd=tmp_path / "gone")


def test_no_descriptor_is_left_open() -> None:
    run([PYTHON, "-c", "pass"], timeout=20)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        run([PYTHON, "-c", "pass"], timeout=20, stdin=b"x")
    for thread in threading.enumerate():  # Those that write a child's input close it a little later.
        if thread is not threading.current_thread():
            thread.join()
    assert len(os.listdir("/proc/self/fd")) == before


def interrupt() -> None:
    """Send SIGINT to the main thread, which a signal from outside reaches too, also while it waits for a lock."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_an_interrupt_while_a_process_is_being_started_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes when the child runs and Popen has not returned yet."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def interrupted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        interrupt()
        time.sleep(0.2)  # The main thread is interrupted now.
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(["sleep", str(ASLEEP)], timeout=20)
    assert ended(started[0])


def test_a_second_interrupt_while_a_process_is_being_started_leaves_none_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It breaks off the wait for the process that the first one wanted to be killed."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def interrupted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        for _ in range(2):
            interrupt()
            time.sleep(0.2)
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(["sleep", str(ASLEEP)], timeout=20)
    assert ended(started[0])


def test_an_interrupt_before_a_process_is_started_has_none_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes when the thread that starts the process has begun, and the main thread does not know it yet."""
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: started.append("a process"))
    threads: list[threading.Thread] = []
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        threads.append(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(["sleep", str(ASLEEP)], timeout=20)
    start(threads[0])
    threads[0].join()
    assert started == []


def test_an_interrupt_while_a_grandchild_holds_the_pipe_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child has ended, and its output is still open."""
    witness = Witness(tmp_path)
    monkeypatch.setattr(process, "PIPE_GRACE", 600.0)
    close = process._close

    def interrupted(*arguments: Any) -> None:
        threading.Timer(0.2, interrupt).start()
        close(*arguments)

    monkeypatch.setattr(process, "_close", interrupted)
    monkeypatch.setattr(process, "_wait", lambda process, *_: process.wait() == 0)
    with pytest.raises(KeyboardInterrupt):
        run([PYTHON, "-c", WITH_WITNESS + "sys.stdin.read()", witness.path], timeout=600)
    assert witness.was_killed()


def ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child was killed; it is killed now if it was not."""
    try:
        return child.wait(PATIENCE) == -signal.SIGKILL
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return False
