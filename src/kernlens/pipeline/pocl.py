"""The stages of PoCL, kept by a child process that builds for it.

Names and order: docs/stages.md. What PoCL leaves in its cache folder: ``lib/CL/pocl_cache.c`` of pocl; it keeps what
lies between bitcode and shared object with POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernlens.errors import ToolError, UnsupportedError
from kernlens.model.build import Build
from kernlens.model.stage import BINARY, KERNEL, PROGRAM, TEXT, Snapshot, Stage, held
from kernlens.pipeline.second_build import SecondBuild, second_build, source_text, with_snapshots
from kernlens.toolchain.process import run, temporary_folder

PLATFORM = "Portable Computing Language"
#: What users call the device.
DEVICE = "pocl"

STAGES = (
    Stage("source", ".cl", None, TEXT, PROGRAM, "OpenCL C as given by the application"),
    Stage("llvm", ".ll", ".bc", BINARY, PROGRAM, "LLVM bitcode from clang, with the built-in library"),
    Stage("llvm-parallel", ".ll", ".bc", BINARY, KERNEL, "LLVM bitcode of the work-group function"),
    Stage("object", ".asm", ".o", BINARY, KERNEL, "host object file"),
    Stage("shared-object", ".asm", ".so", BINARY, KERNEL, "host shared object that PoCL loads"),
)
#: The work-group size that a program's binary holds its kernels for: any.
ANY_SIZE = "0-0-0"
#: Seconds that a disassembler may take.
TOOL_TIMEOUT = 60.0
#: The newest LLVM first: it reads the bitcode of older ones.
_DISASSEMBLERS = (*(f"llvm-dis-{version}" for version in range(25, 13, -1)), "llvm-dis")

#: What LLVM's verifier says of a function with a location that is not its own, and what the reader does then.
_INVALID = re.compile(r'may only have a distinct !dbg attachment\n.*@("[^"]*"|[-\w$.]+)$', re.MULTILINE)
_DROPPED = "ignoring invalid debug info"


def stages_of() -> tuple[Stage, ...]:
    """PoCL's stages, in pipeline order."""
    return STAGES


def dump_environment(folder: Path) -> dict[str, str]:
    """The variables that make PoCL keep its stages in ``folder``, which must be empty."""
    return {"POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES": "1", "POCL_CACHE_DIR": str(folder), "POCL_KERNEL_CACHE": "1"}


def snapshots(source: str | Path, options: str = "", *, dump_folder: Path | None = None) -> Build:
    """Build ``source`` (OpenCL C) for PoCL's first device and keep every stage.

    A source that does not build gives a Build that is not ``ok``, and its ``source`` stage alone. Raises UnsupportedError
    if PoCL is not installed.
    """
    from kernlens.errors import NotFoundError

    path = Path(source)
    text = source_text(path)
    include = f"-I {path.resolve().parent}" if path.resolve().parent != Path.cwd() else ""
    build = SecondBuild(PLATFORM, " ".join(filter(None, [options, include])), text, source=str(source), device=DEVICE)
    try:
        return snapshots_of(build, dump_folder)
    except NotFoundError as error:
        raise UnsupportedError(f"PoCL is not installed ({error}); on Debian: apt install pocl-opencl-icd") from error


def snapshots_of(wanted: SecondBuild, dump_folder: Path | None = None) -> Build:
    """The same for any build on PoCL's platform."""
    with temporary_folder(dump_folder) as name:
        folder = Path(name)
        done, started = second_build(wanted, dump_environment(folder))
        found = tuple(_read(folder, started)) if done.ok else ()
    source = (held(STAGES[0], wanted.text.encode(), TEXT),) if wanted.text is not None else ()
    return replace(done, parts=with_snapshots(done, source + found))


def _read(folder: Path, started: int) -> Iterator[Snapshot]:
    """The stages below the cache folder: a program has one folder of its own, in one of two letters."""
    programs = sorted(folder.glob("*/*/program.bc"))
    for program in programs:
        yield from _forms(STAGES[1], program, None, started)
    patterns = ((STAGES[2], "parallel.bc"), (STAGES[3], "*.so.o"), (STAGES[4], "*.so"))
    for stage, pattern in patterns:
        for program in programs:
            for path in sorted(program.parent.glob(f"*/{ANY_SIZE}/{pattern}")):
                yield from _forms(stage, path, path.parent.parent.name, started)


def _forms(stage: Stage, path: Path, kernel: str | None, started: int) -> Iterator[Snapshot]:
    """Both forms of one file; the text form is made by a disassembler when it is asked for."""
    content = path.read_bytes()
    seconds = max(path.stat().st_mtime_ns - started, 0) / 1e9
    if not content:
        why = "its file is empty; is the disk of the dump folder full?"
        yield Snapshot(stage.name, kernel, BINARY, stage.binary or "", bytes, failure=why)
        return
    yield held(stage, content, BINARY, kernel, seconds)
    make = (lambda: bitcode_text(content)) if stage.text == ".ll" else (lambda: object_text(content))
    yield Snapshot(stage.name, kernel, TEXT, stage.text or "", make, seconds=seconds)


def bitcode_text(bitcode: bytes, tool: str | None = None) -> bytes:
    """LLVM bitcode as text, through ``tool`` (None: the newest llvm-dis there is). Raises ToolError if there is none,
    or it fails.

    A reader of LLVM drops a module's whole debug information if one function's is not valid, as that of PoCL's work-item
    functions is. The text then has these functions as declarations, and a comment on top that says so.
    """
    tool = tool or next((name for name in _DISASSEMBLERS if shutil.which(name)), None)
    if tool is None:
        raise ToolError("llvm-dis was not found; install it (on Debian: apt install llvm-15)")
    done = run([tool, "-", "-o", "-"], timeout=TOOL_TIMEOUT, stdin=bitcode, output_limit=1 << 28)
    if not done.ok:
        raise ToolError(f"{tool} {done.ending} on LLVM bitcode; is it older than the compiler?", log=done.log)
    return (_without_invalid(bitcode, tool, done.stderr) or done.stdout).encode()


def _without_invalid(bitcode: bytes, tool: str, complaint: str) -> str | None:
    """The text without the functions of which ``tool`` has complained; None if it has not, or that does not help."""
    blamed = [name.strip('"') for name in _INVALID.findall(complaint)]
    extract = tool.replace("llvm-dis", "llvm-extract")
    if _DROPPED not in complaint or not blamed or shutil.which(extract) is None:
        return None
    command = [extract, "--delete", *(f"--func={name}" for name in blamed), "-S", "-o", "-", "-"]
    done = run(command, timeout=TOOL_TIMEOUT, stdin=bitcode, output_limit=1 << 28)
    if not done.ok or _DROPPED in done.stderr:
        return None
    names = ", ".join(blamed)
    return f"; declared only, as LLVM refuses the debug information of their bodies: {names}\n{done.stdout}"


def object_text(content: bytes) -> bytes:
    """A host object's instructions as text, through objdump, with source lines. Raises ToolError if that fails."""
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="kernlens-", suffix=".o") as file:
        file.write(content)
        file.flush()
        command = ["objdump", "--disassemble", "--line-numbers", "--reloc", "--no-show-raw-insn", file.name]
        done = run(command, timeout=TOOL_TIMEOUT, output_limit=1 << 28)
    if not done.ok:
        raise ToolError(f"objdump {done.ending} on a host object", log=done.log)
    # Its first line names the file, which is a temporary one.
    return done.stdout.replace(file.name, "object").encode()
