"""The run of an application as a child process like this one: same output, signals, terminal and way to end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Set

from kernlens.dataclass import dataclass
from kernlens.toolchain.loaders.application import Application

#: Signals that stay with this process: those that cannot be held back, those that stop and continue a job (the terminal
#: sends them to the whole job, so this process stops with the application), and those of its own faults.
_OWN = {"KILL", "STOP", "CHLD", "TSTP", "TTIN", "TTOU", "CONT", "SEGV", "BUS", "FPE", "ILL", "SYS", "TRAP", "ABRT"}
#: Seconds after which the application is looked at again if no signal comes: a process with other threads may not get it.
_PAUSE = 1.0
#: Seconds after which it is looked at first; what it has loaded is seen in its first moments, too.
_FIRST_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of an application: its exit status, negative if a signal has ended it, and its process's number."""

    status: int
    process: int


def run(application: Application, prepare: Callable[[], None], look: Callable[[int], None]) -> Ended:
    """Run the application, and return how it ended.

    ``prepare`` is called in the child process before it becomes the application, ``look`` now and then, with its number,
    while it runs. A signal that somebody sends to this process goes to the application; those of the terminal reach it
    anyway. If the application stops, so does this process.
    Raises ToolError if it cannot be started.
    """
    if threading.current_thread() is not threading.main_thread():
        child = _start(application, prepare)
        return Ended(child.wait(), child.pid)
    passed_on = {number for number in signal.valid_signals() if _name(number) not in _OWN}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, passed_on | {signal.SIGCHLD})

    def prepare_child() -> None:
        prepare()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        child = _start(application, prepare_child)
        status = _accompany(child, passed_on | {signal.SIGCHLD}, look)
        _drop_shared(passed_on, status)
        return Ended(status, child.pid)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return str(number)  # a real-time signal


def _start(application: Application, prepare: Callable[[], None]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            application.words,
            executable=application.executable,
            env=application.environment,
            close_fds=False,
            preexec_fn=prepare,
        )
    except OSError as error:
        raise application.not_started(error) from error


def _accompany(child: subprocess.Popen[bytes], signals: set[int], look: Callable[[int], None]) -> int:
    pause = _FIRST_PAUSE
    while True:
        arrived = signal.sigtimedwait(signals, pause)
        pause = min(pause * 1.5, _PAUSE)
        look(child.pid)
        number, status = os.waitpid(child.pid, os.WNOHANG | os.WUNTRACED)
        if number and os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(child.pid, signal.SIGCONT)
        elif number:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode
        elif arrived is not None and arrived.si_signo != signal.SIGCHLD and not _is_of_the_terminal(arrived, child.pid):
            os.kill(child.pid, arrived.si_signo)


def _drop_shared(signals: Set[int], status: int) -> None:
    """Drop the signals that came while the application ended, and were for it as well: what it built is still to be kept."""
    others = []
    while (arrived := signal.sigtimedwait(signals, 0)) is not None:
        if arrived.si_code <= 0 and arrived.si_signo != -status:
            others.append(arrived.si_signo)
    for number in others:
        os.kill(os.getpid(), number)


def _is_of_the_terminal(arrived: signal.struct_siginfo, child: int) -> bool:
    """Return whether the kernel sent the signal, and to the application as well."""
    return arrived.si_code > 0 and os.getpgid(child) == os.getpgrp()
