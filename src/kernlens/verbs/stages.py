"""The stages of a program's compile: ``kernlens.stages`` and the verb of that name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens.dataclass import replace
from kernlens.errors import (
    AmbiguousKernelError,
    KernlensError,
    NoDeviceError,
    NotFoundError,
    ToolError,
    UnsupportedError,
)
from kernlens.isa.devices import ALL
from kernlens.loading.identify import kind_of
from kernlens.model.build import Build, HeldParts
from kernlens.model.program import Program
from kernlens.model.stage import Attempts, Snapshot, of_kernel
from kernlens.model.stages import OTHER_DEVICES, POCL
from kernlens.pipeline.compile_stages import Pipeline, compile_stages
from kernlens.toolchain.sources.includes import join_options, with_lines
from kernlens.toolchain.sources.source_settings import settings_for
from kernlens.toolchain.toolchains import DEFAULT
from kernlens.verbs.absent import programs_meant
from kernlens.verbs.targets import target_of

if TYPE_CHECKING:
    from kernlens.analysis.line_passes import LinePass
    from kernlens.model.binary import Container
    from kernlens.model.line_choice import LineChoice
    from kernlens.model.stage_map import StagePart


def stages(
    source: str | os.PathLike[str] | Program,
    device: str | None = None,
    *,
    options: str | Sequence[str] = "",
    lines: bool = True,
    toolchain: str = DEFAULT,
    all_passes: bool = False,
    recording: str | os.PathLike[str] | None = None,
    unconfined: bool = False,
) -> Pipeline:
    """Compile ``source`` (OpenCL C; for a GPU also SPIR-V) for ``device`` and keep the program at every stage. Of a Program,
    return the stages that were kept of its compile; it is compiled again if none were, or ``all_passes`` are missing.

    ``device`` is a GPU as ocloc names it, ``pocl`` or ``intel-cpu``.
    ``options`` are one string, or words; ``lines`` adds -gline-tables-only, by which lines are followed.
    ``all_passes`` keeps the LLVM IR after each pass too (Intel's GPU compiler).
    ``recording`` names a file to save everything in. A snapshot that could not be made has a ``failure``. A Program's own
    device, options and toolchain count where it is compiled again, by a compiler that can read nothing else of this machine
    unless it is ``unconfined``.

    Raises ToolError, with the compiler's log, if the source does not compile, NotFoundError for what does not exist,
    NoDeviceError for a source without a device, and UnsupportedError for a Program that holds nothing to compile again.
    """
    words = join_options(options)
    if isinstance(source, Program):
        if device or words or toolchain:
            raise KernlensError("device, options and toolchain are those of a source; a Program has its own")
        pipeline = _of_opened(source, all_passes=all_passes, unconfined=unconfined)
    elif device is None:
        raise NoDeviceError(
            f"which device is {os.fspath(source)} to be compiled for? name it: kernlens.stages(source, 'dg2')"
        )
    elif (kind := kind_of(os.fspath(source), "source file")[0]) not in (None, "spirv"):
        raise KernlensError(
            f"{os.fspath(source)} is no source but a {kind}; kernlens.stages(program) takes one of the programs in it, which"
            " kernlens.load returns"
        )
    else:
        words = settings_for(source).options(with_lines(words) if lines else words)
        pipeline = compile_stages(source, device, options=words, toolchain=toolchain, all_passes=all_passes)
    if recording is not None:
        record([pipeline], Path(recording))
    build = pipeline.build
    if not build.ok:
        raise ToolError(build.told_failure, command=build.command, log=build.log)
    return pipeline


def _of_opened(program: Program, *, all_passes: bool, unconfined: bool) -> Pipeline:
    from kernlens.pipeline.second_build_of_recording import second_build_of_recording

    snapshots = program.build.snapshots
    if snapshots and (not all_passes or any(snapshot.is_pass for snapshot in snapshots)):
        return Pipeline(program.build)
    return second_build_of_recording(program.build, all_passes=all_passes, unconfined=unconfined)


def stages_in(
    path: str,
    device: str | None,
    *,
    options: str | None = None,
    toolchain: str | None = None,
    all_passes: bool = False,
    unconfined: bool = False,
    kernel: str | None = None,
    program: str | None = None,
    tell: Callable[[str], None],
) -> list[Pipeline]:
    """Return the stages of each program of a recording, or of a source that is compiled for ``device``, which may be ``all``;
    None: the one that ``target_of`` chooses.

    A recording without stages has its sources compiled again, with the recorded options and toolchain where none are given,
    and only those of the programs that hold the ``kernel``, if some do; ``program`` is the name or a pattern of those that are
    wanted;
    ``tell`` gets a sentence on each such compile, and on each program that none can be done for. A source is compiled by the
    default toolchain, for line tables, where nothing else is given. A source that does not compile gives a build that is
    not ``ok``.

    Raises KernlensError for a finished binary, NoDeviceError for a source without a device, and what ``compile_stages`` and
    ``recorded_pipelines`` raise.
    """
    from kernlens.loading.open import open_file

    # If there is none, the compile will say so, and which source it looked for.
    kind = kind_of(path, "source file")[0] if device is None or os.path.lexists(path) else None
    if kind == "recording":
        recorded = _of_program(recorded_pipelines(path, None if device == ALL else device), program, path)
        having = [pipeline for pipeline in recorded if pipeline.snapshots]
        if having and len(having) < len(recorded):
            tell(
                f"{len(recorded) - len(having):,} of {len(recorded):,} builds in {path} hold no stages, and are left out"
            )

        def again(build: Build) -> Pipeline:
            pipeline, sentence = _again(path, build, options, toolchain, all_passes=all_passes, unconfined=unconfined)
            tell(sentence)
            return pipeline

        return having or _those_that_can(again, _holding(path, recorded, kernel), tell)
    if kind == "poclbin":
        programs = open_file(path).programs
        pipelines = [Pipeline(replace(each.build, path=path, device=POCL.device)) for each in programs]
        return _of_program(pipelines, program, path)
    if kind is not None and (kind != "spirv" or device is None) and (beside := _beside(path, kind)):
        return _of_program(beside, program, path)
    device = target_of(path, device, tell)
    name = toolchain or DEFAULT
    devices = [device]
    if device not in OTHER_DEVICES:
        from kernlens.verbs.compile import targets_of

        devices = [own for own, _ in targets_of([device], [name])[0]]
    words = settings_for(path).options(with_lines("") if options is None else options)
    pipelines = [compile_stages(path, own, options=words, toolchain=name, all_passes=all_passes) for own in devices]
    return _of_program(pipelines, program, path)


def _of_program(pipelines: list[Pipeline], pattern: str | None, path: str) -> list[Pipeline]:
    """Return the stages of the programs with this name, or whose names match; None: all."""
    if pattern is None:
        return pipelines
    meant = programs_meant(pattern, {each.build.name for each in pipelines}, path)
    return [each for each in pipelines if each.build.name in meant]


def _again(
    path: str, build: Build, options: str | None, toolchain: str | None, *, all_passes: bool, unconfined: bool
) -> tuple[Pipeline, str]:
    """Return the stages of a recorded build that is compiled again, and a sentence on that."""
    from kernlens.pipeline.second_build_of_recording import is_live_driver_of, second_build_of_recording
    from kernlens.report.describe import recorded_constants

    pipeline = second_build_of_recording(
        build, options=options, toolchain=toolchain, all_passes=all_passes, unconfined=unconfined
    )
    was, now = build.toolchain, pipeline.build.toolchain
    differs = was and now and was.title != now.title and not is_live_driver_of(was, now.neo_version)
    other = f", not with {was.title} as recorded" if was and differs else ""
    return pipeline, (
        f"{path} holds no stages: {build.source or build.name} was compiled again for {build.device} from the"
        " recorded source" + (f", with {now.title}{other}" if now else "") + recorded_constants(build.constants)
    )


def _beside(path: str, kind: str) -> list[Pipeline]:
    """Return the stages that lie beside a program, as in Triton's cache, or those of a library of bitcode. Raises KernlensError
    if a finished binary has none."""
    from kernlens.loading.open import open_file

    contents = open_file(path)
    programs = contents.programs
    beside = _bitcode(path, contents.containers) or [
        Pipeline(replace(build, device=build.device or (program.device.name if program.device else "")))
        for program in programs
        for build in (program.build,)
        if build.snapshots
    ]
    if not beside and kind != "spirv":
        has_spirv = any(program.spirv for program in programs)
        spirv = f", or the SPIR-V that 'kernlens extract {path} -o DIR' finds in it" if has_spirv else ""
        raise KernlensError(
            f"{path} is a finished binary, which contains no stages; compile its source{spirv}: kernlens stages SOURCE"
            " --device D"
        )
    return beside


def _bitcode(path: str, containers: Sequence[Container]) -> list[Pipeline]:
    """Return each module of a file, or an archive, of nothing but LLVM bitcode, with its one stage: the IR."""
    kind = "llvm-bitcode"
    members = {
        path if each is outer else f"{path}({each.name})": each
        for outer in containers
        for each in (outer.children if outer.kind == "ar" else (outer,))
    }
    if any(each.kind != kind for each in members.values()):
        return []
    from kernlens.toolchain.driver_stages import bitcode_stages

    return [
        Pipeline(Build(each.name, "", path=place, parts=HeldParts(snapshots=bitcode_stages(bytes(each.content)))))
        for place, each in members.items()
    ]


def _holding(path: str, recorded: list[Pipeline], kernel: str | None) -> list[Pipeline]:
    """Return the builds whose binaries hold the kernel; all if none does: one that failed, or was left out, may."""
    if kernel is None:
        return recorded
    from kernlens.analysis.kernel_names import matching
    from kernlens.loading.open import open_file

    names = {program.build.name: set(program.kernels.keys()) for program in open_file(path).programs}
    meant = set(matching(kernel, sorted(set().union(*names.values())), parts=False))
    return [each for each in recorded if not meant.isdisjoint(names.get(each.build.name, ()))] or recorded


def _those_that_can(
    again: Callable[[Build], Pipeline], recorded: Iterable[Pipeline], tell: Callable[[str], None]
) -> list[Pipeline]:
    """Return the second builds of all that can be built; of the others ``tell`` gets the reasons. Raises the first of
    these if there is no build at all."""
    pipelines: list[Pipeline] = []
    reasons: list[UnsupportedError] = []
    for pipeline in recorded:
        try:
            pipelines.append(again(pipeline.build))
        except UnsupportedError as error:
            reasons.append(error)
    if reasons and not pipelines:
        raise reasons[0]
    for reason in dict.fromkeys(map(str, reasons)):
        tell(reason)
    return pipelines


def record(pipelines: Sequence[Pipeline], path: Path, command_line: Sequence[str] = ()) -> bool:
    """Save the builds and their snapshots as a recording, which replaces one of that name if a build is ok.

    Returns False if the older one stays.
    """
    from kernlens.recording.writer import RecordingWriter

    with RecordingWriter(path, command_line=command_line, overwrite=True) as writer:
        for pipeline in pipelines:
            writer.add(pipeline.build)
        return writer.is_published


def recorded_pipelines(path: str | os.PathLike[str], device: str | None = None) -> list[Pipeline]:
    """Return the builds of a recording, those for ``device`` if it is given, whether they hold snapshots or not.

    Raises NotFoundError, with the devices that there are, if there is none.
    """
    from kernlens.isa.devices import known_device
    from kernlens.recording.reader import Recording

    builds = Recording(os.fspath(path)).builds()
    known = known_device(device) if device is not None else None
    chosen = [
        Pipeline(build)
        for build in builds
        if device in (None, build.device) or (known is not None and known_device(build.device) == known)
    ]
    if not chosen:
        there = ", ".join(dict.fromkeys(build.device for build in builds))
        addition = f" for {device}; it contains some for {there}" if there else ""
        raise NotFoundError(f"{os.fspath(path)} contains no program{addition}")
    return chosen


def those_with_kernel(pipelines: list[Pipeline], kernel: str | None) -> tuple[list[Pipeline], str | None]:
    """Return the programs whose stages name the kernel, all if none does, and its name there: it may be given as C++ shows
    it, or as a pattern. A part of a name will not do: it can be the whole name of a function, which stages have too. Raises
    AmbiguousKernelError for a pattern of several."""
    from kernlens.analysis.cxx_names import kernel_title
    from kernlens.analysis.kernel_names import matching

    if kernel is None:
        return pipelines, None
    of_each = [{snapshot.kernel for snapshot in pipeline.snapshots if snapshot.kernel} for pipeline in pipelines]
    meant = matching(kernel, sorted({name for names in of_each for name in names}), parts=False)
    if len(meant) > 1:
        raise AmbiguousKernelError(kernel, list(map(kernel_title, meant)))
    shown = meant[0] if meant else kernel
    having = [pipeline for pipeline, names in zip(pipelines, of_each, strict=True) if shown in names]
    return having or pipelines, shown


def snapshots_of_stage(pipeline: Pipeline, stage: str, kernel: str | None, form: str | None) -> tuple[Snapshot, ...]:
    """Return the snapshots of a stage: its text where there is one, unless ``form`` asks for another; of a ``kernel`` only its
    part. Raises NotFoundError if there is no such stage, KernlensError if it has no such form."""
    snapshots = pipeline.choose(stage, kernel, form or "text")
    if form is not None and snapshots[0].form != form:
        raise KernlensError(f"the stage {snapshots[0].stage} has only a {snapshots[0].form} form here, not {form}")
    return tuple(_part_of_kernel(snapshot, kernel) for snapshot in snapshots)


def _part_of_kernel(snapshot: Snapshot, kernel: str | None) -> Snapshot:
    """Return the kernel and what it calls, of a snapshot of the whole program's LLVM IR or SPIR-V."""
    if kernel is None:
        return snapshot
    from kernlens.loading.stage_texts import of_one_kernel

    return of_one_kernel(snapshot, kernel)


def compared_snapshots(
    pipeline: Pipeline, names: tuple[str, str], kernel: str | None
) -> list[tuple[Snapshot, Snapshot]]:
    """Return the pairs to compare of the two stages; a pass alone is compared with the program as the pass found it. Raises
    NotFoundError if there is no such stage or pass, or the two have no kernel in common."""
    from kernlens.analysis.stage_changes import before_pass

    if names[1]:
        before, after = (snapshots_of_stage(pipeline, name, kernel, None) for name in names)
        return _pairs(before, after)
    chosen = pipeline.choose(names[0], kernel, "text")
    if not chosen[0].is_pass:
        raise NotFoundError(f"{names[0]} is not a compiler pass; name a second stage: --diff {names[0]} STAGE")
    pairs = ((before_pass(pipeline.snapshots, snapshot), snapshot) for snapshot in chosen)
    return [(_part_of_kernel(before, kernel), _part_of_kernel(after, kernel)) for before, after in pairs]


def _pairs(before: tuple[Snapshot, ...], after: tuple[Snapshot, ...]) -> list[tuple[Snapshot, Snapshot]]:
    """Return the snapshots in pairs, kernel by kernel and attempt by attempt. A snapshot of the whole program is
    compared with that of each kernel, one that was made only once with that of each attempt."""
    again = Attempts((*before, *after)).stages
    pairs = [
        (snapshot, other)
        for snapshot in before
        for other in after
        if (snapshot.kernel == other.kernel or snapshot.kernel is None or other.kernel is None)
        and (
            snapshot.attempt == other.attempt
            or any(it.kernel is None and it.stage not in again for it in (snapshot, other))
        )
    ]
    if not pairs:
        raise NotFoundError("the two stages have no kernel in common")
    return pairs


def passes_of_one_line(pipeline: Pipeline, choice: LineChoice, kernel: str | None) -> list[LinePass]:
    """Return the passes that changed the line, in the attempt and the functions that count for the kernel."""
    from kernlens.analysis.line_passes import passes_of_line
    from kernlens.loading.stage_maps import pass_lines

    others = set(Attempts(pipeline).kernels) - {kernel} if kernel is not None else set()
    return list(passes_of_line(pass_lines(of_kernel(pipeline.snapshots, kernel)), pipeline.meant_line(choice), others))


def parts_that_count(pipeline: Pipeline, parts: Sequence[StagePart], kernel: str | None) -> Sequence[StagePart]:
    """Return the parts of a line, of the program's stages with several attempts those of the one that counts for the kernel."""
    if kernel is None:
        return parts
    attempts = Attempts(pipeline)
    return [part for part in parts if part.kernel is not None or attempts.counts(part.stage, part.attempt, kernel)]
