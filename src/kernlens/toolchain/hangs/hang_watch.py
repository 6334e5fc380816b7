"""Name the calls of an application into a simulated driver that do not return.

Enqueued work completes without being computed, yet a driver may wait for ever for what only a real device would write. A
process of its own, neither parent nor child of the application, looks at it from time to time: at the threads of all its
processes that have the driver loaded. A call that a thread is in at every look for the whole time is told once.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.toolchain.hangs.driver_calls import DRIVERS, DriverCall, Process

#: How often a call must be seen, and that no build is: those may take long.
LOOKS = 6
WAITS = re.compile(r"cl(?!BuildProgram|CompileProgram|LinkProgram)|ze.*Synchronize$|zeCommand")
_PR_SET_PTRACER = 0x59616D61
# Of a thread that sleeps in another system call a look might change the result (EINTR): futex, sched_yield, nanosleep.
_HARMLESS = {"running", "202", "24", "35", "230"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A call, since when (by the monotonic clock) and how often it was seen."""

    call: DriverCall
    since: float
    looks: int
    told: bool


class HangWatch:
    """The calls of all threads that were seen at the last look, by process and thread."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: dict[tuple[int, int], Seen] = {}

    def update(self, calls: dict[tuple[int, int], DriverCall], now: float) -> Iterator[tuple[int, int, DriverCall]]:
        """Take what a look has seen; yield the process, the thread and the call of each that has not returned in time."""
        seen: dict[tuple[int, int], Seen] = {}
        for thread, call in calls.items():
            before = self._seen.get(thread)
            if not WAITS.match(call.function):
                continue
            if before is None or before.call != call:
                seen[thread] = Seen(call, now, 1, False)
                continue
            late = now - before.since >= self._seconds and before.looks + 1 >= LOOKS
            seen[thread] = Seen(call, before.since, before.looks + 1, before.told or late)
            if late and not before.told:
                yield (*thread, call)
        self._seen = seen


def can_watch() -> bool:
    """Tell whether calls can be named here: on Linux, x86-64."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and hasattr(os, "pidfd_open")


def watch_this_process(seconds: float, tell: Callable[[str], None], end_it: bool) -> None:
    """Start a process that watches this one, whatever program it becomes, and all that it starts, until it ends.

    ``tell`` is called there with a sentence for each call that has not returned after ``seconds``; if ``end_it``, the
    process that made the call is then killed.
    """
    application = os.getpid()
    reading, writing = os.pipe()
    # Twice, so that the application gets no child that it did not start.
    between = os.fork()
    if between == 0:
        watcher = os.fork()
        if watcher != 0:
            with os.fdopen(writing, "w") as pipe:
                pipe.write(str(watcher))
            os._exit(0)
        try:
            _become_watcher()
            _watch(application, seconds, tell, end_it)
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(between, 0)
    with os.fdopen(reading) as pipe:
        watcher = int(pipe.read())
    # Where Linux lets only parents look (Yama): this process names who else may. The option outlives execve().
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(watcher), 0, 0, 0)


def _become_watcher() -> None:
    """Leave the terminal's signals, the folder and the open files but standard error to the application."""
    os.setsid()
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _watch(application: int, seconds: float, tell: Callable[[str], None], end_it: bool) -> None:
    ended = select.poll()
    ended.register(os.pidfd_open(application), select.POLLIN)
    watch = HangWatch(seconds)
    while not ended.poll(1000 * seconds / LOOKS):
        for process, thread, call in watch.update(_calls(application), time.monotonic()):
            tell(sentence(process, thread, call, seconds, end_it))
            if end_it:
                os.kill(process, signal.SIGKILL)


def sentence(process: int, thread: int, call: DriverCall, seconds: float, ended: bool) -> str:
    """What is told of a call that does not return, and what can be done."""
    then = (
        "The process is killed"
        if ended
        else f"kill {process} ends it (--kill-hanging does so by itself, --hang-timeout sets the time, 0 for none)"
    )
    return (
        f"process {process} ({_name(process)}), thread {thread}: {call.function} has not returned for {seconds:g} s"
        f" (in {call.library}). The simulated device may never write what the driver waits for, or the application"
        f" waits for an event of its own. {then}; another device or toolchain may not wait: kernlens devices"
    )


def _name(process: int) -> str:
    try:
        with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "it has ended"


def _calls(application: int) -> dict[tuple[int, int], DriverCall]:
    """The calls that the application's threads are in, by process and thread."""
    found = {}
    for number in _family(application):
        try:
            process = Process(number)
        except OSError as error:
            log.debug("toolchain", "process %d cannot be looked at: %s", number, error)
            continue
        try:
            mapped = process.mapped()
            if any(DRIVERS.search(path) for _, _, path in mapped):
                for thread in map(int, os.listdir(f"/proc/{number}/task")):
                    call = process.call_of(thread, mapped) if _may_be_stopped(number, thread) else None
                    if call is not None:
                        found[number, thread] = call
        except OSError:
            pass  # It has ended meanwhile.
        finally:
            process.close()
    return found


def _may_be_stopped(process: int, thread: int) -> bool:
    with open(f"/proc/{process}/task/{thread}/syscall", encoding="ascii") as file:
        return file.read().split(maxsplit=1)[0] in _HARMLESS


def _family(first: int) -> list[int]:
    """A process and all that it started, directly or not, and that still have their parents."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue  # It has ended meanwhile.
    found = [first]
    for number in found:
        found += [child for child, parent in parents.items() if parent == number]
    return found
