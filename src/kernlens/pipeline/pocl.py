"""The build for PoCL in a child process, with every stage kept.

``lib/CL/pocl_cache.c`` of pocl says what PoCL leaves in its cache folder; it keeps what
lies between bitcode and shared object if POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES is set.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from kernlens.errors import NotFoundError, ToolError, UnsupportedError
from kernlens.model.build import Build
from kernlens.model.stage import BINARY, KERNEL, TEXT, Snapshot
from kernlens.model.stages import FROM_COMPILER, POCL, Stage, held
from kernlens.pipeline.second_build import SecondBuild, second_build, source_text
from kernlens.toolchain.packages import how_to_get
from kernlens.toolchain.process import run, temporary_folder

#: The folder of the kernels that a program's binary holds, which are compiled for any work-group size.
ANY_SIZE = "0-0-0"
#: Seconds that a disassembler may take.
TOOL_TIMEOUT = 60.0
#: The newest LLVM comes first: it reads the bitcode of older ones.
_DISASSEMBLERS = (*(f"llvm-dis-{version}" for version in range(25, 13, -1)), "llvm-dis")

#: What LLVM's verifier says of a function with a location of another function, and what the reader then does.
_INVALID = re.compile(r'may only have a distinct !dbg attachment\n.*@("[^"]*"|[-\w$.]+)$', re.MULTILINE)
_DROPPED = "ignoring invalid debug info"


def dump_environment(folder: Path) -> dict[str, str]:
    """Return the variables that make PoCL keep its stages in ``folder``, which must be empty."""
    return {"POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES": "1", "POCL_CACHE_DIR": str(folder), "POCL_KERNEL_CACHE": "1"}


def snapshots(source: str | Path, options: str = "") -> Build:
    """Build ``source`` (OpenCL C) for PoCL's first device and keep every stage. A source that does not build gives a
    Build that is not ``ok``, with its ``source`` stage alone. Raises UnsupportedError if PoCL is not installed."""
    path = Path(source)
    text = source_text(path)
    include = f"-I {path.resolve().parent}" if path.resolve().parent != Path.cwd() else ""
    build = SecondBuild(
        POCL.platform, " ".join(filter(None, [options, include])), text, source=str(source), device=POCL.device
    )
    try:
        return snapshots_of(build)
    except NotFoundError as error:
        raise UnsupportedError(f"PoCL is not installed ({error}); to get it: {how_to_get('pocl')}") from error


def snapshots_of(build: SecondBuild) -> Build:
    """Do ``build`` on PoCL's platform and keep every stage."""
    with temporary_folder() as name:
        folder = Path(name)
        result, start_time = second_build(build, dump_environment(folder))
        snapshots = tuple(_read(folder, start_time)) if result.ok else ()
    source = (held(POCL.stage("source"), build.text.encode(), TEXT),) if build.text is not None else ()
    return result.with_parts(snapshots=source + snapshots)


def _read(folder: Path, start_time: int) -> Iterator[Snapshot]:
    """Yield the stages below the cache folder, in which each program has a folder (``LETTERS/HASH``)."""
    for stage in POCL.stages:
        pattern = f"*/*/*/{ANY_SIZE}/*" if stage.scope == KERNEL else "*/*/*"
        for path in sorted(folder.glob(pattern)) if stage.origin == FROM_COMPILER else ():
            if str(path).endswith(stage.dump):
                yield from _forms(stage, path, path.parent.parent.name if stage.scope == KERNEL else None, start_time)


def _forms(stage: Stage, path: Path, kernel: str | None, start_time: int) -> Iterator[Snapshot]:
    content = path.read_bytes()
    if not content:
        why = "its file is empty; is the disk of the dump folder full?"
        yield Snapshot(stage.name, kernel, BINARY, stage.binary or "", bytes, failure=why)
        return
    disassemble = partial(bitcode_text if stage.text == ".ll" else object_text, content)
    yield from both_forms(stage, content, disassemble, kernel, max(path.stat().st_mtime_ns - start_time, 0) / 1e9)


def both_forms(
    stage: Stage, content: bytes, disassemble: Callable[[], bytes], kernel: str | None, seconds: float
) -> tuple[Snapshot, Snapshot]:
    """Return both forms of one file; a disassembler makes the text when it is read."""
    text = Snapshot(stage.name, kernel, TEXT, stage.text or "", disassemble, seconds=seconds)
    return held(stage, content, BINARY, kernel, seconds), text


def bitcode_text(bitcode: bytes, tool: str | None = None) -> bytes:
    """Disassemble LLVM bitcode with ``tool`` (None: the newest llvm-dis). Raises ToolError if there is none or it
    fails. LLVM's reader drops all debug information of a module if that of one function is invalid, as it is in PoCL's
    work-item functions. The text then only declares these functions, and a comment on top says so."""
    tool = tool or next((name for name in _DISASSEMBLERS if shutil.which(name)), None)
    if tool is None:
        raise ToolError(f"llvm-dis was not found; to get it: {how_to_get('llvm-dis')}")
    disassembly = run([tool, "-", "-o", "-"], timeout=TOOL_TIMEOUT, stdin=bitcode, output_limit=1 << 28)
    if not disassembly.ok:
        message = f"{tool} {disassembly.ending} on LLVM bitcode; is it older than the compiler?"
        raise ToolError(message, log=disassembly.log)
    return (_without_invalid(bitcode, tool, disassembly.stderr) or disassembly.stdout).encode()


def _without_invalid(bitcode: bytes, tool: str, complaint: str) -> str | None:
    """Disassemble without the functions in ``complaint``; returns None if it names none, or that does not help."""
    blamed = [name.strip('"') for name in _INVALID.findall(complaint)]
    extract = tool.replace("llvm-dis", "llvm-extract")
    if _DROPPED not in complaint or not blamed or shutil.which(extract) is None:
        return None
    command = [extract, "--delete", *(f"--func={name}" for name in blamed), "-S", "-o", "-", "-"]
    extracted = run(command, timeout=TOOL_TIMEOUT, stdin=bitcode, output_limit=1 << 28)
    if not extracted.ok or _DROPPED in extracted.stderr:
        return None
    names = ", ".join(blamed)
    return f"; declared only, as LLVM refuses the debug information of their bodies: {names}\n{extracted.stdout}"


def object_text(content: bytes) -> bytes:
    """Disassemble a host object with objdump, with source lines. Raises ToolError if that fails."""
    with temporary_folder() as folder:
        path = Path(folder, "object.o")
        path.write_bytes(content)
        command = ["objdump", "--disassemble", "--line-numbers", "--reloc", "--no-show-raw-insn", str(path)]
        disassembly = run(command, timeout=TOOL_TIMEOUT, output_limit=1 << 28)
    if not disassembly.ok:
        raise ToolError(f"objdump {disassembly.ending} on a host object", log=disassembly.log)
    # The first line names the temporary file.
    return disassembly.stdout.replace(str(path), "object").encode()
