"""``kernlens compile --library``: OpenCL C to modules that others can link with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernlens.cli.output import print_json, print_lines
from kernlens.errors import OutputError, ToolError
from kernlens.toolchain.folders import make_folder


def compile_modules(
    sources: Sequence[str],
    devices: Sequence[str],
    options: str,
    toolchain: str,
    folder: str | None,
    timeout: float,
    as_json: bool,
) -> int:
    """Write SOURCE.spv and SOURCE.DEVICE.bin for each source; the exit status. ``folder`` None: where it was called.

    Raises what the compilers raise: a source that does not compile ends it.
    """
    from kernlens.toolchain.clang import compile_library
    from kernlens.toolchain.ocloc import check_device
    from kernlens.toolchain.toolchains import toolchain as find_toolchain

    if devices:
        chosen = find_toolchain(toolchain)
        for device in devices:
            check_device(device, chosen)
    written: list[dict[str, Any]] = []
    for source in sources:
        content = compile_library(source, options, timeout)
        spirv = _write(folder, f"{content.name}.spv", content.spirv)
        written.append({"source": source, "device": None, "path": spirv})
        for device in devices:
            binary = _device_module(spirv, device, options, toolchain, timeout)
            path = _write(folder, f"{content.name}.{device}.bin", binary)
            written.append({"source": source, "device": device, "path": path})
    if as_json:
        print_json({"schema": 1, "modules": written})
    else:
        print_lines(f"{module['source']} -> {module['path']}" for module in written)
    return 0


def _device_module(spirv: str, device: str, options: str, toolchain: str, timeout: float) -> bytes:
    from kernlens.toolchain.clang import device_options
    from kernlens.toolchain.ocloc import compile_source
    from kernlens.toolchain.toolchains import toolchain as find_toolchain

    result = compile_source(spirv, device, device_options(options), find_toolchain(toolchain), timeout)
    if not result.ok:
        raise ToolError(f"{result.reason}{_known_cause(Path(spirv))}", command=result.command, log=result.log)
    return result.binary


def _known_cause(spirv: Path) -> str:
    """22.43 crashes on libraries for devices before Xe-HP whose functions ask for their work-item."""
    from kernlens.runtime.level_zero.spirv_hazards import exports_using_work_items

    exports = exports_using_work_items(spirv.read_bytes())
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
