"""The compile of sources for devices: ``kernlens.compile`` and the verb of that name."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from types import MappingProxyType

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, ToolError
from kernlens.isa.devices import ALL, name_among, one_of_each
from kernlens.loading import open_build
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.model.build import Build
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.toolchain.compile_cache import CompileCache, open_cache
from kernlens.toolchain.device_compilers import all_of, check_device, devices_of, own_toolchain
from kernlens.toolchain.ocloc import TIMEOUT
from kernlens.toolchain.parallel_compiles import CompileJob, compile_many
from kernlens.toolchain.sources.includes import existing_source, join_options, with_lines
from kernlens.toolchain.sources.source_settings import SourceSettings, settings_for
from kernlens.toolchain.toolchains import DEFAULT, Toolchain
from kernlens.toolchain.toolchains import toolchain as find_toolchain
from kernlens.verbs.compile_images import compilable

#: Called with the number of finished builds, the number of all builds, and the newest one.
Progress = Callable[[int, int, Build], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """The compiles to do, and the (device, toolchain) left out, as only another toolchain compiles for the device."""

    jobs: Sequence[CompileJob]
    left_out: Sequence[tuple[str, str]] = ()


def plan(
    sources: Sequence[str | os.PathLike[str]],
    devices: Sequence[str],
    toolchains: Sequence[str] = (),
    *,
    options: str = "",
    timeout: float = TIMEOUT,
    settings: Callable[[Path], SourceSettings] = settings_for,
    variants: bool = False,
) -> Plan:
    """Return the compiles of every source for every device with every toolchain (none: the default one), with the ``options``
    added to those that its ``settings`` have; ``variants``: with each choice of its macros' values.

    A device is called by any name that ``kernlens.isa.devices`` knows; ``all`` means all that a toolchain compiles for.
    Raises NotFoundError for a source or toolchain that does not exist, and for a device that no toolchain compiles for.
    """
    paths = [existing_source(source) for source in sources]
    targets, left_out = targets_of(devices, toolchains)
    jobs = [
        CompileJob(path, own, chosen, words, timeout)
        for path in paths
        for own_settings in [settings(path)]
        for each in (own_settings.variants(options) if variants else [own_settings])
        for words in [each.options(options)]
        for own, chosen in targets
    ]
    return Plan(jobs, left_out)


def targets_of(
    devices: Sequence[str], toolchains: Sequence[str]
) -> tuple[list[tuple[str, Toolchain]], tuple[tuple[str, str], ...]]:
    """Return the devices, as their toolchains call them, and what a ``Plan`` leaves out. Raises what ``plan`` raises."""
    targets: dict[tuple[str, str], Toolchain] = {}
    left_out: dict[tuple[str, str], NotFoundError] = {}
    named = [find_toolchain(name) for name in dict.fromkeys(toolchains) if name != DEFAULT]
    for name in devices:
        all_chosen = named or [own_toolchain(name)]
        for chosen in all_chosen:
            try:
                names = one_of_each(all_of(chosen)) if name == ALL else [compiler_name(name, chosen)]
            except NotFoundError as error:
                left_out[name, chosen.name] = error
            else:
                targets |= {(own, chosen.name): chosen for own in names}
        refused = [left_out.get((name, chosen.name)) for chosen in all_chosen]
        if refused and refused[0] and all(refused):
            raise refused[0]
    return [(own, chosen) for (own, _), chosen in targets.items()], tuple(left_out)


def compiler_name(name: str, chosen: Toolchain) -> str:
    """Return what the toolchain calls the device that is known by ``name``, such as a product's (``b580``).

    Raises NotFoundError, with the nearest names, if it does not compile for that device.
    """
    own = name_among(name, devices_of(chosen))
    if own is None:
        check_device(name, chosen)
    return own or name


def build(
    jobs: Sequence[CompileJob],
    *,
    recording: Path | None = None,
    redact_source: bool = False,
    workers: int | None = None,
    on_progress: Progress | None = None,
    command_line: Sequence[str] = (),
    titled: Callable[[Build], Build] = lambda build: build,
    cache: CompileCache | None = None,
) -> Generator[tuple[int, Build]]:
    """Do compiles in parallel, and yield each Build as it finishes, as ``titled`` names it, with the index of its job; a source
    that does not compile gives one that is not ``ok``. With ``recording`` each is saved there before it is yielded, in the
    order of the jobs; but as long as no build was ok, nothing is written: a recording that was there stays as it was. What is
    in the ``cache`` is not compiled."""
    from kernlens.recording.writer import RecordingWriter

    writer = (
        RecordingWriter(recording, command_line=command_line, redact_source=redact_source, overwrite=True)
        if recording is not None
        else None
    )
    waiting: list[tuple[int, Build]] = []
    any_ok = False
    with writer or nullcontext():
        for index, compiled in compile_many(jobs, workers, on_progress, cache):
            result = titled(compiled)
            waiting.append((index, result))
            any_ok = any_ok or result.ok
            while writer is not None and any_ok and waiting:
                place, saved = waiting.pop(0)
                writer.add(saved, place + 1)
            yield index, result


def compile(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    devices: str | Sequence[str],
    *,
    options: str | Sequence[str] = "",
    lines: bool = True,
    toolchain: str = DEFAULT,
    recording: str | os.PathLike[str] | None = None,
    cache: bool = True,
    kernel: str | Sequence[str] = (),
    specialize: Mapping[int, bool | float | str] = MappingProxyType({}),
    unconfined: bool = False,
    variants: bool = False,
) -> list[Program]:
    """Compile sources (OpenCL C or SPIR-V) for devices, one or several of each, and return the Programs: the first source's
    first, of each source in the order of the devices. With ``variants`` a source is compiled with each choice of the values
    that ``kernlens.toml`` has of its macros, else with the first.

    ``options`` are one string, or words: ``["-cl-fast-relaxed-math", "-I", "/with spaces"]``;
    ``lines`` adds -gline-tables-only, without which nothing can be annotated. A device is called by any name that
    ``kernlens devices`` shows, a ``toolchain`` by its name (empty: the default one). What an equal compile yielded is taken
    from the user's ``cache``, unless that is False. ``recording`` names a file to save the builds in.

    Sources may also be SYCL's executables and libraries, recordings and device binaries: the SPIR-V modules in them are
    compiled that hold a ``kernel`` of this name or pattern, or of one of these, with recorded build options before ``options``.
    ``specialize`` has the values of specialization constants by their SpecId. The compiler of such a module can read nothing
    else of this machine unless it is ``unconfined``.

    Raises ToolError, with the compiler's log, if one does not compile, NotFoundError for what does not exist, UnsupportedError
    for a file without SPIR-V.
    """
    names = [devices] if isinstance(devices, str) else list(devices)
    paths = list(sources) if isinstance(sources, Sequence) and not isinstance(sources, str) else [sources]
    kernels = [kernel] if isinstance(kernel, str) else kernel
    constants = {
        number: str(value).lower() if isinstance(value, bool) else str(value) for number, value in specialize.items()
    }
    words = with_lines(join_options(options)) if lines else join_options(options)
    with compilable(paths, kernels, constants) as chosen:
        planned = plan(chosen.files, names, [toolchain], options=words, settings=chosen.settings, variants=variants)
        jobs = [chosen.job(job, unconfined=unconfined) for job in planned.jobs]
        results: list[Build | None] = [None] * len(jobs)
        saved = None if recording is None else Path(recording)
        builds = build(jobs, recording=saved, titled=chosen.titled, cache=open_cache() if cache else None)
        with closing(builds):
            for index, result in builds:
                if not result.ok:  # The others need not be waited for.
                    raise ToolError(result.told_failure, command=result.command, log=result.log)
                results[index] = result
    return [program for result in results if result for program in open_build(result)]


def compiled_kernels(compiled: Build) -> list[Kernel]:
    """Return the decoded kernels of a build's programs, without functions' code; none if the build failed."""
    programs = open_build(compiled) if compiled.ok else ()
    decode_kernels([(program, list(program.entry_kernels.values())) for program in programs])
    return [kernel for program in programs for kernel in program.entry_kernels.values()]
