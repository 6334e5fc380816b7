"""The stages that a driver gives out by itself: with the program's binary, or in its cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kernlens.errors import ToolError
from kernlens.formats.bitcode_magic import is_bitcode
from kernlens.formats.rusticl import rusticl_spirv
from kernlens.model.stage import BINARY, TEXT, Snapshot
from kernlens.model.stages import BITCODE, OCLGRIND, RUSTICL, Stage, held
from kernlens.runtime.opencl.program_queries import OCLGRIND_PLATFORM, RUSTICL_PLATFORM
from kernlens.toolchain.cached_code import CachedCode, cached_snapshots
from kernlens.toolchain.host_texts import bitcode_text
from kernlens.toolchain.spirv_disassembly import spirv_text

#: The platforms whose program binaries are a stage, or hold one, and their compilers.
IN_BINARIES = {OCLGRIND_PLATFORM: OCLGRIND, RUSTICL_PLATFORM: RUSTICL}


def driver_stages(platform: str, binary: bytes, cached: CachedCode) -> tuple[Snapshot, ...]:
    """Return the stages of a program of an OpenCL platform that need no second build: what its binary holds, and what
    NVIDIA's driver has in its cache."""
    return stages_in_binary(platform, binary) if platform in IN_BINARIES else cached_snapshots(binary, cached)


def stages_in_binary(platform: str, binary: bytes) -> tuple[Snapshot, ...]:
    """Return both forms of the stage that the binary of a program of one of ``IN_BINARIES`` holds."""
    if platform == OCLGRIND_PLATFORM:
        return _both(OCLGRIND.stage("llvm-interpreted"), binary, bitcode_text) if is_bitcode(binary) else ()
    module = rusticl_spirv(memoryview(binary))
    return () if module is None else _both(RUSTICL.stage("spirv"), bytes(module), spirv_text)


def bitcode_stages(module: bytes) -> tuple[Snapshot, ...]:
    """Return both forms of the one stage that a module of a library of bitcode is; the text is made when it is asked for."""
    stage = BITCODE.stage("llvm-library")
    as_text = Snapshot(stage.name, None, TEXT, stage.text or "", partial(bitcode_text, module))
    return held(stage, module, BINARY), as_text


def _both(stage: Stage, content: bytes, disassemble: Callable[[bytes], bytes]) -> tuple[Snapshot, ...]:
    """Return both forms of a stage; where the tool is missing or fails, the text's is the reason."""
    as_text = partial(Snapshot, stage.name, None, TEXT, stage.text or "")
    try:
        text = disassemble(content)
    except ToolError as error:
        return held(stage, content, BINARY), as_text(bytes, failure=str(error))
    return held(stage, content, BINARY), as_text(lambda: text, len(text))
