"""Compile many sources at once: threads drive child processes, and give each result as it finishes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, ToolError
from kernlens.model.build import Build, HeldParts
from kernlens.toolchain.ocloc import TIMEOUT, compile_source
from kernlens.toolchain.process import Child
from kernlens.toolchain.toolchains import Toolchain

#: Seconds that the main thread waits without looking whether a signal came.
_LONGEST_WAIT = 0.5


@dataclass(frozen=True, slots=True)
class CompileJob:
    """A compile to do; the fields are ``compile_source``'s arguments."""

    source: Path
    device: str
    toolchain: Toolchain
    options: str = ""
    timeout: float = TIMEOUT


class _Running:
    """Keeps the children that run now, so that all can be ended when the caller stops taking results."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: set[Child] = set()
        self._stopped = False

    def compile(self, job: CompileJob) -> Build:
        children: list[Child] = []

        def on_start(child: Child) -> None:
            with self._lock:
                children.append(child)
                self._children.add(child)
                if self._stopped:
                    child.kill()

        if self._stopped:
            raise CancelledError
        try:
            return compile_source(job.source, job.device, job.options, job.toolchain, job.timeout, on_start)
        except KernlensError as error:
            return _failed(job, error)
        finally:
            with self._lock:
                self._children.difference_update(children)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for child in self._children:
                child.kill()


def _failed(job: CompileJob, error: KernlensError) -> Build:
    """Return the Build of a job that could not be compiled at all, as for a failed compile, so that the rest goes on."""
    command, log = (error.command or "", error.log) if isinstance(error, ToolError) else ("", "")
    return Build(
        name=job.source.stem,
        device=job.device,
        toolchain=job.toolchain.of_build,
        options=job.options,
        command=command,
        ok=False,
        reason=str(error),
        path=str(job.source),
        parts=HeldParts(log=log),
    )


def compile_many(
    jobs: Iterable[CompileJob], workers: int | None = None, on_progress: Callable[[int, int, Build], None] | None = None
) -> Iterator[Build]:
    """Compile all ``jobs``, ``workers`` at a time (None: one per processor), and give each result as it finishes.

    A job that fails for any reason gives a Build that is not ``ok``, with its ``reason``. ``on_progress(count, total,
    build)`` is called in the caller's thread before each result is given. When the caller stops early, running
    compiles are ended and waiting ones dropped.
    """
    waiting = list(jobs)
    running = _Running()
    pool = ThreadPoolExecutor(max_workers=max(workers or os.cpu_count() or 1, 1), thread_name_prefix="compile")
    futures: list[Future[Build]] = [pool.submit(running.compile, job) for job in waiting]
    count = 0
    try:
        pending = set(futures)
        while pending:
            # A signal that comes just before a wait begins is obeyed when the wait ends: none may last long.
            done, pending = wait(pending, _LONGEST_WAIT, FIRST_COMPLETED)
            for future in done:
                result = future.result()
                count += 1
                if on_progress is not None:
                    on_progress(count, len(waiting), result)
                yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        running.stop()
        pool.shutdown(wait=True)
