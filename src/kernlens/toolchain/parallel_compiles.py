"""The compiles of many sources at once: threads drive child processes, and give each result as it finishes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import closing
from contextvars import copy_context
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, ToolError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.model.build import Build, HeldParts
from kernlens.processors import processors
from kernlens.toolchain.child import Child
from kernlens.toolchain.compile_cache import CompileCache, packed, unpacked
from kernlens.toolchain.compile_keys import compile_key, folder_key
from kernlens.toolchain.confinement import Children
from kernlens.toolchain.device_compilers import compile_source, is_compiled_by_clang, of_build
from kernlens.toolchain.foreign_text import foreign_text
from kernlens.toolchain.ocloc import TIMEOUT, first_bytes, has_crashed, is_refused
from kernlens.toolchain.sources.includes import include_folders, source_files
from kernlens.toolchain.toolchains import Toolchain

if TYPE_CHECKING:
    from kernlens.toolchain.sources.source_copy import SourceCopy

#: Seconds that the main thread waits without looking whether a signal came.
_LONGEST_WAIT = 0.5

Job = TypeVar("Job")
Result = TypeVar("Result")
#: Called with each child process when it starts.
OnStart = Callable[[Child], None]


@dataclass(frozen=True, slots=True)
class CompileJob:
    """A compile to do; the fields are ``compile_source``'s arguments."""

    source: Path
    device: str
    toolchain: Toolchain
    options: str = ""
    timeout: float = TIMEOUT
    #: Whether somebody else may have written the source: what compiles it can open nothing else.
    is_foreign: bool = False
    #: What the compiler reads in place of ``source``, a file of another machine or revision; a foreign compile sees nothing but
    #: its folder.
    copy: SourceCopy | None = None

    @property
    def key(self) -> str | None:
        """Its ``compile_key``, made anew: the files may be others by now."""
        if self.copy is None:
            return compile_key(self.source, self.device, self.options, self.toolchain)
        # What can read all files of this machine may depend on any.
        if not self.is_foreign:
            return None
        return folder_key(self.copy.folder, self.source, self.device, self.options, self.toolchain)


def compile_job(
    job: CompileJob, cache: CompileCache | None, key: str | None, on_start: OnStart, *, has_sources: bool = True
) -> tuple[Build, bool]:
    """Do a compile, or take from the cache what an equal one yielded, one with this ``key``. A job that fails for any reason
    gives a Build that is not ``ok``, with its ``reason``; ``has_sources`` is ``compile_source``'s. Return whether ``key``
    stands for the build, too: where a file or the compiler was replaced meanwhile, nobody knows which the compile has read.

    Kept is what the compiler made, that it refused a source, that it crashed, and that it did not finish in a time that it had
    the processor for: then for compiles that may take no longer. A compiler that a busy machine let run out of time, or that
    somebody killed, is asked again.
    """
    if cache is None or key is None:
        return _compiled(job, on_start, has_sources)[0], False
    entry = cache.get(key)
    if entry is not None:
        return build_of(job, unpacked(entry), has_sources=has_sources), True
    failure = f"{key}-failed"  # Beside what earlier versions read.
    if (entry := cache.get(failure)) is not None:
        fields = unpacked(entry)
        if fields.pop("limit") >= job.timeout:
            fields["reason"] += f" (kept from an earlier run; rm {cache.path(failure)} has it tried again)"
            return build_of(job, fields, has_sources=has_sources), True
    result, limit = _compiled(job, on_start, has_sources)
    is_steady = job.key == key
    # clang says that it crashed as it says what is wrong with a source.
    if is_steady and limit is not None:
        cache.put(failure, packed(result, limit))
    elif is_steady and (result.ok or (is_refused(result) and not is_compiled_by_clang(job.device))):
        cache.put(key, packed(result))
    return result, is_steady


def _compiled(job: CompileJob, on_start: OnStart, has_sources: bool) -> tuple[Build, float | None]:
    """Return the Build of a job, and the ``limit`` up to which an equal compile fails too; None if that is not known."""
    try:
        shown = [str(job.source)]
        if job.copy is not None:  # The folders elsewhere that it may include from are named by the user.
            shown = [job.copy.folder, *filter(os.path.isabs, include_folders(job.options))]
        with foreign_text(shown, unconfined=not job.is_foreign):
            build = compile_source(
                job.source,
                job.device,
                job.options,
                job.toolchain,
                job.timeout,
                on_start,
                has_sources=has_sources,
                copy=job.copy,
            )
        return build, math.inf if has_crashed(build) else None
    except KernlensError as error:
        command, log = (error.command or "", error.log) if isinstance(error, ToolError) else ("", "")
        failed = replace(_named(job), command=command, ok=False, reason=str(error), parts=HeldParts(log=log))
        return failed, job.timeout if isinstance(error, ToolError) and error.is_slow else None


def build_of(job: CompileJob, fields: dict[str, Any], *, has_sources: bool) -> Build:
    """Return the Build of a job of which ``packed`` has kept these fields."""
    build = replace(_named(job), **fields)
    if not has_sources or job.copy is not None or is_spirv(first_bytes(job.source)):
        return build
    return build.with_parts(sources=source_files(job.source, job.options))


def _named(job: CompileJob) -> Build:
    """Return what is known of a job's Build before it is compiled."""
    folder = "" if job.copy is None else job.copy.folder
    toolchain = of_build(job.device, job.toolchain)
    return Build(job.source.stem, job.device, toolchain, job.options, path=str(job.source), folder=folder)


class _Running(Children):
    """The children that run now, so that all can be ended when the caller stops taking results."""

    def do(self, work: Callable[[Job, OnStart], Result], job: Job) -> Result:
        children: list[Child] = []

        def on_start(child: Child) -> None:
            children.append(child)
            self.add(child)

        if self._stopped:
            raise CancelledError
        try:
            return work(job, on_start)
        finally:
            self.remove(*children)


def do_many(
    jobs: Iterable[Job], work: Callable[[Job, OnStart], Result], workers: int | None = None
) -> Generator[Result]:
    """Do ``work`` on each job, ``workers`` at a time (None: one per processor), and give each result as it finishes.

    ``work`` runs in a thread and calls its second argument with each child process that it starts. A job is taken shortly
    before its turn, and a result forgotten when it is given: there may be any number. When the caller stops early, running
    children are ended and waiting jobs dropped. What ``work`` raises ends it likewise, and is raised here.
    """
    count = max(workers or processors(), 1)
    running = _Running()
    pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="compile")
    waiting = iter(jobs)
    pending: set[Future[Result]] = set()
    try:
        while True:
            # As many again as run, so that no thread waits until the caller comes back.
            pending |= {
                pool.submit(copy_context().run, running.do, work, job)
                for job in islice(waiting, 2 * count - len(pending))
            }
            if not pending:
                return
            # A signal that comes just before a wait begins is obeyed when the wait ends: none may last long.
            done, pending = wait(pending, _LONGEST_WAIT, FIRST_COMPLETED)
            while done:
                yield done.pop().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        running.stop()
        pool.shutdown(wait=True)


def compile_many(
    jobs: Iterable[CompileJob],
    workers: int | None = None,
    on_progress: Callable[[int, int, Build], None] | None = None,
    cache: CompileCache | None = None,
) -> Iterator[tuple[int, Build]]:
    """Compile all ``jobs``, ``workers`` at a time (None: one per processor), and give each result as it finishes, with
    the index of its job. A job that fails for any reason gives a Build that is not ``ok``, with its ``reason``.
    ``on_progress(count, total, build)`` is called in the caller's thread before each result is given. When the caller
    stops early, running compiles are ended and waiting ones dropped."""
    waiting = list(jobs)

    def compiled(numbered: tuple[int, CompileJob], on_start: OnStart) -> tuple[int, Build]:
        index, job = numbered
        return index, compile_job(job, cache, job.key if cache is not None else None, on_start)[0]

    results = do_many(enumerate(waiting), compiled, workers)
    with closing(results):
        for count, (index, result) in enumerate(results, start=1):
            if on_progress is not None:
                on_progress(count, len(waiting), result)
            yield index, result
