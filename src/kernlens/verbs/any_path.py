"""Any path as its contents: what holds programs is opened, and sources are compiled, as if a recording of that were opened."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.loading.open import Contents, open_builds, open_file
from kernlens.verbs.absent import programs_meant
from kernlens.verbs.programs import BuildsError, Opening, compiled, is_source, silent

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.toolchain.compile_cache import CompileCache


def open_none() -> None:
    """Open no cache."""


@dataclass(frozen=True, slots=True)
class SourceBuild:
    """The way to compile sources among paths: for a ``device``, or ``all``; None: this machine's GPU. ``toolchain`` empty:
    the default one. ``options`` are added to those for line tables, ``cache`` opens the cache of what was compiled before."""

    device: str | None = None
    toolchain: str = ""
    options: str = ""
    cache: Callable[[], CompileCache | None] = open_none


class CompiledSources(Contents):
    """The programs of sources that were compiled for this answer; at least one of the builds is ok."""

    def check(self) -> None:
        """Raise BuildsError if one of the sources does not compile."""
        if failed := self.failed_builds().builds:
            raise BuildsError(failed)


def open_paths(
    paths: Sequence[str],
    how: SourceBuild,
    *,
    raw_for: str | None = None,
    source_roots: Sequence[str] = (),
    source: str | None = None,
    with_spirv: bool = True,
    uses_options: bool = False,
    tell: Callable[[str], None] = silent,
) -> list[Contents]:
    """Return the contents of each path, the same where it is named twice: of a source, or a folder of sources, with what it is
    compiled to. SPIR-V is compiled too ``with_spirv``, else opened as it is. ``raw_for`` is the device of raw machine code,
    ``source_roots`` and ``source`` are ``open_file``'s, and ``tell`` is ``target_of``'s. ``uses_options``: the options of
    compiles are also for what will be done with compiled paths.

    Raises KernlensError: BuildsError if nothing of a path compiles, NoDeviceError if there is no device to compile for, and for
    options that nothing uses.
    """
    sources = {path: sources_of(path, with_spirv=with_spirv) for path in dict.fromkeys(paths)}
    builds = _compiled({path: own for path, own in sources.items() if own}, how, tell)
    if not uses_options:
        _refuse_unused(how, [path for path, own in sources.items() if not own])
    opened = {
        path: _contents(path, builds[path], source_roots)
        if own
        else open_file(path, device=raw_for, source_roots=source_roots, source=source)
        for path, own in sources.items()
    }
    return [opened[path] for path in paths]


def of_programs(opened: Sequence[Contents], pattern: str) -> list[Contents]:
    """Return what each path holds of the programs with this name, or whose names match. Raises NotFoundError if no path has
    one."""
    names = {program.name for contents in opened for program in contents.programs}
    names |= {build.name for contents in opened for build in contents.recorded}
    meant = programs_meant(pattern, names, ", ".join(dict.fromkeys(contents.path for contents in opened)))
    return [_of_names(contents, meant) for contents in opened]


def _of_names(contents: Contents, names: Collection[str]) -> Contents:
    some = Contents(
        contents.path,
        [each for each in contents.containers if each.name in names] or contents.containers,
        [each for each in contents.programs if each.name in names],
        [each for each in contents.recorded if each.name in names],
    )
    some.damaged = contents.damaged
    return some


def several_programs(kernels: Iterable[tuple[str, str]]) -> str:
    """Return a sentence on a kernel that several programs hold, by the names of kernels and programs; "" if none is."""
    pairs = list(dict.fromkeys(kernels))
    name, count = next(iter(Counter(kernel for kernel, _ in pairs).most_common(1)), ("", 0))
    if count < 2:
        return ""
    programs = [program for kernel, program in pairs if kernel == name]
    more = f" and {count - 4:,} more" if count > 4 else ""
    return f"{count:,} programs hold {name}: {', '.join(programs[:4])}{more}; --program NAME shows one"


def _refuse_unused(how: SourceBuild, compiled_paths: Sequence[str]) -> None:
    """Raise KernlensError for options of compiles beside paths of which nothing is compiled."""
    named = [name for name, words in (("--build-options", how.options), ("--toolchain", how.toolchain)) if words]
    if named and compiled_paths:
        raise KernlensError(f"{named[0]} is for sources, but {compiled_paths[0]} is already compiled")


def sources_of(path: str, *, with_spirv: bool) -> list[str]:
    """Return the sources that a path stands for; none if it is no source, nor a folder of nothing else."""
    if not os.path.isdir(path):
        if is_source(path, with_spirv=False):
            return [path]
        return [path] if with_spirv and is_source(path) and not _is_unfit(path) else []
    from kernlens.verbs.sources.spread import is_source_folder, spread

    return spread([path]) if is_source_folder(path) else []


def _is_unfit(path: str) -> bool:
    """Return whether a file of SPIR-V is for other interfaces than OpenCL's; who opens it says why it is not compiled."""
    from kernlens.formats.spirv.opencl_fitness import why_unfit

    return any(why_unfit(program.spirv) for program in open_file(path).programs)


def _compiled(sources: dict[str, list[str]], how: SourceBuild, tell: Callable[[str], None]) -> dict[str, list[Build]]:
    if not sources:
        return {}
    from kernlens.verbs.targets import target_of

    device = target_of(next(iter(sources)), how.device, tell)
    jobs = [Opening(source, device, how.toolchain or None, how.options) for own in sources.values() for source in own]
    of_each = iter(compiled(jobs, how.cache()))
    return {path: [build for _ in own for build in next(of_each)] for path, own in sources.items()}


def _contents(path: str, builds: Sequence[Build], source_roots: Sequence[str]) -> Contents:
    from kernlens.loading.context import Context
    from kernlens.model.allowance import Allowance

    if not any(build.ok for build in builds):
        raise BuildsError(builds)
    size = sum(len(build.binary) for build in builds if build.ok)
    opened = open_builds(path, builds, Context(source_roots=tuple(source_roots), allowance=Allowance(size)))
    return CompiledSources(path, opened.containers, opened.programs, opened.recorded)
