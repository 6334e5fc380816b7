"""AMD's offline compiler as Debian has it: clang, lld and the ROCm device libraries, from OpenCL C to a code object.

These observations on clang 15.0.6 with device libraries 5.2.3 (Debian 12), and clang 21.1 with those of its version (Debian's
newest), shape the module:

* ``--rocm-device-lib-path`` has clang link the libraries that the processor and the options need. A processor is compiled
  for if there is a library ``oclc_isa_version_N.bc`` of it and clang knows it: 21 has the libraries of gfx940, and does not.
* Started through a root's dynamic loader, clang takes the loader's folder for its own: the folder of its headers
  (``-resource-dir``) is therefore named, and the linker is a command of its own.
* Without ``-O`` clang optimises nothing, where drivers take ``-O3``.
* gfx940 to gfx950 have no images. clang compiles kernels with images for them without a word, to code that reads nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.errors import KernlensError, NotFoundError, ToolError, UnsupportedError
from kernlens.formats.amdgpu.code_object import read_code_object
from kernlens.formats.spirv.magic import is_spirv
from kernlens.isa.amd.gpu_devices import AMD_DEVICES, WITHOUT_IMAGES, processor_named
from kernlens.model.build import Build, HeldParts
from kernlens.runtime.file_limit import FILE_SIZE_LIMIT
from kernlens.toolchain.amd_compiler import TARGET, AmdCompiler, amd_compiler
from kernlens.toolchain.child import Child
from kernlens.toolchain.diagnostics import error_lines
from kernlens.toolchain.process import Completed, command_line, run, temporary_folder
from kernlens.toolchain.sources.includes import existing_source, source_files, split_options
from kernlens.toolchain.sources.source_reading import open_regular, read_beside
from kernlens.toolchain.toolchains import QUESTION_TIMEOUT, Toolchain, find_toolchains

if TYPE_CHECKING:
    from kernlens.toolchain.sources.source_copy import SourceCopy

#: What builds a root with the compiler of Debian 12, and of Debian's newest release.
GET_COMPILER = "kernlens toolchain add amd-newest gets one (kernlens toolchain add amd: Debian 12's)"
_ISA_LIBRARY = re.compile(r"oclc_isa_version_([0-9a-z-]+)\.bc")
_UNKNOWN_OPTION = re.compile(r"unknown argument:? '?([^' ]+)'?")


def amd_devices_of(chosen: Toolchain) -> tuple[str, ...]:
    """Return the AMD GPUs that the toolchain compiles for, oldest first; none if it has no such compiler."""
    compiler = amd_compiler(chosen)
    return () if compiler is None else _devices(compiler)


@lru_cache(maxsize=32)
def _devices(compiler: AmdCompiler) -> tuple[str, ...]:
    matches = (_ISA_LIBRARY.fullmatch(path.name) for path in compiler.libraries.iterdir())
    libraries = {f"gfx{match[1]}" for match in matches if match}
    known = _supported(compiler)
    return tuple(
        device.name for device in AMD_DEVICES if device.name in libraries and (not known or device.name in known)
    )


def _supported(compiler: AmdCompiler) -> frozenset[str]:
    """Return the processors that clang says it knows; none if it does not say, as before LLVM 17."""
    try:
        command = compiler.toolchain.command(compiler.clang, f"--target={TARGET}", "--print-supported-cpus")
        answer = run(command, timeout=QUESTION_TIMEOUT)
    except ToolError as error:
        log.debug("toolchain", "%s does not list its processors: %s", compiler.clang, error)
        return frozenset()
    return frozenset(re.findall(r"^\s+(gfx[0-9a-z-]+)$", answer.log, re.MULTILINE))


def toolchain_for(device: str) -> Toolchain | None:
    """Return the first toolchain that compiles for an AMD GPU, the machine's own first; None if none does."""
    name = processor_named(device).partition(":")[0]
    return next((each for each in find_toolchains() if name in amd_devices_of(each)), None)


def check_amd_device(device: str, chosen: Toolchain) -> str:
    """Return what the compiler calls this AMD GPU. Raises NotFoundError, with the next step, if the toolchain does not compile
    for it."""
    processor = processor_named(device)
    if processor.partition(":")[0] in amd_devices_of(chosen):
        return processor
    other = toolchain_for(device)
    compiler = amd_compiler(chosen)
    lacks = f"({compiler.title}) knows no device {device!r}" if compiler else "has no compiler for AMD's GPUs"
    advice = f"but {other.name} does: add --toolchain {other.name}" if other else GET_COMPILER
    raise NotFoundError(f"the toolchain {chosen.name} {lacks}{', ' if other else '; '}{advice}")


def compile_for_amd(
    source: str | Path,
    device: str,
    options: str,
    chosen: Toolchain,
    timeout: float,
    on_start: Callable[[Child], None] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    has_sources: bool = True,
    copy: SourceCopy | None = None,
) -> Build:
    """Compile OpenCL C for one AMD GPU; the arguments, the Build and what is raised are those of ``ocloc.compile_source``."""
    path = Path(source)
    words = split_options(options if copy is None else copy.options)
    device = check_amd_device(device, chosen)
    compiler = amd_compiler(chosen)
    assert compiler is not None, "a toolchain that knows the device has a compiler"
    file = existing_source(path if copy is None else copy.path)
    with open_regular(file) as opened:
        if is_spirv(opened.read(4)):
            raise UnsupportedError(
                f"{path} is SPIR-V, which Debian's clang does not compile for AMD's GPUs; compile its source"
            )
    sources = source_files(path, options) if has_sources and copy is None else ()
    name, cwd = (str(path), None) if copy is None else (copy.name, copy.folder)
    env = {**os.environ, **environment} if environment else None
    with temporary_folder() as folder:
        unlinked, linked = os.path.join(folder, "program.o"), os.path.join(folder, "program.hsaco")
        compile_command = compiler.command(device, words, name, unlinked)
        completed = run(
            compile_command, timeout=timeout, cwd=cwd, env=env, file_size_limit=FILE_SIZE_LIMIT, on_start=on_start
        )
        words_of_both, seconds = completed.log, completed.seconds
        if completed.ok:
            completed = run(compiler.link_command(unlinked, linked), timeout=timeout, env=env, on_start=on_start)
            words_of_both, seconds = words_of_both + completed.log, seconds + completed.seconds
        binary = read_beside(linked, folder) if completed.ok and os.path.isfile(linked) else b""
    reason = _reason(completed, path, device) if not binary else _without_images(binary, path, device)
    return Build(
        name=path.stem,
        device=device,
        toolchain=compiler.of_build,
        options=options,
        command=command_line(compile_command),
        ok=reason is None,
        reason=reason,
        seconds=seconds,
        path=str(path),
        folder="" if copy is None else copy.folder,
        parts=HeldParts(log=words_of_both, binary=b"" if reason else binary, sources=sources),
    )


def _without_images(binary: bytes, source: Path, device: str) -> str | None:
    """Return why the code is not what its source says: it uses images on a GPU that has none; None if it does not."""
    processor = device.partition(":")[0]
    if processor not in WITHOUT_IMAGES:
        return None
    try:
        kernels = read_code_object(memoryview(binary)).kernels
    except KernlensError as error:
        return f"{source} does not compile for {device}: what clang made cannot be read: {error}"
    named = [
        kernel.name
        for kernel in kernels
        if any(
            (each.type_name or "").startswith("image")
            for each in (kernel.metadata.arguments if kernel.metadata else ())
        )
    ]
    if not named:
        return None
    return (
        f"{source} does not compile for {device}: it has no images, and {named[0]} takes one; clang says nothing, and makes"
        " code that reads and writes none"
    )


def _reason(completed: Completed, source: Path, device: str) -> str:
    refusal = f"{source} does not compile for {device}: "
    if completed.signal is not None:
        return f"clang was killed by {completed.signal} while it compiled {source} for {device}"
    errors = [each for each in error_lines(completed.log, str(source)) if each.severity == "error"]
    if errors:
        first = errors[0]
        unknown = _UNKNOWN_OPTION.search(first.message)
        where = f" at {first.place}" if first.path and not unknown else ""
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return f"{refusal}{first.message}{where}{more}"
    lines = [line.strip() for line in completed.log.splitlines() if line.strip()]
    return f"{refusal}{lines[0]}" if lines else f"clang {completed.ending} while it compiled {source} for {device}"
