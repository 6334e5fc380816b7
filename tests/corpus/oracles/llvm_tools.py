"""Code objects as LLVM's own tools print them: llvm-objdump, llvm-dwarfdump and llvm-readelf of a toolchain's LLVM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kernlens.toolchain.amd_compiler import AmdCompiler
from tests.corpus.oracles.run import output_of

_INSTRUCTION = re.compile(r"\s+(\S.*?)\s*// ([0-9A-F]{12,16}):")
_LINE = re.compile(r"; (/.*|[^ ]+):(\d+)$")
_SYMBOL = re.compile(r"<[^<>]*>")
_ROW = re.compile(r"0x([0-9a-f]{16})\s+(\d+)\s+(\d+)\s+(\d+)\s+\d+\s+\d+\s*(?:\d+\s*)?([a-z_ ]*)$")
_KEY = re.compile(r"(?:  - |    )\.(\w+):\s*(\S.*)?$")


def tool(compiler: AmdCompiler, name: str) -> list[str]:
    """Return the command of a tool of the compiler's LLVM: the toolchain's, or that of the machine's packages."""
    own = compiler.clang.parent / name
    return compiler.toolchain.command(own) if own.exists() else [f"{name}-{compiler.version.partition('.')[0]}"]


def objdump_texts(compiler: AmdCompiler, path: Path) -> tuple[dict[int, str], dict[int, tuple[str, int]]]:
    """Return the text of each instruction by its address, as kernlens writes white space; and the file and line that stand
    before an instruction."""
    command = [*tool(compiler, "llvm-objdump"), "-d", "-l", "--triple=amdgcn-amd-amdhsa", str(path)]
    texts: dict[int, str] = {}
    lines: dict[int, tuple[str, int]] = {}
    place: tuple[str, int] | None = None
    for row in output_of(command).splitlines():
        if match := _INSTRUCTION.match(row):
            address = int(match[2], 16)
            texts[address] = " ".join(_SYMBOL.sub("", match[1]).split())
            if place is not None:
                lines[address] = place
            place = None
        elif match := _LINE.match(row):
            place = match[1], int(match[2])
    return texts, lines


def dwarfdump_rows(compiler: AmdCompiler, path: Path) -> list[tuple[int, int, int, int, bool]]:
    """Return the rows of all line tables, those that end sequences left out: (address, line, column, file, is_stmt)."""
    rows = []
    for row in output_of([*tool(compiler, "llvm-dwarfdump"), "--debug-line", str(path)]).splitlines():
        match = _ROW.match(row)
        if match and "end_sequence" not in match[5].split():
            line, column, file = (int(number) for number in match.groups()[1:4])
            rows.append((int(match[1], 16), line, column, file, "is_stmt" in match[5].split()))
    return rows


def readelf_kernels(compiler: AmdCompiler, path: Path) -> dict[str, Mapping[str, str]]:
    """Return what the metadata states of each kernel, by its name: keys without their dot, numbers as they are printed."""
    kernels: list[dict[str, str]] = []
    for row in output_of([*tool(compiler, "llvm-readelf"), "--notes", str(path)]).splitlines():
        if row.startswith("  - "):
            kernels.append({})
        match = _KEY.match(row)
        if match and kernels:
            kernels[-1][match[1]] = (match[2] or "").strip("'\"")
    return {kernel["name"]: kernel for kernel in kernels if "name" in kernel}
