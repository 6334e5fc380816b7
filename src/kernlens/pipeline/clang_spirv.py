"""The compile to SPIR-V for no device, with every stage kept: clang makes LLVM bitcode, llvm-spirv turns it into a module.

The commands are those of ``compile --library``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from kernlens.errors import UnsupportedError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.model.build import Build, BuildToolchain, HeldParts
from kernlens.model.stage import TEXT
from kernlens.model.stages import CLANG, held
from kernlens.pipeline.pocl import both_forms
from kernlens.toolchain.clang import (
    TIMEOUT,
    FrontEnd,
    clang_command,
    failure_reason,
    find_front_end,
    translator_command,
)
from kernlens.toolchain.host_texts import TOOL_TIMEOUT, bitcode_text
from kernlens.toolchain.process import command_line, run, temporary_folder
from kernlens.toolchain.sources.includes import existing_source, source_files
from kernlens.toolchain.sources.source_reading import read_beside, read_named
from kernlens.toolchain.spirv_disassembly import spirv_text

_SOURCE, _LLVM, _SPIRV = map(CLANG.stage, ("source", "llvm", "spirv"))
_VERSION = re.compile(r"\bversion (\d[\w.]*)")


def snapshots(source: str | Path, options: str = "", *, dump_folder: Path | None = None) -> Build:
    """Compile ``source`` (OpenCL C) to SPIR-V and keep every stage. A source that does not compile gives a Build that
    is not ``ok``, with the stages up to the error. Raises ToolError if clang or llvm-spirv is missing or does not end,
    UnsupportedError for a source that is SPIR-V, OutputError if there is no temporary folder."""
    path = existing_source(source)
    text = read_named(path)
    if is_spirv(text):
        raise UnsupportedError(
            f"{path} is SPIR-V already; with --device {CLANG.device} a source in OpenCL C is compiled"
        )
    front_end = find_front_end()
    build = Build(
        name=path.stem,
        device=CLANG.device,
        # llvm-spirv tells only the version of the LLVM that it is made for.
        toolchain=BuildToolchain(
            f"clang {_version(front_end.clang, front_end.version)}, "
            f"llvm-spirv for LLVM {_version(front_end.translator, front_end.version)}"
        ),
        options=options,
        command=_by_hand(front_end, path, options),
        path=str(source),
    )
    parts = HeldParts(sources=source_files(path, options), snapshots=(held(_SOURCE, text, TEXT),))
    with temporary_folder(dump_folder) as folder:
        bitcode, module = Path(folder, "module.bc"), Path(folder, "module.spv")
        compiled = run(clang_command(front_end, path, options, str(bitcode)), timeout=TIMEOUT)
        build, parts = replace(build, seconds=compiled.seconds), replace(parts, log=compiled.log)
        reason = failure_reason(compiled, path)
        if reason is None:
            content = read_beside(bitcode, folder)
            # Not the newest llvm-dis: each version writes the text that the assembler of the same version reads.
            disassemble = partial(bitcode_text, content, f"llvm-dis-{front_end.version}")
            stage_snapshots = both_forms(_LLVM, content, disassemble, None, build.seconds)
            translated = run(translator_command(front_end, str(bitcode), str(module)), timeout=TIMEOUT)
            build = replace(build, seconds=build.seconds + translated.seconds)
            parts = replace(parts, log=parts.log + translated.log, snapshots=(*parts.snapshots, *stage_snapshots))
            reason = failure_reason(translated, path)
        if reason is None:
            spirv = read_beside(module, folder)
            stage_snapshots = both_forms(_SPIRV, spirv, partial(spirv_text, spirv), None, build.seconds)
            parts = replace(parts, spirv=spirv, snapshots=(*parts.snapshots, *stage_snapshots))
    return replace(build, ok=reason is None, reason=reason, parts=parts)


def _by_hand(front_end: FrontEnd, path: Path, options: str) -> str:
    """Return the commands as one would type them, with files in the working folder that are named after the source."""
    bitcode, spirv = f"{path.stem}.bc", f"{path.stem}.spv"
    commands = (clang_command(front_end, path, options, bitcode), translator_command(front_end, bitcode, spirv))
    return " && ".join(command_line(command) for command in commands)


def _version(program: str, default: str) -> str:
    match = _VERSION.search(run([program, "--version"], timeout=TOOL_TIMEOUT).stdout)
    return match[1] if match else default
