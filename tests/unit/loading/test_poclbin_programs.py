"""PoCL's program binaries as programs: kernels, their code and functions, what is missing, the files of other processors."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import kernlens
from kernlens.errors import FormatError, UnsupportedError
from kernlens.isa.llvm.llvm_libraries import installed_llvm
from kernlens.isa.llvm.llvm_process import is_possible
from kernlens.model.figures import FIGURES, figures_of, notes_on_unknown
from kernlens.model.program import Program
from tests.writers.elf import ElfWriter, string_table
from tests.writers.poclbin import WrittenKernel, write_poclbin

#: xorl, a jump back to it, ret; then a function that returns.
CODE = bytes.fromhex("31c0 ebfc c3 c3".replace(" ", ""))
START = 0x1000

with_llvm = pytest.mark.skipif(not (is_possible() and installed_llvm()), reason="no libLLVM on this machine")


def shared_object(code: bytes = CODE, machine: int = 62) -> bytes:
    names, (_, first, second) = string_table(["", "_pocl_kernel_k", "_pocl_kernel_k_workgroup"])
    symbols = bytes(24) + struct.pack("<IBBHQQ", first, 0x12, 0, 1, START, 5)
    symbols += struct.pack("<IBBHQQ", second, 0x12, 0, 1, START + 5, 1)
    elf = ElfWriter(machine=machine, type=3)
    elf.add(".text", code, address=START, flags=6)
    elf.add(".symtab", symbols, type=2, link=3, info=1, entry_size=24)
    elf.add(".strtab", names, type=3)
    return bytes(elf.build())


def opened(folder: Path, *kernels: WrittenKernel) -> Program:
    path = folder / "app.poclbin"
    path.write_bytes(write_poclbin(kernels))
    (program,) = kernlens.load(path)
    return program


@with_llvm
def test_a_kernel_and_its_code(tmp_path: Path) -> None:
    kernel = WrittenKernel("k", [(0x11A3, 0x119B, 0, 8, "a", "float*")], [64], files={"/k/0-0-0/k.so": shared_object()})
    program = opened(tmp_path, kernel)
    assert (program.format, str(program.device)) == ("poclbin", "x86-64")
    code = program.kernels["k"]
    assert bytes(code.code) == CODE
    assert list(code.instructions.texts) == ["xorl %eax, %eax", "jmp 0x1000", "retq", "retq"]
    assert [function.name for function in code.functions] == ["_pocl_kernel_k", "_pocl_kernel_k_workgroup"]
    assert (code.resources.slm_bytes, code.arguments[0].name) == (64, "a")
    assert code.line_table is None
    assert (
        code.line_table_reason
        == "PoCL built the program without debug data; build with -g, or capture with --lines, to get a line table"
    )


def test_functions_for_sizes_of_work_groups(tmp_path: Path) -> None:
    """The object stands in for a shared object that is left out."""
    files = {f"/k/{folder}/k.so": shared_object() for folder in ("64-1-1-goffs0", "64-1-1", "0-0-0")}
    files |= {"/k/0-0-0/k.so.o": b"other", "/k/8-8-1/k.so.o": shared_object(b"\xc3")}
    program = opened(tmp_path, WrittenKernel("k", files=files))
    assert list(program.kernels.keys()) == ["k", "k@8x8x1", "k@64x1x1", "k@64-1-1-goffs0"]
    assert bytes(program.kernels["k@8x8x1"].code) == b"\xc3"


def test_a_kernel_without_code(tmp_path: Path) -> None:
    program = opened(tmp_path, WrittenKernel("k"))
    kernel = program.kernels["k"]
    assert (kernel.code_size, len(kernel.instructions)) == (0, 0)
    assert kernel.line_table_reason is not None
    assert kernel.line_table_reason.startswith("the binary holds no machine code of this kernel: PoCL compiles")


def test_another_processor(tmp_path: Path) -> None:
    program = opened(tmp_path, WrittenKernel("k", files={"/k/0-0-0/k.so": shared_object(machine=183)}))
    with pytest.raises(
        UnsupportedError, match=r"the code of k is for a processor that kernlens does not decode \(ELF machine 183"
    ):
        _ = program.kernels["k"].instructions


def test_a_damaged_object(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="this is not an ELF file"):
        opened(tmp_path, WrittenKernel("k", files={"/k/0-0-0/k.so": b"nothing of this kind"}))


def test_the_stages_that_the_binary_holds(tmp_path: Path) -> None:
    files = {f"/k/{folder}/k.so": shared_object() for folder in ("0-0-0", "4-1-1")}
    program = opened(tmp_path, WrittenKernel("k", files=files | {"/k/0-0-0/parallel.bc": b"BC\xc0\xde"}))
    held = [(snapshot.stage, snapshot.kernel, snapshot.form) for snapshot in program.build.snapshots]
    assert held[::2] == [("llvm", None, "binary"), ("llvm-parallel", "k", "binary"), ("shared-object", "k", "binary")]
    assert program.build.snapshots[-2].content == shared_object()


def test_no_reason_of_other_binaries_is_given(tmp_path: Path) -> None:
    """PoCL states nothing of a hardware thread's memory, so there is no sum in it either."""
    program = opened(tmp_path, WrittenKernel("k", files={"/k/0-0-0/k.so": shared_object()}))
    stated = figures_of(program.kernels["k"], [figure for figure in FIGURES if not figure.needs_decoding])
    assert stated["spill_bytes"] is None
    assert notes_on_unknown([stated]) == []
    assert len(notes_on_unknown([{**stated, "scratch_bytes": 64}])) == 1
