"""The offline compilers of a toolchain, by the device: Intel's ocloc, and clang for AMD's GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens.errors import NotFoundError
from kernlens.isa.amd.gpu_devices import is_of_amd
from kernlens.isa.devices import known_device
from kernlens.isa.x86.devices import X86_64
from kernlens.model.build import Build, BuildToolchain
from kernlens.toolchain import amd_clang, ocloc
from kernlens.toolchain.amd_compiler import amd_compiler
from kernlens.toolchain.child import Child
from kernlens.toolchain.toolchains import DEFAULT, Toolchain, find_toolchains, toolchain

if TYPE_CHECKING:
    from kernlens.toolchain.sources.source_copy import SourceCopy


def devices_of(chosen: Toolchain) -> tuple[str, ...]:
    """Return the devices that the toolchain compiles for, those of each compiler oldest first; none if it has no compiler."""
    own = ocloc.devices_of(chosen) if chosen.ocloc is not None else ()
    return (*own, *amd_clang.amd_devices_of(chosen))


def is_compiled_by_clang(device: str) -> bool:
    """Return whether clang compiles for the device, not ocloc."""
    return is_of_amd(device)


def why_not_compiled(device: str) -> str | None:
    """Return why no offline compiler can be started for a device that another driver compiled for, and what can be done; None
    if one can."""
    known = known_device(device)
    if known is None or known.intel is not None or is_of_amd(device):
        return None
    host = "; a source for PoCL: kernlens stages SOURCE --device pocl" if known.isa == X86_64.isa else ""
    return (
        f"kernlens starts no compiler for {device}; to record the stages of its driver: kernlens capture --stages{host}"
    )


def has_compiler(device: str, chosen: Toolchain) -> bool:
    """Return whether the toolchain has a compiler for devices such as this one."""
    return amd_compiler(chosen) is not None if is_of_amd(device) else chosen.ocloc is not None


def all_of(chosen: Toolchain) -> tuple[str, ...]:
    """Return the devices that ``all`` means: ocloc's, or of a toolchain without ocloc all that it compiles for."""
    return ocloc.devices_of(chosen) if chosen.ocloc is not None else devices_of(chosen)


def check_device(device: str, chosen: Toolchain) -> None:
    """Raise NotFoundError, with the next step, if the toolchain does not compile for ``device``."""
    if is_of_amd(device):
        amd_clang.check_amd_device(device, chosen)
    elif device not in devices_of(chosen):
        ocloc.check_device(device, chosen)


def own_toolchain(device: str) -> Toolchain:
    """Return the toolchain that compiles for a device if the user names none: the default one, and for an AMD GPU the first
    that compiles for it. Raises NotFoundError, with the next step, if none compiles for that."""
    if not is_of_amd(device):
        return toolchain(DEFAULT)
    chosen = amd_clang.toolchain_for(device)
    if chosen is None:
        error = NotFoundError(f"no toolchain compiles for {device}; {amd_clang.GET_COMPILER}")
        # A compiler that does not know the device may be the newest: fetching it again would not help.
        raise error if any(map(amd_compiler, find_toolchains())) else error.cured_by("amd-newest")
    return chosen


def of_build(device: str, chosen: Toolchain) -> BuildToolchain:
    """Return the toolchain as a Build for ``device`` holds it."""
    compiler = amd_compiler(chosen) if is_of_amd(device) else None
    return chosen.of_build if compiler is None else compiler.of_build


def title_for(device: str, chosen: Toolchain) -> str:
    """Return the versions of the toolchain's compiler for ``device``."""
    compiler = amd_compiler(chosen) if is_of_amd(device) else None
    return chosen.title if compiler is None else compiler.title


def titles_of(chosen: Toolchain) -> str:
    """Return the versions of the toolchain's compilers: Intel's, and clang for AMD's GPUs."""
    compiler = amd_compiler(chosen)
    own = [chosen.title] if chosen.ocloc is not None or compiler is None else []
    return " · ".join([*own, *([compiler.title] if compiler is not None else [])])


def compile_source(
    source: str | Path,
    device: str,
    options: str,
    using: Toolchain,
    timeout: float,
    on_start: Callable[[Child], None] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    has_sources: bool = True,
    copy: SourceCopy | None = None,
) -> Build:
    """Compile one source file for one device with the toolchain's compiler for it; see ``ocloc.compile_source``."""
    compile_with = amd_clang.compile_for_amd if is_of_amd(device) else ocloc.compile_source
    return compile_with(
        source, device, options, using, timeout, on_start, environment, has_sources=has_sources, copy=copy
    )


def fullest_language(device: str) -> str:
    """Return the version of OpenCL C in which the device's compiler has most built-in functions. In clang's OpenCL C 3.0 all
    that 2.0 has is optional, and left out for AMD's GPUs."""
    return "CL2.0" if is_of_amd(device) else "CL3.0"
