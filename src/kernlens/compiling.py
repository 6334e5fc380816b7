"""Compile sources for devices and open what comes of it: ``kernlens.compile`` and the verb of that name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens.errors import ToolError
from kernlens.isa.devices import device
from kernlens.loading import open_bytes
from kernlens.loading.context import Surroundings
from kernlens.loading.decoding import decode_kernels
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program, Source
from kernlens.toolchain.includes import existing_source
from kernlens.toolchain.ocloc import TIMEOUT, OclocResult, check_device
from kernlens.toolchain.parallel_compiles import CompileJob, compile_many
from kernlens.toolchain.toolchains import SYSTEM
from kernlens.toolchain.toolchains import toolchain as find_toolchain

if TYPE_CHECKING:
    import os

#: Called with programs done, programs in all, and the newest result.
Progress = Callable[[int, int, OclocResult], None]


@dataclass(frozen=True)
class Build:
    """One source compiled for one device: the compiler's result and, if it compiled, the programs in its binary."""

    result: OclocResult

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        result = self.result
        if not result.ok:
            return ()
        around = Surroundings(
            device=device(result.device),
            folder=str(result.source.parent),
            toolchain=result.toolchain.title,
            build_options=result.options,
            build_log=result.log,
            debug=memoryview(result.debug),
            spirv=memoryview(result.spirv),
            sources=tuple(Source(path, text, "disk") for path, text in result.sources),
        )
        return open_bytes(memoryview(result.binary), str(result.source), around).programs

    @cached_property
    def kernels(self) -> list[Kernel]:
        """The kernels of all programs, decoded."""
        decode_kernels([(program, list(program.kernels.values())) for program in self.programs])
        return [kernel for program in self.programs for kernel in program.kernels.values()]


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
) -> Iterator[Build]:
    """Compile every source for every device, in parallel, and give each Build as it finishes.

    With ``recording`` each is saved there before it is given. Raises NotFoundError for a source, device or toolchain
    that does not exist before anything is compiled; a source that does not compile gives a Build that is not ``ok``.
    """
    from kernlens.recording.compiled import program_entry
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
    with writer or nullcontext():
        for result in compile_many(jobs, workers, on_progress):
            if writer is not None:
                writer.add(program_entry(result))
            yield Build(result)


def compile(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    devices: str | Sequence[str],
    *,
    options: str = "-gline-tables-only",
    toolchain: str = SYSTEM,
    recording: Path | None = None,
) -> list[Program]:
    """Compile one or several sources (OpenCL C or SPIR-V) for one or several devices; a Program for each.

    Raises ToolError, with the compiler's log, if one does not compile, and NotFoundError for what does not exist.
    """
    names = [devices] if isinstance(devices, str) else list(devices)
    paths = list(sources) if isinstance(sources, Sequence) and not isinstance(sources, str) else [sources]
    programs: list[Program] = []
    for one in build(paths, names, options=options, toolchain=toolchain, recording=recording):
        if not one.result.ok:
            result = one.result
            raise ToolError(
                f"{result.source} does not compile for {result.device}: {result.reason}",
                command=result.command,
                log=result.log,
            )
        programs += one.programs
    return programs
