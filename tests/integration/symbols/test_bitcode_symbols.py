"""The functions and variables of LLVM bitcode, against llvm-nm."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from kernlens.formats.llvm_bitcode import BitcodeSymbol, read_bitcode
from kernlens.model.allowance import Allowance

SOURCE = """
static int hidden = 3; extern int needed; int offered = 4, common;
static int inner(int x) { return x + hidden; } int outer(int); __attribute__((weak)) int weak(void) { return 1; }
int all(void) { return inner(needed) + outer(common) + offered + weak(); }
"""


def _letter(symbol: BitcodeSymbol) -> str:
    return "U" if not symbol.is_defined else "local" if symbol.is_local else "global"


def _by_llvm(path: Path) -> dict[str, str]:
    """Return U, local or global of each symbol."""
    lines = subprocess.run(
        ["llvm-nm-15", str(path)], capture_output=True, text=True, check=True, timeout=60
    ).stdout.splitlines()
    rows = [line.split()[-2:] for line in lines]
    return {
        name: letter if letter == "U" else "local" if letter.islower() and letter != "w" else "global"
        for letter, name in rows
    }


def _compiled(folder: Path) -> Path:
    source, module = folder / "x.c", folder / "x.bc"
    source.write_text(SOURCE)
    subprocess.run(
        ["clang-15", "-c", "-emit-llvm", "-g", "-O1", str(source), "-o", str(module)], check=True, timeout=60
    )
    return module


MODULES = [
    *sorted(Path("/usr/lib/clc").glob("*gfx9*.bc"))[:1],
    *sorted(Path("/usr/lib/clc").glob("nvptx64--nvidiacl.bc")),
    *sorted(Path("/usr/lib/x86_64-linux-gnu").glob("**/bitcode/ocml.bc"))[:1],
]


@pytest.mark.parametrize("path", [None, *MODULES], ids=lambda path: path.name if path else "clang")
def test_symbols_equal_those_of_llvm_nm(path: Path | None, tmp_path: Path) -> None:
    module = path or _compiled(tmp_path)
    data = memoryview(module.read_bytes())
    read = read_bitcode(data, Allowance(len(data)))
    assert re.fullmatch(r"LLVM\d+\.\d+\.\d+\S*", read.producer)
    own = {symbol.name: _letter(symbol) for symbol in read.symbols if not symbol.name.startswith("llvm.")}
    assert own == {name: letter for name, letter in _by_llvm(module).items() if not name.startswith("llvm.")}
    assert own
