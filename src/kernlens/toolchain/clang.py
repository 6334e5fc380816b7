"""OpenCL C to SPIR-V with clang and llvm-spirv: the way to modules that export and import functions.

ocloc's own front end makes SPIR-V without linkage for what nobody calls and refuses function pointers; clang keeps every
function, and llvm-spirv writes ``LinkageAttributes`` for each that is not static, and function pointers with
``SPV_INTEL_function_pointers`` (which changes nothing in a module that has none).
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from kernlens import log
from kernlens.errors import ToolError
from kernlens.model.build import Build, HeldParts
from kernlens.toolchain.diagnostics import error_lines
from kernlens.toolchain.includes import existing_source, split_options
from kernlens.toolchain.process import PACKAGES, Completed, command_line, run, temporary_folder

#: Seconds that one source may take.
TIMEOUT = 120.0
#: Versions that work together, newest last: llvm-spirv reads the bitcode of the clang with its own number only.
VERSIONS = (15, 16, 17, 18, 19)
#: What makes Intel's compiler export every function and variable that has linkage.
LIBRARY_OPTIONS = "-library-compilation -ze-take-global-address"
#: Beginnings of options that are for the device's compiler and that clang does not know.
_BACK_END_OPTIONS = ("-ze-", "-library-compilation", "-cl-intel-", "-cl-take-global-address", "-igc", "-vc-codegen")
_LANGUAGE = "-cl-std=CL2.0"


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """A clang and the llvm-spirv that understands it."""

    clang: str
    translator: str

    @property
    def version(self) -> str:
        """The number that both have in their names: LLVM's major version."""
        return self.clang.rpartition("-")[2]


def find_front_end() -> FrontEnd:
    """The oldest pair that is installed. Raises ToolError with what to install if there is none."""
    for version in VERSIONS:
        clang, translator = shutil.which(f"clang-{version}"), shutil.which(f"llvm-spirv-{version}")
        if clang and translator:
            log.debug("toolchain", "the front end is %s with %s", clang, translator)
            return FrontEnd(clang, translator)
        log.debug("toolchain", "clang-%d: %s, llvm-spirv-%d: %s", version, clang, version, translator)
    missing = [name for name in ("clang-15", "llvm-spirv-15") if shutil.which(name) is None]
    packages = " ".join(PACKAGES[name] for name in missing)
    raise ToolError(
        f"{' and '.join(missing)} not found, which make SPIR-V with exports; install: apt install {packages}"
    )


def compile_library(source: str | Path, options: str = "", timeout: float = TIMEOUT) -> Build:
    """Compile to the SPIR-V of an OpenCL C file in which every function and variable that is not static is exported.

    ``options`` are build options; what only the device's compiler knows is left out. The language is OpenCL C 2.0
    unless ``-cl-std`` says otherwise. Nothing is optimised: the device's compiler does that. Raises NotFoundError for
    a file that does not exist, ToolError with the compiler's log for one that does not compile.
    """
    path = existing_source(source)
    front_end = find_front_end()
    with temporary_folder() as folder:
        bitcode, spirv = os.path.join(folder, "module.bc"), os.path.join(folder, "module.spv")
        compiled = _run(clang_command(front_end, path, options, bitcode), path, timeout)
        translated = _run(translator_command(front_end, bitcode, spirv), path, timeout)
        parts = HeldParts(log=compiled.log + translated.log, spirv=Path(spirv).read_bytes())
    return Build(
        name=path.stem,
        options=options,
        seconds=compiled.seconds + translated.seconds,
        path=str(path),
        parts=parts,
    )


def device_options(options: str) -> str:
    """Build options for the device's compiler, with those added that make it export."""
    words = split_options(options)
    return " ".join([options, *(word for word in LIBRARY_OPTIONS.split() if word not in words)]).strip()


def clang_command(front_end: FrontEnd, source: Path, options: str, output: str) -> list[str]:
    """OpenCL C to LLVM bitcode in the file ``output``."""
    words = [word for word in split_options(options) if not word.startswith(_BACK_END_OPTIONS)]
    language = [] if any(word.startswith("-cl-std=") for word in words) else [_LANGUAGE]
    return [
        front_end.clang, "--target=spir64-unknown-unknown", "-x", "cl", *language, "-Xclang", "-finclude-default-header",
        *_typed_pointers(front_end), "-O0", *words, "-c", "-emit-llvm", str(source), "-o", output,
    ]  # fmt: skip


def translator_command(front_end: FrontEnd, bitcode: str, output: str) -> list[str]:
    """The file ``bitcode`` to SPIR-V in the file ``output``."""
    return [front_end.translator, "--spirv-ext=+SPV_INTEL_function_pointers", bitcode, "-o", output]


def _typed_pointers(front_end: FrontEnd) -> list[str]:
    """llvm-spirv 15 writes every pointer as one to char, or fails, unless clang keeps the types of pointers; clang 17
    no longer can."""
    return ["-Xclang", "-no-opaque-pointers"] if front_end.version in ("15", "16") else []


def failure_reason(done: Completed, source: Path) -> str | None:
    """Why one of the commands above failed on ``source``, with the place if it said one; None if it did not fail."""
    if done.ok:
        return None
    errors = [line for line in error_lines(done.log, str(source)) if line.severity == "error"]
    if errors:
        place = f" at {errors[0].path}:{errors[0].line}:{errors[0].column}" if errors[0].path else ""
        return f"{errors[0].message}{place}"
    said = [line.strip() for line in done.log.splitlines() if line.strip()]
    return f"{os.path.basename(done.command[0])} {done.ending}" + (f": {said[0]}" if said else "")


def _run(command: list[str], source: Path, timeout: float) -> Completed:
    done = run(command, timeout=timeout)
    reason = failure_reason(done, source)
    if reason is not None:
        raise ToolError(f"{source} does not compile: {reason}", command=command_line(command), log=done.log)
    return done
