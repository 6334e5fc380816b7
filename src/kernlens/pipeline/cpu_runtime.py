"""The build for Intel's OpenCL runtime for CPUs (PyPI: intel-opencl-rt) in a child process, with every stage kept.

The release build of the runtime keeps assembly, object and disassembly when variables
tell it to (``CL_CONFIG_*``); the bitcode is a section of its program binary, an ELF file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kernlens.errors import FormatError, NotFoundError, UnsupportedError
from kernlens.model.build import LINE_OPTIONS, Build
from kernlens.model.stage import BINARY, TEXT, Snapshot
from kernlens.model.stages import CPU_RUNTIME, FROM_BINARY, FROM_COMPILER, Stage, held
from kernlens.pipeline.second_build import SecondBuild, second_build, source_text
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.sources.includes import source_options
from kernlens.toolchain.sources.source_reading import read_beside

#: The environment variable that names libintelocl.so where it is not among Python's installed packages.
LIBRARY_VARIABLE = "KERNLENS_INTEL_CPU_RUNTIME"
_LIBRARY = "libintelocl.so"
_PACKAGE = "intel-opencl-rt"

_BITCODE_MAGIC = b"BC\xc0\xde"
#: How the dump files' names begin.
_PREFIX = "dump"


def runtime_library() -> Path | None:
    """Return the path of libintelocl.so: KERNLENS_INTEL_CPU_RUNTIME, else the PyPI package's; None if there is none.
    Raises NotFoundError if the variable names no file."""
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        if not os.path.isfile(named):
            raise NotFoundError(f"{LIBRARY_VARIABLE} names {named}, which is not a file; correct or unset it")
        return Path(named)
    from importlib.metadata import PackageNotFoundError, files

    try:
        installed = files(_PACKAGE) or []
    except PackageNotFoundError:
        return None
    for file in installed:
        if file.name == _LIBRARY:
            path = Path(os.path.normpath(str(file.locate())))
            if path.is_file():
                return path
    return None


def dump_environment(folder: Path) -> dict[str, str]:
    """Return the variables that make the runtime write its stages into ``folder``."""
    switches = dict.fromkeys(("CL_CONFIG_DUMP_ASM", "CL_CONFIG_DUMP_BIN", "CL_CONFIG_DUMP_DISASSEMBLY"), "1")
    return {**switches, "CL_CONFIG_DUMP_FILE_NAME_PREFIX": str(folder / _PREFIX)}


def snapshots(source: str | Path, options: str = "") -> Build:
    """Build ``source`` (OpenCL C) with Intel's CPU runtime and keep every stage. A source that does not build gives a
    Build that is not ``ok``, with its ``source`` stage alone. Raises UnsupportedError if the runtime is not
    installed."""
    library = runtime_library()
    if library is None:
        raise UnsupportedError(
            f"Intel's OpenCL runtime for CPUs is not installed: pip install {_PACKAGE} intel-cmplr-lib-rt, or let"
            f" {LIBRARY_VARIABLE} name its {_LIBRARY}"
        )
    path = Path(source)
    libraries = os.pathsep.join(filter(None, [str(library.parent), os.environ.get("LD_LIBRARY_PATH", "")]))
    build = SecondBuild(
        CPU_RUNTIME.platform,
        source_options(path, options, naming=LINE_OPTIONS),
        source_text(path),
        variables={"OCL_ICD_VENDORS": str(library), "OCL_ICD_FILENAMES": str(library), "LD_LIBRARY_PATH": libraries},
        source=str(source),
        device=CPU_RUNTIME.device,
    )
    return snapshots_of(build)


def snapshots_of(build: SecondBuild) -> Build:
    """Do ``build`` on the runtime's platform and keep every stage."""
    with temporary_folder() as name:
        result, start_time = second_build(build, dump_environment(Path(name)))
        snapshots = tuple(_read(Path(name), result, start_time)) if result.ok else ()
    source = (held(CPU_RUNTIME.stage("source"), build.text.encode(), TEXT),) if build.text is not None else ()
    return result.with_parts(snapshots=source + snapshots)


def _read(folder: Path, build: Build, start_time: int) -> Iterator[Snapshot]:
    for stage in CPU_RUNTIME.stages:
        if stage.origin == FROM_COMPILER:
            yield from _dumped(stage, folder, start_time)
        elif stage.origin == FROM_BINARY:
            part = _bitcode(build.binary, stage.dump) if stage.dump else build.binary
            if part:
                yield held(stage, part, BINARY)


def _dumped(stage: Stage, folder: Path, start_time: int) -> Iterator[Snapshot]:
    form = stage.default
    paths = sorted(folder.glob(f"{_PREFIX}*{stage.dump}"))
    content = read_beside(paths[-1], folder) if paths else b""
    if not content:
        why = "the runtime wrote no file for it; is the disk of the dump folder full?"
        yield Snapshot(stage.name, None, form, stage.ending(form) or "", bytes, failure=why)
        return
    yield held(stage, content, form, None, max(paths[-1].stat().st_mtime_ns - start_time, 0) / 1e9)


def _bitcode(binary: bytes, name: str) -> bytes:
    from kernlens.formats.elf.elf_file import read_elf

    try:
        section = read_elf(memoryview(binary), format="cpu-program").section(name)
    except FormatError:
        return b""
    # The runtime gives its sections no type, so the reader hands out no bytes for them.
    content = binary[section.offset : section.offset + section.size] if section is not None else b""
    return content if content.startswith(_BITCODE_MAGIC) else b""
