"""``kernlens compile --library``: OpenCL C to modules that others can link with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kernlens.errors import OutputError, ToolError
from kernlens.isa.devices import ALL
from kernlens.toolchain.clang import compile_library, device_options
from kernlens.toolchain.folders import make_folder
from kernlens.toolchain.ocloc import check_device, compile_source
from kernlens.toolchain.sources.source_reading import read_named
from kernlens.toolchain.sources.source_settings import settings_for
from kernlens.toolchain.toolchains import toolchain as find_toolchain
from kernlens.verbs.compile import targets_of


class LibraryModule(NamedTuple):
    """A module that was written to ``path``: SPIR-V (``device`` None), or a binary for a device."""

    source: str
    device: str | None
    path: str


def compile_modules(
    sources: Sequence[str], devices: Sequence[str], options: str, toolchain: str, folder: str | None, timeout: float
) -> list[LibraryModule]:
    """Write SOURCE.spv, and SOURCE.DEVICE.bin for each device, of each source. ``folder`` None: the working folder.

    Raises ToolError, with the compiler's log, for a source that does not compile, NotFoundError for a device that the toolchain
    does not have, OutputError for what cannot be written.
    """
    if ALL in devices:
        devices = [name for name, _ in targets_of(devices, [toolchain])[0]]
    if devices:
        chosen = find_toolchain(toolchain)
        for device in devices:
            check_device(device, chosen)
    modules: list[LibraryModule] = []
    for source in sources:
        words = settings_for(source).options(options)
        content = compile_library(source, words, timeout)
        spirv = _write(folder, f"{content.name}.spv", content.spirv)
        modules.append(LibraryModule(source, None, spirv))
        for device in devices:
            binary = _device_module(spirv, device, words, toolchain, timeout)
            modules.append(LibraryModule(source, device, _write(folder, f"{content.name}.{device}.bin", binary)))
    return modules


def _device_module(spirv: str, device: str, options: str, toolchain: str, timeout: float) -> bytes:
    result = compile_source(spirv, device, device_options(options), find_toolchain(toolchain), timeout)
    if not result.ok:
        raise ToolError(f"{result.reason}{_known_cause(Path(spirv))}", command=result.command, log=result.log)
    return result.binary


def _known_cause(spirv: Path) -> str:
    """Return the end of a sentence on a known crash of 22.43; empty for modules that it does not concern."""
    from kernlens.runtime.level_zero.spirv_hazards import exports_using_work_items

    exports = exports_using_work_items(read_named(spirv))
    if not exports:
        return ""
    return (
        f"; NEO 22.43 crashes for devices before Xe-HP on exported functions that ask for their work-item's id or size "
        f"({', '.join(exports)}): pass the id as an argument"
    )


def _write(folder: str | None, name: str, content: bytes) -> str:
    path = os.path.join(folder, name) if folder else name
    try:
        if folder:
            make_folder(Path(folder))
        Path(path).write_bytes(content)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name another folder with -o") from error
    return path
