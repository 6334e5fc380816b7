"""Compile sources for devices and open the resulting programs: ``kernlens.compile`` and the verb of that name."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens.errors import ToolError
from kernlens.loading import open_build
from kernlens.loading.decoding import decode_kernels
from kernlens.model.build import Build
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.toolchain.includes import existing_source, join_options
from kernlens.toolchain.ocloc import TIMEOUT, check_device
from kernlens.toolchain.parallel_compiles import CompileJob, compile_many
from kernlens.toolchain.toolchains import SYSTEM
from kernlens.toolchain.toolchains import toolchain as find_toolchain

if TYPE_CHECKING:
    import os

#: Called with the number of finished builds, the number of all builds, and the newest one.
Progress = Callable[[int, int, Build], None]


def build(
    sources: Sequence[str | os.PathLike[str]],
    devices: Sequence[str],
    *,
    options: str = "",
    toolchain: str = SYSTEM,
    recording: Path | None = None,
    redact_source: bool = False,
    workers: int | None = None,
    timeout: float = TIMEOUT,
    on_progress: Progress | None = None,
    command_line: Sequence[str] = (),
) -> Generator[Build]:
    """Compile every source for every device, in parallel, and yield each Build as it finishes.

    With ``recording`` each is saved there before it is yielded, but as long as no build was ok, nothing is written: a
    recording that was there stays as it was. Raises NotFoundError for a source, device or toolchain
    that does not exist before anything is compiled; a source that does not compile gives a Build that is not ``ok``.
    """
    from kernlens.recording.writer import RecordingWriter

    chosen = find_toolchain(toolchain)
    for name in devices:
        check_device(name, chosen)
    for source in sources:
        existing_source(source)
    jobs = [CompileJob(Path(source), name, chosen, options, timeout) for source in sources for name in devices]
    writer = (
        RecordingWriter(recording, command_line=command_line, redact_source=redact_source, overwrite=True)
        if recording is not None
        else None
    )
    waiting: list[Build] = []
    any_ok = False
    with writer or nullcontext():
        for result in compile_many(jobs, workers, on_progress):
            waiting.append(result)
            any_ok = any_ok or result.ok
            while writer is not None and any_ok and waiting:
                writer.add(waiting.pop(0))
            yield result


def compile(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    devices: str | Sequence[str],
    *,
    options: str | Sequence[str] = "-gline-tables-only",
    toolchain: str = SYSTEM,
    recording: Path | None = None,
) -> list[Program]:
    """Compile sources (OpenCL C or SPIR-V) for devices, one or several of each, and return the Programs.

    ``options`` are one string, or words: ``["-cl-fast-relaxed-math", "-I", "/with spaces"]``.

    Raises ToolError, with the compiler's log, if one does not compile, and NotFoundError for what does not exist.
    """
    names = [devices] if isinstance(devices, str) else list(devices)
    paths = list(sources) if isinstance(sources, Sequence) and not isinstance(sources, str) else [sources]
    programs: list[Program] = []
    for result in build(paths, names, options=join_options(options), toolchain=toolchain, recording=recording):
        if not result.ok:
            raise ToolError(result.failure, command=result.command, log=result.log)
        programs += open_build(result)
    return programs


def compiled_kernels(compiled: Build) -> list[Kernel]:
    """Return the decoded kernels of a build's programs; none if the build failed."""
    programs = open_build(compiled) if compiled.ok else ()
    decode_kernels([(program, list(program.kernels.values())) for program in programs])
    return [kernel for program in programs for kernel in program.kernels.values()]
