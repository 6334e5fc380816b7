"""A program at every stage of its compile: ``kernlens.stages`` and the verb of that name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from kernlens.errors import NotFoundError, OutputError, ToolError
from kernlens.model.line_choice import LineChoice
from kernlens.model.source_path import end_alike
from kernlens.model.stage import CompileRun, Snapshot, choose
from kernlens.model.stage_map import ProgramLine, StageMap
from kernlens.toolchain.toolchains import SYSTEM

if TYPE_CHECKING:
    from kernlens.model.program import Program
    from kernlens.recording.reader import RecordedProgram
    from kernlens.recording.writer import ProgramEntry

#: Build options that give every stage its line marks.
LINE_OPTIONS = "-gline-tables-only"


@dataclass(frozen=True)
class Pipeline(Sequence[Snapshot]):
    """The snapshots of one compile, in pipeline order, and the compile that they come from."""

    run: CompileRun
    snapshots: tuple[Snapshot, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.snapshots)

    @overload
    def __getitem__(self, index: int) -> Snapshot: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Snapshot, ...]: ...
    def __getitem__(self, index: int | slice) -> Snapshot | tuple[Snapshot, ...]:
        return self.snapshots[index]

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.snapshots)

    def choose(self, stage: str, kernel: str | None = None, form: str | None = None) -> tuple[Snapshot, ...]:
        """The snapshots of one stage (see ``model.stage.choose``): one, or one per kernel."""
        return choose(self.snapshots, stage, kernel, form)

    @cached_property
    def _is_gpu(self) -> bool:
        from kernlens.loading.identify import identify

        return identify(memoryview(self.run.binary)) in _GPU_BINARIES

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """The programs in the binary, or that of the SPIR-V if there is none, with these snapshots; empty if the
        compiler is not one of Intel's for GPUs."""
        from kernlens.loading import open_bytes
        from kernlens.loading.context import Surroundings
        from kernlens.model.program import Source

        run = self.run
        content = run.binary if self._is_gpu else run.spirv
        if not content:
            return ()
        around = Surroundings(
            folder=os.path.dirname(run.source) or ".",
            toolchain=", ".join(run.versions),
            build_options=run.options,
            build_log=run.log,
            debug=memoryview(run.debug),
            spirv=memoryview(run.spirv),
            sources=tuple(Source(path, text, "disk") for path, text in run.sources),
            find_snapshots=lambda: self.snapshots,
        )
        return open_bytes(memoryview(content), run.source, around).programs

    @cached_property
    def stage_maps(self) -> tuple[StageMap, ...]:
        """The source map of each stage that has one; the machine code's come last."""
        from kernlens.loading.stage_maps import stage_maps, under_name

        found = stage_maps(self.snapshots, [one for one in self.programs if one.kernels])
        return tuple(under_name(one, self.run.source) for one in found)

    def line(self, line: int, path: str | None = None) -> ProgramLine:
        """One source line, followed through all stages: ``pipeline.line(42).stages``."""
        return ProgramLine(LineChoice(path, line), self.stage_maps)

    def source_text(self, path: str, line: int) -> str | None:
        """The text of a source line; None if it is not at hand."""
        for name, text in self.run.sources:
            if end_alike(name, path):
                lines = text.split("\n")
                return lines[line - 1] if 1 <= line <= len(lines) else None
        return None

    def entry(self) -> ProgramEntry:
        """As a recording holds it. Text forms that another tool makes are made now; those that cannot be are left
        out, as are failed snapshots."""
        from kernlens.recording.writer import ProgramEntry, RecordedToolchain, SnapshotEntry

        run = self.run
        kept = []
        for one in self.snapshots:
            try:
                kept.append(SnapshotEntry(one.stage, one.form, one.ending, one.content, one.kernel or "", one.attempt))
            except (ToolError, OutputError, OSError):
                continue
        return ProgramEntry(
            name=Path(run.source).stem,
            device=run.device,
            toolchain=RecordedToolchain(run.toolchain or ", ".join(run.versions), run.neo_version, run.igc_version),
            options=run.options,
            ok=run.ok,
            reason=run.reason or "",
            log=run.log,
            seconds=run.seconds,
            command=run.command,
            # A reader of recordings takes a binary for one of Intel's GPU compilers.
            binary=run.binary if self._is_gpu else b"",
            debug=run.debug,
            spirv=run.spirv,
            sources=run.sources,
            snapshots=tuple(kept),
        )


_GPU_BINARIES = frozenset({"ar", "neo-elf", "zebin", "patch-tokens"})


def stages(
    source: str | os.PathLike[str],
    device: str,
    *,
    options: str = LINE_OPTIONS,
    toolchain: str = SYSTEM,
    all_passes: bool = False,
    recording: str | os.PathLike[str] | None = None,
) -> Pipeline:
    """Compile ``source`` (OpenCL C; for a GPU also SPIR-V) for ``device`` and keep the program at every stage.

    ``device`` is a GPU as ocloc names it, ``pocl``, ``intel-cpu``, or ``spirv`` (clang and llvm-spirv, for no device).
    ``all_passes`` keeps the LLVM IR after each pass too (Intel's GPU compiler). With ``recording`` all of it is saved
    there as well. Snapshots that could not be made have a ``failure``. Raises ToolError, with the compiler's log, if
    the source does not compile, and NotFoundError for what does not exist.
    """
    pipeline = compile_stages(source, device, options=options, toolchain=toolchain, all_passes=all_passes)
    if recording is not None:
        record(pipeline, Path(recording))
    run = pipeline.run
    if not run.ok:
        message = f"{run.source} does not compile for {device}: {run.reason}"
        raise ToolError(message, command=run.command, log=run.log)
    return pipeline


def compile_stages(
    source: str | os.PathLike[str],
    device: str,
    *,
    options: str = LINE_OPTIONS,
    toolchain: str = SYSTEM,
    all_passes: bool = False,
) -> Pipeline:
    """Like ``stages``; a source that does not compile gives a run that is not ``ok`` and the stages that it got to."""
    from kernlens.errors import UnsupportedError
    from kernlens.pipeline import clang_spirv as clang_stages
    from kernlens.pipeline import cpu_runtime as cpu_runtime_stages
    from kernlens.pipeline import igc as igc_stages
    from kernlens.pipeline import pocl as pocl_stages
    from kernlens.toolchain.toolchains import toolchain as find_toolchain

    path = Path(source)
    other = next((one for one in (pocl_stages, cpu_runtime_stages, clang_stages) if device == one.DEVICE), None)
    if other is not None:
        if all_passes:
            raise UnsupportedError(f"the compiler for {device} does not show its single passes; leave --all-passes out")
        return Pipeline(*other.snapshots(path, options))
    return Pipeline(*igc_stages.snapshots(path, device, options, find_toolchain(toolchain), all_passes))


def record(pipeline: Pipeline, path: Path, command_line: Sequence[str] = ()) -> None:
    """Save the compile and its snapshots as a recording; one that exists there is replaced."""
    from kernlens.recording.writer import RecordingWriter

    with RecordingWriter(path, command_line=command_line, overwrite=True) as writer:
        writer.add(pipeline.entry())


def recorded_pipelines(path: str | os.PathLike[str]) -> list[Pipeline]:
    """The programs of a recording that hold snapshots. Raises NotFoundError, with what to do, if none does."""
    from kernlens.recording.reader import Recording

    with Recording(os.fspath(path)) as recording:
        found = [_recorded(program) for program in recording.programs() if program.snapshots]
    if not found:
        raise NotFoundError(
            f"{os.fspath(path)} holds no snapshots; make a recording with them: kernlens stages SOURCE --device D -o FILE"
        )
    return found


def _recorded(program: RecordedProgram) -> Pipeline:
    from kernlens.recording.recorded_snapshots import recorded_snapshots

    chosen = program.toolchain
    run = CompileRun(
        source=program.sources[0][0] if program.sources else program.name,
        device=program.device,
        options=program.options,
        command=program.command,
        versions=(chosen.title,) if chosen is not None else (),
        ok=program.ok,
        reason=program.reason,
        log=program.log,
        seconds=program.seconds,
        binary=program.binary,
        debug=program.debug,
        spirv=program.spirv,
        sources=program.sources,
    )
    return Pipeline(run, recorded_snapshots(program))
