"""The compile of OpenCL C to SPIR-V with clang and llvm-spirv, for modules that export and import functions.

ocloc's front end gives no linkage to functions that nobody calls, and refuses function pointers; clang keeps every
function, and llvm-spirv writes ``LinkageAttributes`` for each that is not static, and function pointers with
``SPV_INTEL_function_pointers`` (which changes nothing in a module that has none).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import ToolError
from kernlens.model.build import Build, HeldParts
from kernlens.toolchain.diagnostics import error_lines
from kernlens.toolchain.packages import first_known, how_to_get
from kernlens.toolchain.process import Completed, command_line, run, temporary_folder
from kernlens.toolchain.sources.includes import existing_source, operand, split_options
from kernlens.toolchain.sources.source_reading import read_beside

#: Seconds that one command may take.
TIMEOUT = 120.0
#: LLVM's versions, newest last: an llvm-spirv reads only the bitcode of the clang with the same version.
VERSIONS = (15, 16, 17, 18, 19)
#: These options make Intel's compiler export every function and variable that has linkage.
LIBRARY_OPTIONS = "-library-compilation -ze-take-global-address"
#: How options begin that only the device's compiler knows.
_BACK_END_OPTIONS = ("-ze-", "-library-compilation", "-cl-intel-", "-cl-take-global-address", "-igc", "-vc-codegen")
_LANGUAGE = "-cl-std=CL2.0"


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """A clang and the llvm-spirv that reads its bitcode."""

    clang: str
    translator: str

    @property
    def version(self) -> str:
        """LLVM's major version, which both have in their names."""
        return self.clang.rpartition("-")[2]


def find_front_end() -> FrontEnd:
    """Return the oldest pair that is installed. Raises ToolError, with what to install, if there is none."""
    for version in VERSIONS:
        clang, translator = shutil.which(f"clang-{version}"), shutil.which(f"llvm-spirv-{version}")
        if clang and translator:
            log.debug("toolchain", "the front end is %s with %s", clang, translator)
            return FrontEnd(clang, translator)
        log.debug("toolchain", "clang-%d: %s, llvm-spirv-%d: %s", version, clang, version, translator)
    missing = missing_front_end()
    raise ToolError(
        f"{' and '.join(missing)} not found, which make SPIR-V with exports; to get them: {how_to_get(*missing)}"
    )


def missing_front_end() -> list[str]:
    """Return what is not installed of the oldest pair that this system has packages of."""
    pairs = [(f"clang-{version}", f"llvm-spirv-{version}") for version in VERSIONS]
    return [name for name in first_known(pairs) or pairs[0] if shutil.which(name) is None]


def compile_library(source: str | Path, options: str = "", timeout: float = TIMEOUT) -> Build:
    """Compile an OpenCL C file to SPIR-V that exports every function and variable that is not static. ``options`` are
    build options; clang does not get those that only the device's compiler knows. The language is OpenCL C 2.0 unless
    ``-cl-std`` says otherwise. Optimisation is left to the device's compiler. Raises NotFoundError for a file that does
    not exist, ToolError with the compiler's log for one that does not compile."""
    path = existing_source(source)
    front_end = find_front_end()
    with temporary_folder() as folder:
        bitcode, spirv = os.path.join(folder, "module.bc"), os.path.join(folder, "module.spv")
        compiled = _run(clang_command(front_end, path, options, bitcode), path, timeout)
        translated = _run(translator_command(front_end, bitcode, spirv), path, timeout)
        parts = HeldParts(log=compiled.log + translated.log, spirv=read_beside(spirv, folder))
    return Build(
        name=path.stem, options=options, seconds=compiled.seconds + translated.seconds, path=str(path), parts=parts
    )


def device_options(options: str) -> str:
    """Return build options for the device's compiler, with those added that make it export."""
    words = split_options(options)
    return " ".join([options, *(word for word in LIBRARY_OPTIONS.split() if word not in words)]).strip()


def clang_command(front_end: FrontEnd, source: Path, options: str, output: str) -> list[str]:
    """Return the command that compiles OpenCL C to LLVM bitcode in the file ``output``."""
    words = [word for word in split_options(options) if not word.startswith(_BACK_END_OPTIONS)]
    language = [] if any(word.startswith("-cl-std=") for word in words) else [_LANGUAGE]
    return [
        front_end.clang, "--target=spir64-unknown-unknown", "-x", "cl", *language, "-Xclang", "-finclude-default-header",
        *_typed_pointers(front_end), "-O0", *words, "-c", "-emit-llvm", operand(source), "-o", output,
    ]  # fmt: skip


def translator_command(front_end: FrontEnd, bitcode: str, output: str) -> list[str]:
    """Return the command that translates the file ``bitcode`` to SPIR-V in the file ``output``."""
    return [front_end.translator, "--spirv-ext=+SPV_INTEL_function_pointers", bitcode, "-o", output]


def _typed_pointers(front_end: FrontEnd) -> list[str]:
    """Return the options that make clang keep the types of pointers, which clang 17 no longer can. Without them
    llvm-spirv 15 writes every pointer as one to char, or fails."""
    return ["-Xclang", "-no-opaque-pointers"] if front_end.version in ("15", "16") else []


def failure_reason(completed: Completed, source: Path) -> str | None:
    """Say why one of the commands above failed on ``source``, and where; returns None if it did not fail."""
    if completed.ok:
        return None
    errors = [line for line in error_lines(completed.log, str(source)) if line.severity == "error"]
    if errors:
        return f"{errors[0].words}{f' at {errors[0].place}' if errors[0].path else ''}"
    lines = [line.strip() for line in completed.log.splitlines() if line.strip()]
    ending = f"{os.path.basename(completed.command[0])} {completed.ending}"
    return f"{ending}: {lines[0]}" if lines else ending


def _run(command: list[str], source: Path, timeout: float) -> Completed:
    completed = run(command, timeout=timeout)
    reason = failure_reason(completed, source)
    if reason is not None:
        raise ToolError(f"{source} does not compile: {reason}", command=command_line(command), log=completed.log)
    return completed
