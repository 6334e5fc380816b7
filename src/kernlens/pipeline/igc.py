"""Compile with Intel's GPU compiler (IGC) and keep every stage: offline through ocloc, or in a second build.

docs/stages.md lists the stages. The compiler writes its stages into a folder when variables tell it to (``IGC_*``:
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
from kernlens.pipeline.igc_dump import FULL, is_full, is_vector_dump, read_dump
from kernlens.pipeline.second_build import DriverDiedError, SecondBuild, second_build
from kernlens.toolchain.ocloc import compile_source
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
#: The same of the vector compiler, which compiles ESIMD.
_VECTOR_LLVM = (
    ("llvm-spirv-reader", "after_spirv_reader", "LLVM IR as read from SPIR-V"),
    ("llvm-ir-adaptors", "after_ir_adaptors", "LLVM IR with the vector compiler's own intrinsics"),
    ("llvm-optimized", "optimized", "LLVM IR after optimisation"),
    ("llvm-final", "final", "LLVM IR as the code generator left it"),
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

#: IGC 1 writes a binary form of vISA, and resources per kernel; IGC 2 does neither.
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


def vector_stages(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Return the stages that the vector compiler of the same IGC has, in pipeline order."""
    spirv = Stage("spirv", None, ".spv", BINARY, PROGRAM, "the SPIR-V module that the front end made", "igc_input")
    llvm = (Stage(name, ".ll", None, TEXT, PROGRAM, sentence, dump) for name, dump, sentence in _VECTOR_LLVM)
    return (spirv, *llvm, *stages[len(_BEFORE_KERNELS) :])


#: Those of the newer vector compiler.
VECTOR = vector_stages(IGC_2)

#: The first driver release that was made for IGC 2: its year and week, and its number.
_FIRST_WITH_IGC_2 = (24, 48, 31907)


def stages_of(chosen: Toolchain) -> tuple[Stage, ...]:
    """Return the stages of the toolchain's compiler, in pipeline order."""
    return stages_of_version(chosen.igc_version)


def stages_of_version(igc_version: str | None) -> tuple[Stage, ...]:
    """Return the stages of an IGC version, in pipeline order; an unknown version is taken for a new one."""
    return IGC_1 if (igc_version or "").split(".")[0] == "1" else IGC_2


def dump_environment(folder: Path, all_passes: bool = False) -> dict[str, str]:
    """Return the variables that make the compiler write its stages into ``folder``.

    The folder must exist: otherwise IGC 1 writes into the working folder.
    """
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
    """Compile ``source`` for ``device`` and keep every stage; with ``all_passes`` also the LLVM IR after each pass.

    The dumps go to a temporary folder below ``dump_folder`` (None: the system's). A source that does not compile gives
    a Build that is not ``ok``, with the stages up to the error. Raises what ``compile_source`` raises, and OutputError if
    there is no temporary folder.
    """
    with temporary_folder(dump_folder) as name:
        folder = Path(name)
        environment = dump_environment(folder, all_passes)
        # When the compiler began: whether it knows the device is asked before, which may take as long as a compile.
        started: list[int] = []
        result = compile_source(
            source,
            device,
            options,
            chosen,
            on_start=lambda _: started.append(time.time_ns()),
            environment=environment,
        )
        # What no compiler was asked for, such as damaged SPIR-V, has no stages.
        dumped = _read_dump(folder, stages_of(chosen), result.binary, started[0]) if started else ()
        if not result.ok and is_full(folder):
            # A dump that cannot be written kills the compiler: the source is not to blame, and the program still wanted.
            result = compile_source(source, device, options, chosen)
    staged = result.with_parts(snapshots=_with_spirv(dumped, result, stages_of(chosen)))
    return replace(staged, command=" ".join([*_by_hand(environment), result.command]))


def snapshots_of(build: SecondBuild, stages: tuple[Stage, ...]) -> Build:
    """Do ``build`` on the driver, in a child process, and keep every stage; ``stages`` are those of its compiler.

    ``build.variables`` or this process's environment may simulate the device. A program that does not build gives a
    Build that is not ``ok``. Raises what ``second_build`` raises, and OutputError if there is no temporary folder.
    """
    with temporary_folder() as name:
        folder = Path(name)
        try:
            result, start_time = second_build(build, dump_environment(folder))
        except DriverDiedError as error:
            if is_full(folder):
                raise OutputError(f"the driver died: {FULL}") from error
            raise
        return result.with_parts(snapshots=_read_dump(folder, stages, result.binary, start_time))


def _read_dump(folder: Path, stages: tuple[Stage, ...], binary: bytes, start_time: int) -> tuple[Snapshot, ...]:
    return read_dump(folder, vector_stages(stages) if is_vector_dump(folder) else stages, binary, start_time)


def stages_of_driver(driver_version: str) -> tuple[Stage, ...]:
    """Return the stages of a driver's compiler; ``driver_version`` is its CL_DRIVER_VERSION (``26.27.039122``), or that of
    Level Zero, which ends with the same number (``1.15.39122``)."""
    numbers = tuple(int(part) for part in driver_version.split(".")[:3] if part.isdecimal())
    is_newer = numbers[2:] >= _FIRST_WITH_IGC_2[2:] if numbers[:1] == (1,) else numbers >= _FIRST_WITH_IGC_2[:2]
    return IGC_2 if is_newer else IGC_1


def _by_hand(environment: dict[str, str]) -> list[str]:
    """Return the variables as words of a command line, with a folder's name for the reader to replace."""
    return [f"{name}={shlex.quote(value)}" for name, value in (environment | {"IGC_DumpToCustomDir": "DUMPS/"}).items()]


def _with_spirv(snapshots: tuple[Snapshot, ...], build: Build, stages: tuple[Stage, ...]) -> tuple[Snapshot, ...]:
    """Return the snapshots with the SPIR-V that ocloc wrote, if the compiler dumped none."""
    if not build.spirv or any(each.stage == "spirv" and each.form == BINARY for each in snapshots):
        return snapshots
    stage = next(stage for stage in stages if stage.name == "spirv")
    first = [index for index, each in enumerate(snapshots) if each.stage not in ("source", "spirv")]
    position = first[0] if first else len(snapshots)
    return (*snapshots[:position], held(stage, build.spirv, BINARY), *snapshots[position:])
