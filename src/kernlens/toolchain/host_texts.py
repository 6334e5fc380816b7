"""Texts of what compilers for host processors leave: LLVM bitcode and object files, through LLVM's and GNU's tools."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from kernlens.errors import ToolError
from kernlens.toolchain.packages import how_to_get
from kernlens.toolchain.process import run, temporary_folder

#: Seconds that a disassembler may take.
TOOL_TIMEOUT = 60.0
#: The newest LLVM comes first: it reads the bitcode of older ones.
_DISASSEMBLERS = (*(f"llvm-dis-{version}" for version in range(25, 13, -1)), "llvm-dis")

#: What LLVM's verifier says of a function with a location of another function, and what the reader then does.
_INVALID = re.compile(r'may only have a distinct !dbg attachment\n.*@("[^"]*"|[-\w$.]+)$', re.MULTILINE)
_DROPPED = "ignoring invalid debug info"


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
