"""SIGTERM, SIGHUP, SIGQUIT and Ctrl-C during a compile: the compiler ends, folders go, and the status tells the signal."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

import kernlens
from kernlens.cli.signals import ENDING, EndedBySignal, signals_that_unwind
from tests.processes import ASLEEP, PATIENCE, have_ended
from tests.writers.programs import SOURCE, write_compiler

MAIN = [sys.executable, "-c", "from kernlens.cli.main import main; main()"]
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
#: A compile that has a grandchild and does not end; both hold the pipe WITNESS open for writing.
SLOW = f'sh -c "echo \\$\\$ >&3; exec sleep {ASLEEP}" & echo $$ >&3; wait ;;'


@pytest.fixture
def slow(tmp_path: Path) -> tuple[dict[str, str], Path]:
    """An environment with a compiler that never ends, and a pipe that its processes hold open."""
    script = write_compiler(tmp_path / "compiler")
    witness = tmp_path / "witness"
    os.mkfifo(witness)
    text = script.read_text()
    script.write_text(text.replace("  compile*)\n", f'  compile*)\n    exec 3> "{witness}"\n    {SLOW}\n  never*)\n'))
    (tmp_path / "folders").mkdir()
    (tmp_path / "good.cl").write_text(SOURCE)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    package = str(Path(kernlens.__file__).parents[1])  # The folder changes, and PYTHONPATH may be relative.
    variables = {
        "PYTHONPATH": package,
        "PATH": path,
        "TMPDIR": str(tmp_path / "folders"),
        "KERNLENS_TOOLCHAINS": str(tmp_path / "none"),
    }
    return {**os.environ, **variables}, witness


WORDS = {
    "compile": ("compile", "good.cl", "--device", "skl,icllp", "-o", "x.klens", "--jobs", "2"),
    "stages": ("stages", "good.cl", "--device", "skl"),
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", WORDS)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_during_a_compile(
    number: signal.Signals, verb: str, slow: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    environment, witness = slow
    process = subprocess.Popen(
        [*MAIN, *WORDS[verb]],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    # The end of the pipe comes when the last process of all compilers is gone.
    with killed_at_last(process) as compilers, opened_by_a_compiler(witness, process) as pipe:
        for _ in range(4 if verb == "compile" else 2):
            compilers.append(int(pipe.readline()))
        assert any((tmp_path / "folders").iterdir())
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        assert have_ended(compilers)
        os.set_blocking(pipe.fileno(), False)
        assert pipe.read() == b""  # None, if any other process held it.
    assert list((tmp_path / "folders").iterdir()) == []
    assert not list(tmp_path.glob(".*.partial*"))
    assert not list(tmp_path.glob("core*"))
    assert out == b""
    if number == signal.SIGINT:
        assert (process.returncode, err) == (130, b"kernlens: interrupted\n")
    else:
        assert (process.returncode, err) == (-number, b"")


def opened_by_a_compiler(witness: Path, process: subprocess.Popen[bytes]) -> IO[bytes]:
    """The pipe, when the first compiler has written into it; to open it would wait for ever if none is ever started."""
    pipe = os.open(witness, os.O_RDONLY | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while not poll.poll(100):
        assert process.poll() is None, process.communicate()
    os.set_blocking(pipe, True)
    return os.fdopen(pipe, "rb")


@contextlib.contextmanager
def killed_at_last(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Whatever comes of a test, this process ends with it, and so do those whose numbers are put into the list."""
    others: list[int] = []
    try:
        yield others
    finally:
        process.kill()
        process.communicate()
        have_ended(others, 0)


@pytest.mark.parametrize("number", ENDING, ids=lambda number: signal.Signals(number).name)
def test_the_second_signal_does_not_break_off_what_the_first_began(number: int) -> None:
    steps = []

    def work() -> None:
        try:
            os.kill(os.getpid(), number)
        finally:
            for other in ENDING:
                os.kill(os.getpid(), other)
            steps.append("cleaned up")

    with pytest.raises(EndedBySignal) as ended, signals_that_unwind():
        work()
    assert (ended.value.number, steps) == (number, ["cleaned up"])
    assert all(signal.getsignal(other) == signal.SIG_DFL for other in ENDING)


def test_what_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """nohup has a command outlive its terminal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_that_unwind():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_threads_cannot_catch_signals_and_do_not_try() -> None:
    caught = []

    def run() -> None:
        with signals_that_unwind():
            caught.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert caught == [signal.SIG_DFL]
