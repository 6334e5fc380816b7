"""The stages of an offline compile to SPIR-V, for no device: clang makes LLVM bitcode, llvm-spirv a module of it.

Names and order: docs/stages.md. The commands are those of ``compile --library``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernlens.errors import UnsupportedError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.model.stage import BINARY, PROGRAM, TEXT, CompileRun, Snapshot, Stage, held
from kernlens.pipeline.pocl import TOOL_TIMEOUT, bitcode_text
from kernlens.toolchain.clang import (
    TIMEOUT,
    FrontEnd,
    clang_command,
    failure_reason,
    find_front_end,
    translator_command,
)
from kernlens.toolchain.includes import existing_source, source_files
from kernlens.toolchain.process import command_line, run, temporary_folder
from kernlens.toolchain.spirv_disassembly import spirv_text

#: What users call it in a device's place.
DEVICE = "spirv"

STAGES = (
    Stage("source", ".cl", None, TEXT, PROGRAM, "OpenCL C as given by the application"),
    Stage("llvm", ".ll", ".bc", BINARY, PROGRAM, "LLVM bitcode from clang, not optimised"),
    Stage("spirv", ".spvasm", ".spv", BINARY, PROGRAM, "the SPIR-V module that llvm-spirv made of it"),
)
_SOURCE, _LLVM, _SPIRV = STAGES
_VERSION = re.compile(r"\bversion (\d[\w.]*)")


@dataclass(frozen=True, slots=True)
class _Steps:
    """What the commands did: a reason if one of them failed, and the files that were made until then."""

    reason: str | None
    log: str
    bitcode: bytes = b""
    spirv: bytes = b""
    bitcode_seconds: float = 0.0
    seconds: float = 0.0


def snapshots(
    source: str | Path, options: str = "", *, timeout: float = TIMEOUT, dump_folder: Path | None = None
) -> tuple[CompileRun, tuple[Snapshot, ...]]:
    """Compile ``source`` (OpenCL C) to SPIR-V and keep every stage; ``timeout`` is in seconds, for each command.

    A source that does not compile gives a run that is not ``ok`` and the stages that it got to. Raises ToolError if
    clang or llvm-spirv is missing or does not end, UnsupportedError for a source that is SPIR-V, OutputError if there
    is no temporary folder.
    """
    path = existing_source(source)
    text = path.read_bytes()
    if is_spirv(text):
        raise UnsupportedError(f"{path} is SPIR-V already; with --device {DEVICE} a source in OpenCL C is compiled")
    front_end = find_front_end()
    done = _compile(front_end, path, options, timeout, dump_folder)
    compiled = CompileRun(
        source=str(source),
        device=DEVICE,
        options=options,
        command=_by_hand(front_end, path, options),
        versions=_versions(front_end),
        ok=done.reason is None,
        reason=done.reason,
        log=done.log,
        seconds=done.seconds,
        spirv=done.spirv,
        sources=source_files(path, options),
    )
    return compiled, (held(_SOURCE, text, TEXT), *_made(front_end, done))


def _compile(front_end: FrontEnd, path: Path, options: str, timeout: float, below: Path | None) -> _Steps:
    with temporary_folder(below) as folder:
        bitcode, spirv = os.path.join(folder, "module.bc"), os.path.join(folder, "module.spv")
        compiled = run(clang_command(front_end, path, options, bitcode), timeout=timeout)
        reason = failure_reason(compiled, path)
        if reason is not None:
            return _Steps(reason, compiled.log, seconds=compiled.seconds)
        made = Path(bitcode).read_bytes()
        translated = run(translator_command(front_end, bitcode, spirv), timeout=timeout)
        reason = failure_reason(translated, path)
        return _Steps(
            reason,
            compiled.log + translated.log,
            made,
            Path(spirv).read_bytes() if reason is None else b"",
            compiled.seconds,
            compiled.seconds + translated.seconds,
        )


def _made(front_end: FrontEnd, done: _Steps) -> Iterator[Snapshot]:
    """Both forms of what the commands made; text is made by a disassembler when it is asked for."""
    if done.bitcode:
        seconds = done.bitcode_seconds
        yield held(_LLVM, done.bitcode, BINARY, None, seconds)
        # Not the newest one that there is: each version writes the text that its own assembler reads.
        tool = f"llvm-dis-{front_end.version}"
        yield Snapshot(
            _LLVM.name, None, TEXT, _LLVM.text or "", partial(bitcode_text, done.bitcode, tool), seconds=seconds
        )
    if done.spirv:
        yield held(_SPIRV, done.spirv, BINARY, None, done.seconds)
        yield Snapshot(
            _SPIRV.name, None, TEXT, _SPIRV.text or "", partial(spirv_text, done.spirv), seconds=done.seconds
        )


def _by_hand(front_end: FrontEnd, path: Path, options: str) -> str:
    """The commands with the files named after the source, in the working folder."""
    bitcode, spirv = f"{path.stem}.bc", f"{path.stem}.spv"
    commands = (clang_command(front_end, path, options, bitcode), translator_command(front_end, bitcode, spirv))
    return " && ".join(command_line(command) for command in commands)


def _versions(front_end: FrontEnd) -> tuple[str, ...]:
    """llvm-spirv has no version of its own to tell but that of the LLVM that it is made for."""
    return (
        f"clang {_version(front_end.clang, front_end.version)}",
        f"llvm-spirv for LLVM {_version(front_end.translator, front_end.version)}",
    )


def _version(program: str, otherwise: str) -> str:
    match = _VERSION.search(run([program, "--version"], timeout=TOOL_TIMEOUT).stdout)
    return match[1] if match else otherwise
