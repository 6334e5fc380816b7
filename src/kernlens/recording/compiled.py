"""Record what a compile gave."""

from __future__ import annotations

from kernlens.recording.writer import ProgramEntry, RecordedToolchain
from kernlens.toolchain.ocloc import OclocResult


def program_entry(result: OclocResult) -> ProgramEntry:
    """The compile's result as the recording holds it."""
    chosen = result.toolchain
    return ProgramEntry(
        name=result.name,
        device=result.device,
        toolchain=RecordedToolchain(chosen.name, chosen.neo_version or "", chosen.igc_version or ""),
        options=result.options,
        ok=result.ok,
        reason=result.reason or "",
        log=result.log,
        seconds=result.seconds,
        command=result.command,
        binary=result.binary,
        debug=result.debug,
        spirv=result.spirv,
        sources=result.sources,
    )
