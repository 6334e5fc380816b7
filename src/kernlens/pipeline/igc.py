"""The compile with Intel's GPU compiler (IGC), with every stage kept: offline through ocloc, or in a second build.

The compiler writes its stages into a folder when variables tell it to (``IGC_*``: ``IGC/common/igc_flags.h``
of intel-graphics-compiler).
"""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from pathlib import Path

from kernlens.errors import OutputError, ToolError
from kernlens.model.build import Build
from kernlens.model.stage import BINARY, TEXT, Snapshot
from kernlens.model.stages import IGC_1, IGC_2, PASS_TIMES, VECTOR_1, VECTOR_2, CompilerKind, held
from kernlens.pipeline.igc_dump import FULL, is_full, is_vector_dump, pass_time_lines, read_dump
from kernlens.pipeline.second_build import SecondBuild, second_build
from kernlens.runtime.isolation import DriverDiedError
from kernlens.toolchain.ocloc import compile_source
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.spirv_disassembly import spirv_text
from kernlens.toolchain.toolchains import Toolchain

#: The vector compiler, which compiles ESIMD, has stages of its own.
_VECTOR = {IGC_1: VECTOR_1, IGC_2: VECTOR_2}

#: The first driver release that was made for IGC 2: its year and week, and its number.
_FIRST_WITH_IGC_2 = (24, 48, 31907)


def compiler_of(chosen: Toolchain) -> CompilerKind:
    """Return the toolchain's compiler; an unknown version is taken for a new one."""
    return IGC_1 if (chosen.igc_version or "").split(".")[0] == "1" else IGC_2


def dump_environment(folder: Path, all_passes: bool = False) -> dict[str, str]:
    """Return the variables that make the compiler write its stages into ``folder``. The folder must exist: otherwise
    IGC 1 writes into the working folder."""
    settings = {
        "IGC_ShaderDumpEnable": "1",
        "IGC_SpvAsmDumpEnable": "1",
        "IGC_ShowFullVectorsInShaderDumps": "1",  # Without it, IGC cuts metadata at 1,000 elements.
        "IGC_DumpToCustomDir": f"{folder}/",
    }
    return {**settings, "IGC_ShaderDumpEnableAll": "1"} if all_passes else settings


def snapshots(
    source: str | Path,
    device: str,
    options: str,
    chosen: Toolchain,
    all_passes: bool = False,
    *,
    dump_folder: Path | None = None,
) -> Build:
    """Compile ``source`` for ``device`` and keep every stage; with ``all_passes`` also the LLVM IR after each pass. The
    dumps go to a temporary folder below ``dump_folder`` (None: the system's). A source that does not compile gives a
    Build that is not ``ok``, with the stages up to the error. Raises what ``compile_source`` raises, and OutputError if
    there is no temporary folder."""
    with temporary_folder(dump_folder) as name:
        folder = Path(name)
        environment = dump_environment(folder, all_passes)
        # When the compiler began: whether it knows the device is asked before, which may take as long as a compile.
        started: list[int] = []
        result = compile_source(
            source, device, options, chosen, on_start=lambda _: started.append(time.time_ns()), environment=environment
        )
        # What no compiler was asked for, such as damaged SPIR-V, has no stages.
        dumped = _read_dump(folder, compiler_of(chosen), result.binary, started[0]) if started else ()
        if not result.ok and is_full(folder):
            # A dump that cannot be written kills the compiler: the source is not to blame, and the program still wanted.
            result = compile_source(source, device, options, chosen)
    times: tuple[Snapshot, ...] = ()
    if all_passes and result.ok and compiler_of(chosen) == IGC_2:
        times = _pass_times(source, device, options, chosen, dump_folder)
    staged = result.with_parts(snapshots=(*_with_spirv(dumped, result, compiler_of(chosen)), *times))
    return replace(staged, command=" ".join([*_by_hand(environment), result.command]))


def snapshots_of(build: SecondBuild, driver_version: str) -> Build:
    """Do ``build`` on the driver of this version, in a child process, and keep every stage. ``build.variables`` or this
    process's environment may simulate the device. A program that does not build gives a Build that is not ``ok``.
    Raises what ``second_build`` raises, and OutputError if there is no temporary folder."""
    with temporary_folder() as name:
        folder = Path(name)
        try:
            result, start_time = second_build(build, dump_environment(folder))
        except DriverDiedError as error:
            if is_full(folder):
                raise OutputError(f"the driver died: {FULL}") from error
            raise
        return result.with_parts(
            snapshots=_read_dump(folder, compiler_of_driver(driver_version), result.binary, start_time)
        )


def _pass_times(
    source: str | Path, device: str, options: str, chosen: Toolchain, dump_folder: Path | None
) -> tuple[Snapshot, ...]:
    """Compile once more and return how long each pass took; nothing if the compiler did not say it.

    The dumps of another compile would be counted as a part of the pass after them. IGC 1 has the same setting, and crashes.
    """
    with temporary_folder(dump_folder) as name:
        environment = {"IGC_DumpTimeStatsPerPass": "1", "IGC_DumpToCustomDir": f"{name}/"}
        compile_source(source, device, options, chosen, environment=environment, has_sources=False)
        content = "".join(f"{line}\n" for line in pass_time_lines(Path(name))).encode()
    return (Snapshot(PASS_TIMES, None, TEXT, ".csv", lambda: content, len(content)),) if content else ()


def _read_dump(folder: Path, compiler: CompilerKind, binary: bytes, start_time: int) -> tuple[Snapshot, ...]:
    if is_vector_dump(folder):
        return read_dump(folder, _VECTOR[compiler], binary, start_time)
    return _with_spirv_text(read_dump(folder, compiler, binary, start_time), compiler)


def _with_spirv_text(snapshots: tuple[Snapshot, ...], compiler: CompilerKind) -> tuple[Snapshot, ...]:
    """Return the snapshots with spirv-dis's text of the SPIR-V if the compiler wrote none, as of loops with ``unroll(N)``."""
    positions = [index for index, each in enumerate(snapshots) if each.stage == "spirv" and each.failure is None]
    if [snapshots[position].form for position in positions] != [BINARY]:
        return snapshots
    (position,), stage = positions, compiler.stage("spirv")
    try:
        text = held(stage, spirv_text(snapshots[position].content), TEXT)
    except ToolError as error:
        text = Snapshot(stage.name, None, TEXT, stage.text or "", bytes, failure=f"IGC wrote no text; {error}")
    return (*snapshots[: position + 1], text, *snapshots[position + 1 :])


def compiler_of_driver(driver_version: str) -> CompilerKind:
    """Return a driver's compiler; ``driver_version`` is its CL_DRIVER_VERSION (``26.27.039122``), or that of
    Level Zero, which ends with the same number (``1.15.39122``)."""
    numbers = tuple(int(part) for part in driver_version.split(".")[:3] if part.isdecimal())
    is_newer = numbers[2:] >= _FIRST_WITH_IGC_2[2:] if numbers[:1] == (1,) else numbers >= _FIRST_WITH_IGC_2[:2]
    return IGC_2 if is_newer else IGC_1


def _by_hand(environment: dict[str, str]) -> list[str]:
    """Return the variables as words of a command line, with a folder's name for the reader to replace."""
    return [f"{name}={shlex.quote(value)}" for name, value in (environment | {"IGC_DumpToCustomDir": "DUMPS/"}).items()]


def _with_spirv(snapshots: tuple[Snapshot, ...], build: Build, compiler: CompilerKind) -> tuple[Snapshot, ...]:
    """Return the snapshots with the SPIR-V that ocloc wrote, if the compiler dumped none."""
    if not build.spirv or any(each.stage == "spirv" and each.form == BINARY for each in snapshots):
        return snapshots
    first = [index for index, each in enumerate(snapshots) if each.stage not in ("source", "spirv")]
    position = first[0] if first else len(snapshots)
    return (*snapshots[:position], held(compiler.stage("spirv"), build.spirv, BINARY), *snapshots[position:])
