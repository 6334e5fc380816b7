"""Kernels of real binaries, and what Intel's own disassembler prints for them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernlens.formats.neo_elf import read_neo_elf
from kernlens.formats.patch_tokens.program_binary import read_patch_tokens
from kernlens.formats.zebin.zebin_file import read_zebin
from kernlens.model.compiler import UNKNOWN_COMPILER, Compiler
from tests.corpus.build import Built

#: iga64's -p for each device of the corpus.
PLATFORM_OPTIONS = {
    "skl": "9", "icllp": "11", "tgllp": "12p1", "dg2": "12p71", "pvc": "12p72", "bmg": "2", "lnl": "2", "ptl": "3",
}  # fmt: skip


@dataclass(frozen=True)
class Code:
    """One kernel's machine code, and whose it is."""

    name: str
    device: str
    code: bytes
    compiler: Compiler = UNKNOWN_COMPILER


@dataclass(frozen=True)
class Listing:
    """The output of iga64: the instructions' texts, their offsets by ``-Xprint-pc``, and the offsets of its labels."""

    texts: list[str]
    offsets: list[int]
    labels: list[int]


def patch_token_codes(built: list[Built]) -> list[Code]:
    """Return every kernel of NEO ELF files with patch tokens."""
    codes = []
    for build in built:
        part = read_neo_elf(memoryview(build.binary.read_bytes())).device_binary
        assert part is not None
        for kernel in read_patch_tokens(part.data).kernels:
            codes.append(Code(f"{build.name}:{kernel.name}", build.device, bytes(kernel.code), Compiler((1,))))
    return codes


def zebin_codes(built: list[Built]) -> list[Code]:
    """Return every kernel of zebins."""
    return [
        Code(f"{build.name}:{kernel.name}", build.device, bytes(kernel.code))
        for build in built
        for kernel in read_zebin(memoryview(build.binary.read_bytes())).kernels
    ]


def iga64_of(root: Path) -> list[str]:
    """Return the command that runs the iga64 of a root folder with that folder's own C library."""
    loader, libraries = root / "lib64/ld-linux-x86-64.so.2", root / "usr/lib/x86_64-linux-gnu"
    return [str(loader), "--library-path", str(libraries), str(root / "usr/bin/iga64")]


def disassemble(code: Code, folder: Path, command: list[str]) -> Listing:
    """Return iga64's listing of one kernel, made twice: plain, and with offsets."""
    file = folder / "kernel.bin"
    file.write_bytes(code.code)
    plain, counted = (
        subprocess.run(
            [*command, "-d", f"-p={PLATFORM_OPTIONS[code.device]}", "--color=never", *options, str(file)],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout.splitlines()
        for options in ([], ["-Xprint-pc"])
    )
    labels = [int(line[1:-1]) for line in plain if re.fullmatch(r"L\d+:", line)]
    texts = [line for line in plain if line and not re.fullmatch(r"L\d+:", line)]
    offsets = [int(match[1], 16) for line in counted if (match := re.match(r"/\* *\[([0-9A-F]+)\]", line))]
    return Listing(texts, offsets, labels)
