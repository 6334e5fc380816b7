"""Work shared among processes: the same answer as from one, errors as errors, and no process that stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kernlens
from tests.processes import ASLEEP, PATIENCE, have_ended

PACKAGE = str(Path(kernlens.__file__).parents[1])
PROGRAM = """
import os, signal, sys, time
from kernlens.cli import shares
from kernlens.errors import FormatError
shares.processors = lambda: {processors}

def answer(items, threads):
    for item in items:
        yield from {answer}

try:
    for piece in shares.in_shares(range(40), [shares.LEAST] * 40, answer):
        print(piece, flush=True)
except Exception as error:
    print(type(error).__name__, error)
"""


def run(answer: str, processors: int = 3, *, before: str = "", after: str = "") -> list[str]:
    program = before + PROGRAM.format(answer=answer, processors=processors) + after
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_the_order_stays() -> None:
    pieces = run("[(item, 'x' * 100_000)][:1]")
    assert [piece[:4] for piece in pieces] == [f"({item}, "[:4] for item in range(40)]
    assert pieces == run("[(item, 'x' * 100_000)][:1]", processors=1)


def test_more_than_one_process_answers() -> None:
    assert len(set(run("[os.getpid()]"))) == 3
    assert len(set(run("[os.getpid()]", processors=1))) == 1


@pytest.mark.parametrize("processors", [1, 3])
def test_an_error_comes_where_it_is_met(processors: int) -> None:
    answer = "[item] if item < 30 else (_ for _ in ()).throw(FormatError('bad', format='elf', offset=3))"
    assert run(answer, processors) == [*map(str, range(30)), "FormatError elf, offset 0x3: bad"]


def test_a_worker_that_is_killed_is_an_error() -> None:
    answer = "[item] if item < 20 else os.kill(os.getpid(), signal.SIGKILL)"
    assert run(answer)[-1] == "ToolError a worker process ended early (SIGKILL)"


def test_a_worker_does_not_do_what_its_parent_does_on_a_signal() -> None:
    """It would go on, or clean up, as if it were the parent."""
    before = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: print('handled', flush=True))\n"
    answer = "[item] if item < 20 else [os.kill(os.getpid(), signal.SIGTERM)]"
    lines = run(answer, before=before)
    assert lines[-1] == "ToolError a worker process ended early (SIGTERM)"
    assert "handled" not in lines


def test_after_an_error_no_process_is_left() -> None:
    """Neither running nor as a zombie."""
    after = "try:\n    print(os.waitpid(-1, os.WNOHANG))\nexcept ChildProcessError:\n    print('none')\n"
    answer = f"[time.sleep({ASLEEP})] if item > 13 else 1 / 0"
    assert run(answer, after=after) == ["ZeroDivisionError division by zero", "none"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_workers_end_with_their_parent(number: signal.Signals, tmp_path: Path) -> None:
    """All processes hold a pipe open for writing; its end comes when the last of them is gone."""
    reading, writing = os.pipe()
    # Many short sleeps: Python misses a signal that comes right before a system call until that has returned.
    told, asleep = f"os.write({writing}, b'%d\\n' % os.getpid())", f"[time.sleep(0.1) for _ in range({ASLEEP} * 10)]"
    program = PROGRAM.format(answer=f"[{told}, {asleep}]", processors=3)
    environment = {**os.environ, "PYTHONPATH": PACKAGE, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", program], pass_fds=[writing], env=environment, stderr=subprocess.DEVNULL
    )
    os.close(writing)
    processes: list[int] = []
    with os.fdopen(reading, "rb") as pipe:
        try:
            for _ in range(3):
                processes.append(int(pipe.readline()))
            process.send_signal(number)
            process.wait(PATIENCE)
            assert have_ended(processes)
            os.set_blocking(reading, False)
            assert pipe.read() == b""  # None, if any other process held it.
            assert list(tmp_path.iterdir()) == []
        finally:
            process.kill()
            process.wait()
            have_ended(processes, 0)
