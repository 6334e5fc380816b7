"""The compile of a recorded program again, to see its stages: a recording that ``compile`` made holds source and options."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kernlens.errors import UnsupportedError
from kernlens.formats.spirv.specialization import specialized
from kernlens.model.build import Build, BuildToolchain
from kernlens.model.stage import Snapshot
from kernlens.pipeline.compile_stages import Pipeline, compile_stages
from kernlens.toolchain.device_compilers import has_compiler, why_not_compiled
from kernlens.toolchain.foreign_text import foreign_text
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.shown_files import questions_answered
from kernlens.toolchain.sources.includes import include_folders, join_options, split_options
from kernlens.toolchain.sources.recorded_sources import written_sources
from kernlens.toolchain.toolchains import default_toolchain, find_toolchains

#: ``opencl driver 26.27.039122`` and ``level-zero driver 1.3.39122`` are NEO 26.27.39122.
_LIVE = re.compile(r" driver \d+\.\d+\.(\d{4,})$")


def second_build_of_recording(
    build: Build,
    *,
    options: str | None = None,
    toolchain: str | None = None,
    all_passes: bool = False,
    include: Sequence[str] = (),
    unconfined: bool = False,
) -> Pipeline:
    """Compile a recorded build's source, or its SPIR-V if it was made from that, for its device and keep every stage.
    Specialization constants have the values that were recorded.

    ``options`` and ``toolchain`` are the recorded ones if None; instead of a toolchain that is not installed here, the
    system's is taken. The stages name the sources as the recording does. ``include`` are folders whose files the sources
    may include too, although they are not in the recording, as are those of ``-I`` in ``options``. Nothing else of this
    machine can be read by the compiler (``foreign_text``), unless it is ``unconfined``.

    Raises UnsupportedError if the recording does not hold what is needed, or the compiler cannot be confined here, and what
    ``compile_stages`` raises.
    """
    reason = why_not_compiled(build.device)
    if reason is not None:
        raise UnsupportedError(f"the recording contains no stages of {build.name}, and {reason}")
    chosen = toolchain or toolchain_of(build)
    words = options if options is not None else build.options or ""
    named = [folder for folder in map(os.path.abspath, include_folders(options or "")) if os.path.isdir(folder)]
    include = [*map(os.path.realpath, (*include, *named))]
    with foreign_text(include, unconfined=unconfined), temporary_folder() as name:
        folder = os.path.realpath(name)
        if build.parts.source_paths:
            _check_sources(build)
            path, words = written_sources(build.sources, words, Path(folder), include)
            words = join_options([*split_options(words), *(() if unconfined else questions_answered())])
        elif build.spirv:
            path = Path(folder) / f"{build.name.replace('/', '_')}.spv"
            path.write_bytes(specialized(memoryview(build.spirv), build.constants) if build.constants else build.spirv)
        else:
            raise UnsupportedError(f"the recording contains neither source nor SPIR-V of {build.name}")
        compiled = compile_stages(path, build.device, options=words, toolchain=chosen, all_passes=all_passes).build
        compiled = compiled.with_parts(
            log=compiled.log.replace(folder, ""),
            sources=build.sources or compiled.sources,
            snapshots=tuple(_held(snapshot) for snapshot in compiled.snapshots),
        )
    return Pipeline(
        replace(
            compiled,
            name=build.name,
            path=build.source,
            options=options if options is not None else build.options,
            command=compiled.command.replace(folder, ""),
            reason=compiled.reason.replace(folder, "") if compiled.reason else None,
        ),
        written_below=folder,
    )


def _check_sources(build: Build) -> None:
    """Raise UnsupportedError if a text was left out: the compiler would see another program, or none."""
    held = {source.path for source in build.sources}
    missing = [path for path in build.parts.source_paths if path not in held]
    if not missing:
        return
    itself = f"give the source itself: kernlens stages SOURCE --device {build.device}"
    if not held:
        raise UnsupportedError(f"the recording of {build.source} was made without source text; {itself}")
    raise UnsupportedError(f"the recording does not hold {missing[0]}, which {build.source} includes; {itself}")


def toolchain_of(build: Build) -> str:
    """Return the name of the installed toolchain that has the recorded one's versions, else of that name, else the default.
    Of a live build the driver's version alone is recorded: its last number is NEO's, whatever the interface."""
    recorded = build.toolchain
    if recorded is None:
        return default_toolchain()
    installed = [each for each in find_toolchains() if has_compiler(build.device, each)]
    versions = recorded.neo_version, recorded.igc_version
    alike = [each for each in installed if (each.neo_version or "", each.igc_version or "") == versions]
    alike += [each for each in installed if is_live_driver_of(recorded, each.neo_version)]
    named = [each for each in installed if each.name == recorded.name]
    both = [each for each in alike if each in named]
    return next((each.name for each in (*both, *alike, *named)), None) or default_toolchain()


def is_live_driver_of(recorded: BuildToolchain, neo_version: str | None) -> bool:
    """Return whether a live build was recorded with the driver of this version."""
    live = _LIVE.search(recorded.name)
    build = (neo_version or "").rpartition(".")[2].lstrip("0")
    return live is not None and bool(build) and live[1].lstrip("0") == build


def _held(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with its content in memory, as the folder that it was made in goes."""
    if snapshot.failure is None:
        _ = snapshot.content
    return snapshot
