"""The stages of Intel's GPU compiler (IGC), offline through ocloc.

Names and order: docs/stages.md. The compiler writes its stages into a folder when variables tell it to (``IGC_*``:
``IGC/common/igc_flags.h`` of intel-graphics-compiler).
"""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from pathlib import Path

from kernlens.errors import OutputError
from kernlens.model.build import Build
from kernlens.model.stage import BINARY, KERNEL, PROGRAM, TEXT, Snapshot, Stage, held
from kernlens.pipeline.igc_dump import FULL, is_full, read_dump
from kernlens.pipeline.second_build import DriverDiedError, SecondBuild, second_build, with_snapshots
from kernlens.toolchain.ocloc import TIMEOUT, compile_source
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.toolchains import Toolchain

#: (name, what stands between hash and ending in its file's name, what it is)
_LLVM = (
    ("llvm-before-unification", "beforeUnification", "LLVM IR as read from SPIR-V"),
    ("llvm-unified", "afterUnification", "LLVM IR after lowering, with the built-in library"),
    ("llvm-optimized", "optimized", "LLVM IR after optimisation"),
    ("llvm-push-analysis", "push_analysis", "LLVM IR with arguments placed in the payload"),
    ("llvm-codegen", "codegen", "LLVM IR as the code generator left it"),
)
_BEFORE_KERNELS = (
    Stage("source", ".cl", None, TEXT, PROGRAM, "OpenCL C as given by the application"),
    Stage("spirv", ".spvasm", ".spv", BINARY, PROGRAM, "the SPIR-V module that the front end made"),
    *(Stage(name, ".ll", None, TEXT, PROGRAM, sentence, dump) for name, dump, sentence in _LLVM),
)
_KERNELS = (
    Stage("visa-llvm-map", ".visa.ll", None, TEXT, KERNEL, "LLVM lines with the numbers of their vISA instructions"),
    Stage("gen-assembly", ".asm", ".dat", TEXT, KERNEL, "machine instructions; the binary form is their bytes"),
    Stage("debug", None, ".elf", BINARY, KERNEL, "the kernel's DWARF; only with -g or -gline-tables-only"),
)
_VISA_SENTENCE = "virtual ISA, before register allocation"
_RESOURCES_SENTENCE = "what the driver must know to run it"
_END = Stage("program", None, ".progbin", BINARY, PROGRAM, "the device binary")

#: IGC 1 writes the binary form of vISA, and resources per kernel; IGC 2 neither.
IGC_1 = (
    *_BEFORE_KERNELS,
    Stage("visa", ".visaasm", ".isa", TEXT, KERNEL, _VISA_SENTENCE),
    *_KERNELS,
    Stage("resources", ".cos", ".kernbin", TEXT, KERNEL, _RESOURCES_SENTENCE),
    _END,
)
IGC_2 = (
    *_BEFORE_KERNELS,
    Stage("visa", ".visaasm", None, TEXT, KERNEL, _VISA_SENTENCE),
    *_KERNELS,
    Stage("resources", ".zeinfo", None, TEXT, PROGRAM, _RESOURCES_SENTENCE),
    _END,
)


#: Year and week of the first driver release that was made for IGC 2.
_FIRST_WITH_IGC_2 = (24, 48)


def stages_of(chosen: Toolchain) -> tuple[Stage, ...]:
    """The stages of the toolchain's compiler, in pipeline order."""
    return stages_of_version(chosen.igc_version)


def stages_of_version(igc_version: str | None) -> tuple[Stage, ...]:
    """The same by IGC's version; an unknown one is taken for a new one."""
    return IGC_1 if (igc_version or "").split(".")[0] == "1" else IGC_2


def dump_environment(folder: Path, all_passes: bool = False) -> dict[str, str]:
    """The variables that make the compiler write its stages into ``folder``, which must exist: IGC 1 would take the
    working folder instead."""
    settings = {
        "IGC_ShaderDumpEnable": "1",
        "IGC_SpvAsmDumpEnable": "1",
        "IGC_ShowFullVectorsInShaderDumps": "1",  # else metadata of more than 1,000 elements is cut short
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
    timeout: float = TIMEOUT,
    dump_folder: Path | None = None,
) -> Build:
    """Compile ``source`` for ``device`` and keep every stage; with ``all_passes`` also the LLVM IR after each pass.

    The dumps go to a temporary folder below ``dump_folder`` (None: the system's). A source that does not compile gives
    a Build that is not ``ok`` and the stages that it got to. Raises what ``compile_source`` raises, and OutputError if
    there is no temporary folder.
    """
    with temporary_folder(dump_folder) as name:
        folder = Path(name)
        environment = dump_environment(folder, all_passes)
        started = time.time_ns()
        result = compile_source(source, device, options, chosen, timeout, environment=environment)
        found = read_dump(folder, stages_of(chosen), result.binary, started)
        if not result.ok and is_full(folder):
            # The compiler dies of a dump that it cannot write: the source is not to blame, and the program still wanted.
            result = compile_source(source, device, options, chosen, timeout)
    return replace(
        result,
        command=" ".join([*_by_hand(environment), result.command]),
        parts=with_snapshots(result, _with_spirv(found, result, stages_of(chosen))),
    )


def snapshots_of(wanted: SecondBuild, stages: tuple[Stage, ...], dump_folder: Path | None = None) -> Build:
    """The same for a build by the driver, in a child process; ``stages`` are those of the driver's compiler.

    The device may be a simulated one: ``wanted.environment``, or this process's own, says so. A program that does not
    build gives a Build that is not ``ok``. Raises what ``second_build`` raises, and OutputError as above.
    """
    with temporary_folder(dump_folder) as name:
        folder = Path(name)
        try:
            done, started = second_build(wanted, dump_environment(folder))
        except DriverDiedError as error:
            if is_full(folder):
                raise OutputError(f"the driver died: {FULL}") from error
            raise
        return replace(done, parts=with_snapshots(done, read_dump(folder, stages, done.binary, started)))


def stages_of_driver(driver_version: str) -> tuple[Stage, ...]:
    """The stages of the compiler in a driver whose CL_DRIVER_VERSION is this (``26.27.039122``)."""
    numbers = [int(part) for part in driver_version.split(".")[:2] if part.isdecimal()]
    return IGC_2 if tuple(numbers) >= _FIRST_WITH_IGC_2 else IGC_1


def _by_hand(environment: dict[str, str]) -> list[str]:
    """The variables as words of a command line, with a folder that the reader is to choose."""
    return [f"{name}={shlex.quote(value)}" for name, value in (environment | {"IGC_DumpToCustomDir": "DUMPS/"}).items()]


def _with_spirv(found: tuple[Snapshot, ...], result: Build, stages: tuple[Stage, ...]) -> tuple[Snapshot, ...]:
    """With the SPIR-V that ocloc itself wrote, where the compiler dumped none."""
    if not result.spirv or any(one.stage == "spirv" and one.form == BINARY for one in found):
        return found
    stage = next(stage for stage in stages if stage.name == "spirv")
    place = next((index for index, one in enumerate(found) if one.stage not in ("source", "spirv")), len(found))
    return (*found[:place], held(stage, result.spirv, BINARY), *found[place:])
