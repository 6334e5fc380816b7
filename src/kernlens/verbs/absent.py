"""Names of kernels that are asked for, held against all that the paths hold: what was left out before the choice, too."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from kernlens.analysis.cxx_names import kernel_title
from kernlens.analysis.kernel_names import kernels_meant, matching
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, NotFoundError, UnknownKernelError, nearest
from kernlens.model.failed_builds import failure_words

if TYPE_CHECKING:
    from kernlens.loading.open import Contents
    from kernlens.model.build import Build
    from kernlens.model.device import Device
    from kernlens.model.program import Program

#: Kernels that a sentence names.
_NAMED = 3
#: The head of a kernel in OpenCL C, up to its body; what an attribute says; comments and texts.


@cache
def _no_code() -> re.Pattern[str]:
    return re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"?", re.DOTALL)


@cache
def _function() -> re.Pattern[str]:
    return re.compile(r"\b([A-Za-z_]\w*)\s*\(")


@cache
def _attribute() -> re.Pattern[str]:
    return re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")


@cache
def _head() -> re.Pattern[str]:
    return re.compile(r"\b(?:__)?kernel\b([^;{}]{1,4000})\{")


@dataclass(frozen=True, slots=True)
class Whole:
    """All that paths hold, before anything is left out: their programs, with machine code or not, and the failed builds."""

    programs: Sequence[Program] = ()
    failed: Sequence[Build] = ()
    path: str = "PATH"


def whole_of(contents: Contents) -> Whole:
    """Return all that was opened."""
    return Whole(contents.programs, contents.failed_builds().builds, contents.path)


def all_of(parts: Iterable[Whole]) -> Whole:
    """Return several as one; a path that was opened for several devices counts once."""
    by_path = {(part.path, id(part) if part.path == "PATH" else 0): part for part in parts}
    programs = [program for part in by_path.values() for program in part.programs]
    failed = [build for part in by_path.values() for build in part.failed]
    return Whole(programs, failed, next(iter(by_path.values())).path if len(by_path) == 1 else "PATH")


def is_meant(name: str, pattern: str) -> bool:
    """Return whether a program's name is this one, or matches it."""
    return name == pattern or fnmatchcase(name, pattern)


def programs_meant(pattern: str, names: Collection[str], path: str) -> set[str]:
    """Return the names of programs that are this one, or match it. Raises NotFoundError if none of a path's is."""
    meant = {name for name in names if is_meant(name, pattern)}
    if not meant:
        near = nearest(pattern, names) or sorted(names)[:4]
        raise NotFoundError(f"there is no program {pattern!r} in {path}; it holds {', '.join(near) or 'none'}")
    return meant


def no_program_for(target: Device, programs: Sequence[Program], whole: Whole) -> NotFoundError:
    """Return the error on a device that none of the programs is for: those that there are, and what failed for it."""
    from kernlens.isa.devices import known_device

    there = ", ".join(dict.fromkeys(str(program.device) for program in programs))
    only = f", only for {there}; choose one of these" if there else ""
    if not programs and not whole.failed:
        only = ", nor for another GPU: its host code registers no device image"
    failed = [build for build in whole.failed if known_device(build.device) == target]
    reasons = f"; a build for it failed: {failure_words(failed[0])}" if failed else ""
    if not programs and whole.failed and not failed:
        others = ", ".join(dict.fromkeys(build.device or "an unknown device" for build in whole.failed))
        reasons = f"; what it holds are builds that failed, for {others}"
    has_spirv = any(program.format == "spirv" for program in whole.programs)
    spirv = f"; it holds SPIR-V too: kernlens compile {whole.path} --device {target.name}" if has_spirv else ""
    return NotFoundError(f"the file contains no program for {target}{only}{reasons}{spirv}")


def no_program_by(path: str, toolchain: str, programs: Sequence[Program], whole: Whole) -> NotFoundError:
    """Return the error on a toolchain that did not make any of the programs: those that did, and what it made for others."""
    made_by = sorted({program.build.toolchain.name for program in programs if program.build.toolchain})
    others = {str(program.device) for program in whole.programs if program.build.is_by(toolchain)}
    for_others = f" for these devices; there is one for {', '.join(sorted(others))}" if others else ""
    only = ", ".join(made_by) or "no named toolchain"
    return NotFoundError(f"{path} contains no program of the toolchain {toolchain}{for_others}, only of {only}")


def resolved(asked_names: Iterable[str], known: Collection[str], whole: Whole, device: str | None = None) -> list[str]:
    """Return the names among ``known`` that are meant, as ``kernels_meant`` does. Raises what ``why_absent`` returns if there
    is none."""
    names: list[str] = []
    for asked in asked_names:
        try:
            names += kernels_meant(asked, known)
        except UnknownKernelError as error:
            raise why_absent(asked, error.known, known, whole, device) from None
    return names


def why_absent(
    asked: str,
    offered: Collection[str],
    known: Collection[str],
    whole: Whole,
    device: str | None = None,
    *,
    parts: bool = True,
) -> NotFoundError:
    """Return the error on a name that fits none of the ``known`` kernels: where it is, if it is anywhere, or else
    UnknownKernelError with the ``offered`` names, and what was left out. ``parts``: a part of a name means it too."""
    others = [(program, matching(asked, program.kernels.keys(), parts=parts)) for program in whole.programs]
    if there := [(program, names) for program, names in others if names]:
        titles = _titled(name for _, names in there for name in names)
        return NotFoundError(f"{titles} {_where(there, device)}{_failed_there(asked, whole, device, parts=parts)}")
    entries = [(program, matching(asked, entry_points(program), parts=parts)) for program in whole.programs]
    if modules := [(program, names) for program, names in entries if names]:
        titles = _titled(name for _, names in modules for name in names)
        several = "" if len(modules) == 1 else f" in {len(modules):,} modules"
        return NotFoundError(
            f"{titles} is there as SPIR-V only{several}, without machine code; compile it:"
            f" kernlens compile {whole.path} --kernel {asked!r} --device {device or 'D'}"
        )
    for build in whole.failed:
        if names := matching(asked, kernels_of_failed(build), parts=parts):
            return NotFoundError(f"{_titled(names)} is in a build that failed: {failure_words(build)}")
    left_out = {kernel.name for program in whole.programs for kernel in program.kernels}.difference(known)
    return UnknownKernelError(asked, offered, _note(asked, left_out, whole, device))


def _where(there: Sequence[tuple[Program, Sequence[str]]], device: str | None) -> str:
    """Return where the kernels are that a choice left out."""
    from kernlens.isa.devices import known_device

    devices = ", ".join(sorted({str(program.device) for program, _ in there}))
    target = known_device(device) if device is not None else None
    if target is not None and not any(program.is_for(target) for program, _ in there):
        return f"is there for {devices}, not for {target}; choose one of these"
    toolchains = sorted({program.build.toolchain.name for program, _ in there if program.build.toolchain})
    by = f" by {', '.join(toolchains)}" if toolchains else ""
    return f"is there for {devices}{by}, not for what was chosen; choose another device or toolchain"


def _failed_there(asked: str, whole: Whole, device: str | None, *, parts: bool) -> str:
    """Return the words on a build of the kernel that failed, for the device if one is chosen; "" if there is none."""
    from kernlens.loading.open import is_build_for

    for build in whole.failed:
        if is_build_for(build, device) and matching(asked, kernels_of_failed(build), parts=parts):
            return f"; a build of it failed: {failure_words(build)}"
    return ""


def _note(asked: str, left_out: Collection[str], whole: Whole, device: str | None) -> str:
    notes = []
    if left_out:
        near = nearest(asked, map(kernel_title, left_out))
        like = f", such as {near[0]}" if near else ""
        count = "1 kernel" if len(left_out) == 1 else f"{len(left_out):,} kernels"
        notes.append(f"{count} of other {'devices' if device else 'programs'} left out{like}")
    unknown = sum(not kernels_of_failed(build) for build in whole.failed)
    if unknown:
        notes.append(f"{unknown:,} builds failed whose kernels are not known" if unknown > 1 else _ONE_UNKNOWN)
    return "; ".join(notes)


_ONE_UNKNOWN = "1 build failed whose kernels are not known"


def entry_points(program: Program) -> list[str]:
    """Return the kernels of SPIR-V without machine code; none of another program."""
    return [symbol.name for symbol in program.symbols if symbol.kind == "kernel"] if program.format == "spirv" else []


def kernels_of_failed(build: Build) -> list[str]:
    """Return the kernels that the sources, or the SPIR-V, of a build without a binary name, as far as that can be read."""
    names = dict.fromkeys(name for source in build.sources for name in _kernels_in(source.text))
    if build.spirv and not names:
        from kernlens.loading import open_bytes
        from kernlens.loading.context import Context

        try:
            module = open_bytes(memoryview(build.spirv), build.name, Context())
            names = dict.fromkeys(name for program in module.programs for name in entry_points(program))
        except KernlensError:  # The damage may be why the build failed.
            return []
    return list(names)


def _kernels_in(text: str) -> Iterator[str]:
    for head in _head().finditer(_no_code().sub(" ", text)):
        if match := _function().search(_attribute().sub(" ", head[1])):
            yield match[1]


def _titled(names: Iterable[str]) -> str:
    titles = list(dict.fromkeys(map(kernel_title, names)))
    more = f" and {len(titles) - _NAMED:,} more" if len(titles) > _NAMED else ""
    return f"{', '.join(titles[:_NAMED])}{more}"
