"""The stages that a driver gives out by itself: with the program's binary, or in its cache."""

from __future__ import annotations

from functools import partial

from kernlens.errors import ToolError
from kernlens.formats.llvm_bitcode import is_bitcode
from kernlens.model.stage import BINARY, TEXT, Snapshot
from kernlens.model.stages import OCLGRIND, held
from kernlens.runtime.opencl.program_queries import OCLGRIND_PLATFORM
from kernlens.toolchain.cached_code import CachedCode, cached_snapshots
from kernlens.toolchain.host_texts import bitcode_text


def driver_stages(platform: str, binary: bytes, cached: CachedCode) -> tuple[Snapshot, ...]:
    """Return the stages of a program of an OpenCL platform that need no second build: what Oclgrind interprets, and what
    NVIDIA's driver has."""
    return oclgrind_stages(binary) if platform == OCLGRIND_PLATFORM else cached_snapshots(binary, cached)


def oclgrind_stages(binary: bytes) -> tuple[Snapshot, ...]:
    """Return both forms of the bitcode that is a program's binary; the text says why it is not there without llvm-dis."""
    if not is_bitcode(binary):
        return ()
    stage = OCLGRIND.stage("llvm-interpreted")
    as_text = partial(Snapshot, stage.name, None, TEXT, stage.text or "")
    try:
        text = bitcode_text(binary)
    except ToolError as error:
        return held(stage, binary, BINARY), as_text(bytes, failure=str(error))
    return held(stage, binary, BINARY), as_text(lambda: text, len(text))
