"""The programs of any path, for verbs that judge programs: read from what holds machine code, or compiled from a source."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError, NotFoundError, ToolError, UnknownKernelError
from kernlens.model.containers import CONTAINERS, Holds
from kernlens.model.failed_builds import FailedBuilds, no_kernels
from kernlens.verbs.absent import (
    Whole,
    entry_points,
    no_program_by,
    no_program_for,
    programs_meant,
    resolved,
    whole_of,
)

if TYPE_CHECKING:  # Every verb imports this module, and few open anything through it.
    from kernlens.loading import Contents, Folder
    from kernlens.model.binary import Container
    from kernlens.model.build import Build
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program
    from kernlens.toolchain.compile_cache import CompileCache
    from kernlens.toolchain.parallel_compiles import CompileJob
    from kernlens.toolchain.sources.source_settings import SourceSettings


def silent(sentence: str) -> None:
    """Take a sentence that nobody asked for."""


Selection: TypeAlias = "list[tuple[Program, list[Kernel]]]"


class BuildsError(ToolError):
    """Sources that do not compile, and nothing to answer about: ``builds`` are the failed ones."""

    def __init__(self, builds: Sequence[Build]) -> None:
        self.builds = builds
        super().__init__(builds[0].told_failure, command=builds[0].command, log=builds[0].log)

    @property
    def lines(self) -> tuple[str, ...]:
        """All that the compilers said of the sources."""
        from kernlens.verbs.compile_failures import failure_lines

        first, *others = failure_lines(self.builds)
        return first.removeprefix("kernlens: "), *others


@dataclass(frozen=True, slots=True)
class Opening:
    """A path, and what of it is wanted, or how a source is compiled: the device, the toolchain, the build options;
    None: any device and toolchain of what is compiled already, and the default toolchain. ``settings`` are those of the
    source in a ``kernlens.toml``; None: in the nearest. ``with_counts``: kernels that were observed and have no machine code
    are wanted too."""

    path: str
    device: str | None = None
    toolchain: str | None = None
    options: str = ""
    settings: SourceSettings | None = None
    with_counts: bool = False


def is_source(path: str, *, with_spirv: bool = True) -> bool:
    """Return whether a path is a source or, ``with_spirv``, SPIR-V, which are compiled, rather than something with machine
    code. Raises UnsupportedError for what is no regular file."""
    if os.path.isdir(path) or not os.path.lexists(path):
        return False  # Whoever opens it says that there is none.
    from kernlens.loading.identify import kind_of, stranger

    kind, start = kind_of(path)
    if kind == "spirv":
        return with_spirv
    return kind is None and bool(start) and b"\0" not in start and not stranger(start)


@dataclass(frozen=True, slots=True)
class Opened:
    """The programs of a path, and the builds that failed: those in recordings, or those of the source itself; and all that the
    path holds, for other devices and toolchains too."""

    path: str
    programs: Sequence[Program]
    failed: FailedBuilds = FailedBuilds()
    whole: Whole = Whole()

    @property
    def is_compiled(self) -> bool:
        """True if the path is a source, which was compiled for this answer."""
        return self.failed.count > 0 and not self.failed.path


def open_all(
    openings: Sequence[Opening],
    source_roots: Sequence[str] = (),
    *,
    stages: bool = False,
    all_passes: bool = False,
    is_cached: bool = True,
    tell: Callable[[str], None] = silent,
) -> list[Opened]:
    """Return the programs of each opening, for the device ``all`` one for each that the toolchain has, and what failed. What is
    to be compiled is compiled side by side, with line tables; ``stages`` keeps the stages of these compiles, ``all_passes`` the
    compiler's passes too. Something without programs is there only if its builds failed. ``is_cached``: what was
    compiled before is taken from the cache. ``tell`` is ``target_of``'s.

    Raises KernlensError: NotFoundError for a device or toolchain that what is compiled already has not.
    """
    from kernlens.loading import open_build
    from kernlens.toolchain.compile_cache import open_cache
    from kernlens.verbs.targets import target_of

    to_compile = [opening for opening in dict.fromkeys(openings) if is_source(opening.path)]
    targeted = [replace(each, device=target_of(each.path, each.device, tell)) for each in to_compile]
    files = {opening: _opened(opening, source_roots) for opening in openings if opening not in to_compile}
    builds = (
        _compiled_with_stages(targeted, all_passes)
        if stages
        else compiled(targeted, open_cache() if is_cached else None)
    )
    for opening, of_one in zip(to_compile, builds, strict=True):
        programs = [program for build in of_one if build.ok for program in open_build(build)]
        failed = FailedBuilds(tuple(build for build in of_one if not build.ok), len(of_one))
        files[opening] = Opened(opening.path, programs, failed, Whole(programs, failed.builds))
    return [files[opening] for opening in openings]


def open_variants(
    openings: Sequence[Opening],
    source_roots: Sequence[str] = (),
    *,
    stages: bool = False,
    all_passes: bool = False,
    is_cached: bool = True,
    project: str | None = None,
    tell: Callable[[str], None] = silent,
) -> list[Opened]:
    """Return what ``open_all`` does, of a source all variants of its macros' values in ``kernlens.toml`` as one; ``project`` is
    the file that counts in place of the nearest."""
    from kernlens.toolchain.sources.source_settings import settings_for

    variants = [
        [replace(each, settings=settings) for settings in settings_for(each.path, file=project).variants(each.options)]
        if is_source(each.path)
        else [each]
        for each in openings
    ]
    flat = [each for own in variants for each in own]
    opened = open_all(flat, source_roots, stages=stages, all_passes=all_passes, is_cached=is_cached, tell=tell)
    left = iter(opened)
    return [_as_one([next(left) for _ in own]) for own in variants]


def _as_one(opened: Sequence[Opened]) -> Opened:
    first, *others = opened
    if not others:
        return first
    programs = [program for each in opened for program in each.programs]
    failed = tuple(build for each in opened for build in each.failed.builds)
    count = sum(each.failed.count for each in opened)
    return Opened(first.path, programs, replace(first.failed, builds=failed, count=count), Whole(programs, failed))


def of_program(answers: Sequence[Opened], pattern: str | None) -> list[Opened]:
    """Return what was opened of the programs with this name, or whose names match; None: of all. Raises NotFoundError if no
    path has one."""
    if pattern is None:
        return list(answers)
    names = {program.name for each in answers for program in each.whole.programs}
    names |= {build.name for each in answers for build in each.failed.builds}
    meant = programs_meant(pattern, names, ", ".join(dict.fromkeys(each.path for each in answers)))
    return [_of_names(each, meant) for each in answers]


def _of_names(opened: Opened, names: Collection[str]) -> Opened:
    failed = tuple(build for build in opened.failed.builds if build.name in names)
    programs = [program for program in opened.programs if program.name in names]
    whole = Whole(
        [program for program in opened.whole.programs if program.name in names],
        [build for build in opened.whole.failed if build.name in names],
        opened.whole.path,
    )
    return replace(
        opened,
        programs=programs,
        failed=FailedBuilds(failed, len(programs) + len(failed), opened.failed.path),
        whole=whole,
    )


def check_any(answers: Sequence[Opened]) -> None:
    """Raise BuildsError or NotFoundError, with what failed, if builds failed and nothing is left to answer about."""
    if any(each.programs for each in answers) or not any(each.failed for each in answers):
        return
    compiled = [build for each in answers if each.is_compiled for build in each.failed.builds]
    if compiled:
        raise BuildsError(compiled)
    raise NotFoundError("; ".join(no_kernels(each.path, each.failed) for each in answers if each.failed))


def compiled_whole(answers: Sequence[Opened]) -> list[Opened]:
    """Return what was opened. Raises BuildsError if a source does not compile, and what ``check_any`` does of each."""
    if compiled := [build for each in answers if each.is_compiled for build in each.failed.builds]:
        raise BuildsError(compiled)
    for each in answers:
        check_any([each])
    return list(answers)


def for_device(
    programs: Sequence[Program], name: str | None, *, must_be: bool = True, whole: Whole | None = None
) -> Sequence[Program]:
    """Return the programs for one device. Raises NotFoundError if there must be one and is none; ``whole`` is what they are
    of, which may hold other programs, and builds that failed."""
    if name is None:
        return programs
    from kernlens.isa.devices import device

    target = device(name)
    chosen = [program for program in programs if program.is_for(target)]
    if must_be and not chosen:
        raise no_program_for(target, programs, whole or Whole(programs))
    return chosen


def is_observed(contents: Contents) -> bool:
    """Return whether recordings hold what an interpreter counted of kernels."""
    return any(build.behaviours for build in contents.recorded)


def is_timed(contents: Contents) -> bool:
    """Return whether recordings hold the device's time of launches."""
    return any(build.device_times for build in contents.recorded)


def select(
    programs: Sequence[Program],
    kernel_names: Sequence[str],
    device: str | None = None,
    whole: Whole | None = None,
) -> Selection:
    """Return the programs with those of their kernels that have these names, in the binary or in C++, or fit a pattern of
    these; no names: all.

    Raises UnknownKernelError if a name exists nowhere, NotFoundError if no program is for ``device``, or those that are have
    not the kernel. ``whole`` is all that the programs are of; None: these programs.
    """
    whole = whole or Whole(programs)
    of_device = for_device(programs, device, whole=whole)
    known = {kernel.name: None for program in of_device for kernel in program.kernels}
    if not known.keys() >= set(kernel_names):
        kernel_names = resolved(kernel_names, known, whole, device)
    return chosen(of_device, kernel_names, device)


def chosen(programs: Sequence[Program], kernel_names: Sequence[str], device: str | None = None) -> Selection:
    """Return what ``select`` does, but nothing for unknown devices and kernels; programs without kernels are left out."""
    selection: Selection = []
    for program in for_device(programs, device, must_be=False):
        kernels = [kernel for name, kernel in program.kernels.items() if not kernel_names or name in kernel_names]
        if kernels:
            selection.append((program, kernels))
    return selection


def names_in(folder: Folder, kernel_names: Sequence[str], device: str | None) -> Sequence[str]:
    """Return the names of the kernels that ``select`` would choose of all programs of a folder, and open no more files
    than that needs. Raises what ``select`` raises."""
    waiting, known = set(kernel_names), dict[str, None]()
    for contents in folder.files():
        for _, kernels in chosen(contents.programs, (), device):
            names = dict.fromkeys(kernel.name for kernel in kernels)
            known |= names
            waiting -= names.keys()
            if not waiting:
                return kernel_names
    if not known:
        select(folder.machine_code(), kernel_names, device, whole_of(folder))
    try:
        return resolved(kernel_names, known, Whole())
    except UnknownKernelError:
        return resolved(kernel_names, known, whole_of(folder), device)


def with_kernels(
    programs: Sequence[Program], kernel_names: Sequence[str], whole: Whole, device: str | None = None
) -> Sequence[Program]:
    """Return the programs that have kernels of these names, in the binary or in C++, or that fit a pattern of these, with no
    others; SPIR-V has them as entry points. No names: all programs as they are. Raises what ``resolved`` raises."""
    if not kernel_names:
        return programs
    own = [program.kernels.keys() or entry_points(program) for program in programs]
    known = {name: None for names in own for name in names}
    meant = set(resolved(kernel_names, known, whole, device))
    return [
        narrowed(program, meant) for program, names in zip(programs, own, strict=True) if not meant.isdisjoint(names)
    ]


def narrowed(program: Program, names: Collection[str]) -> Program:
    """Return a program with those of its kernels that have one of these names."""
    from kernlens.model.program import Kernels

    return replace(
        program,
        kernels=Kernels({name: kernel for name, kernel in program.kernels.items() if name in names}),
        find_symbols=lambda: tuple(each for each in program.symbols if each.kind != "kernel" or each.name in names),
    )


def containers_for(containers: Iterable[Container], name: str | None) -> Iterator[Container]:
    """Yield the containers of programs for one device, and those that hold no program, also of archives and libraries."""
    if name is None:
        yield from containers
        return
    from kernlens.isa.devices import device

    target = device(name).name
    for container in containers:
        if container.devices and container.devices.isdisjoint((target, None)):
            continue
        # The parts of a device image are all for its device, though most of them do not say so.
        is_several = CONTAINERS[container.kind].holds is Holds.PARTS and len(container.devices) > 1
        yield container.holding(tuple(containers_for(container.children, name))) if is_several else container


def _opened(opening: Opening, source_roots: Sequence[str]) -> Opened:
    from kernlens.isa.devices import ALL
    from kernlens.loading import open_file

    if opening.options:
        raise KernlensError(f"--build-options are for compiling, but {opening.path} is already compiled")
    device = None if opening.device == ALL else opening.device
    contents = open_file(opening.path, device=device, source_roots=source_roots)
    failed, whole = contents.failed_builds(device, opening.toolchain), whole_of(contents)
    if failed and not any(
        (program.kernels or (opening.with_counts and program.build.behaviours))
        and program.build.is_by(opening.toolchain)
        for program in for_device(contents.programs, device, must_be=False)
    ):
        contents.check()
        return Opened(opening.path, (), failed, whole)
    with_code = contents.counted_code() if opening.with_counts else contents.machine_code()
    programs = for_device(with_code, device, whole=whole)
    contents.check()  # A file that cannot be read is no program that is missing.
    chosen = [program for program in programs if program.build.is_by(opening.toolchain)]
    if not chosen:
        raise no_program_by(opening.path, opening.toolchain or "", programs, whole)
    return Opened(opening.path, programs if opening.toolchain is None else chosen, failed, whole)


def _compiled_with_stages(openings: Sequence[Opening], all_passes: bool) -> list[list[Build]]:
    from kernlens.pipeline.compile_stages import compile_stages

    return [
        [
            compile_stages(
                job.source, job.device, options=job.options, toolchain=job.toolchain.name, all_passes=all_passes
            ).build
            for job in _jobs(opening)
        ]
        for opening in openings
    ]


def compiled(openings: Sequence[Opening], cache: CompileCache | None) -> list[list[Build]]:
    """Compile sources side by side, and return the builds of each: one for each device that is meant."""
    from kernlens.verbs.compile import build

    jobs = [_jobs(opening) for opening in openings]
    numbered = dict(build([job for of_one in jobs for job in of_one], cache=cache))
    results = (numbered[index] for index in range(len(numbered)))
    return [[next(results) for _ in of_one] for of_one in jobs]


def _jobs(opening: Opening) -> Sequence[CompileJob]:
    from kernlens.toolchain.sources.includes import with_lines
    from kernlens.toolchain.sources.source_settings import settings_for
    from kernlens.verbs.compile import plan

    return plan(
        [opening.path],
        [opening.device or ""],
        [opening.toolchain] if opening.toolchain else [],
        options=with_lines(opening.options),
        settings=lambda path: opening.settings or settings_for(path),
    ).jobs
