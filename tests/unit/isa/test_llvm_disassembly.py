"""The disassembly through libLLVM: its columns, what is no instruction, and what LLVM cannot do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernlens.errors import ToolError, UnsupportedError
from kernlens.isa.llvm import llvm_libraries
from kernlens.isa.llvm.disassemble import disassemble
from kernlens.isa.llvm.llvm_libraries import LlvmLibrary, installed_llvm, llvm_for
from kernlens.isa.llvm.llvm_process import is_possible

pytestmark = pytest.mark.skipif(not (is_possible() and installed_llvm()), reason="no libLLVM on this machine")

#: addq, a jump over one byte that is none, a load relative to the next instruction, lock, call backwards, ret.
X86 = bytes.fromhex("4883c408 eb01 06 488b0510000000 f0 830001 e8e8ffffff c3".replace(" ", ""))


def test_columns_of_x86() -> None:
    code = disassemble("x86_64", X86, address=0x1000)
    immediate = "0x8" if next(llvm_for("x86")).major >= 16 else "8"
    assert list(code.offsets) == [0, 4, 6, 7, 14, 15, 18, 23]
    assert list(code.sizes) == [4, 2, 1, 7, 1, 3, 5, 1]
    assert code.opcodes == ["addq", "jmp", "", "movq", "lock", "addl", "callq", "retq"]
    assert code.texts[:3] == [f"addq ${immediate}, %rsp", "jmp 0x1007", "<unknown>"]
    assert code.texts[3].endswith("(%rip), %rax # 0x101e")
    assert list(code.illegal) == [0, 0, 1, 0, 0, 0, 0, 0]
    assert (code.targets, code.loads) == ({1: 7, 6: -1}, {3: 0x1E})
    assert code.disassembler.startswith("LLVM 1")


def test_columns_of_an_amd_gpu() -> None:
    # s_branch -1 words, s_cbranch_scc0 2 words, something that gfx90a has not, s_endpgm, two bytes
    code = disassemble("amdgcn-amd-amdhsa", bytes.fromhex("ffff82bf 020084bf ffffffff 000081bf 0100"), cpu="gfx90a")
    assert code.texts == ["s_branch 65535", "s_cbranch_scc0 2", ".long 0xffffffff", "s_endpgm", ".byte 0x01, 0x00"]
    assert (list(code.illegal), list(code.sizes)) == ([0, 0, 1, 0, 1], [4, 4, 4, 4, 2])
    assert code.targets == {0: 0, 1: 16}


def test_a_processor_that_llvm_does_not_know() -> None:
    with pytest.raises(UnsupportedError, match=r"do(es)? not know amdgcn-amd-amdhsa gfx9999"):
        disassemble("amdgcn-amd-amdhsa", b"\0" * 8, cpu="gfx9999")
    with pytest.raises(UnsupportedError, match=r"do(es)? not know x86_64 nothing"):
        disassemble("x86_64", b"\x90", cpu="nothing")
    assert disassemble("x86_64", b"\x90").texts == ["nop"]


def test_an_older_library_decodes_all_and_says_so() -> None:
    read = disassemble("x86_64", b"\x90", compiler=99)
    assert read.texts == ["nop"]
    assert read.remark == f"{read.disassembler} is older than the compiler, LLVM 99, but decodes all of the code"
    assert disassemble("x86_64", b"\x90", linker=99).remark == ""


def test_a_process_that_was_ended_is_replaced() -> None:
    library = next(llvm_for("x86"))
    disassemble("x86_64", b"\x90")
    (process,) = library._processes
    os.kill(process.id, signal.SIGKILL)
    with pytest.raises(ToolError, match="ended without an answer"):
        disassemble("x86_64", b"\x90" * 100_000)
    assert disassemble("x86_64", b"\x90").texts == ["nop"]


def test_a_forked_copy_has_a_process_of_its_own() -> None:
    script = (
        "import os\nfrom kernlens.isa.llvm.disassemble import disassemble\n"
        "print(disassemble('x86_64', bytes([0x90])).texts, flush=True)\n"
        "copy = os.fork()\nprint(disassemble('x86_64', bytes([0xc3])).texts, flush=True)\n"
        "if copy:\n    print(os.waitpid(copy, 0)[1], flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert sorted(done.stdout.split("\n")) == ["", "0", "['nop']", "['retq']", "['retq']"], done.stderr


def test_libraries_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "libLLVM-14.0.6.so.1",
        "libLLVM-15.so.1",
        "libLLVM.so.19.1",
        "libLLVM-13.so.1",
        "libLLVMSPIRVLib.so.15",
    ):
        tmp_path.joinpath(name).write_bytes(b"")
    monkeypatch.setattr(llvm_libraries, "_SYSTEM_FOLDERS", ())
    monkeypatch.setattr(llvm_libraries, "_more_paths", [])
    monkeypatch.setenv(llvm_libraries.PATH_VARIABLE, str(tmp_path))
    assert [library.major for library in installed_llvm()] == [19, 15, 14]
    with pytest.raises(UnsupportedError, match="code for x86 is disassembled by libLLVM, which is not installed"):
        disassemble("x86_64", b"\x90")


def test_libraries_are_looked_for_again_only_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel asks for them: 3,000 kernels of AMD's took 5 s to list the system's folders."""
    monkeypatch.setattr(llvm_libraries, "_SYSTEM_FOLDERS", (str(tmp_path / "lib"),))
    monkeypatch.setattr(llvm_libraries, "_more_paths", [lambda: {"root": str(tmp_path / "root")}])
    monkeypatch.setenv(llvm_libraries.PATH_VARIABLE, "")
    listed: list[str] = []
    real = llvm_libraries._candidates

    def candidates(path: str, folders: tuple[str, ...]) -> Iterator[tuple[str, int]]:
        listed.append(path)
        return real(path, folders)

    monkeypatch.setattr(llvm_libraries, "_candidates", candidates)
    (tmp_path / "lib").mkdir()
    assert installed_llvm() == installed_llvm() == ()
    count = len(listed)
    assert count > 0
    assert (installed_llvm(), len(listed)) == ((), count)
    (tmp_path / "lib" / "libLLVM-19.so").touch()
    assert [library.major for library in installed_llvm()] == [19]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "libLLVM.so.21.1").touch()
    monkeypatch.setenv(llvm_libraries.PATH_VARIABLE, str(tmp_path / "other"))
    assert [library.major for library in installed_llvm()] == [21, 19]
    (tmp_path / "lib" / "libLLVM-19.so").unlink()
    assert [library.major for library in installed_llvm()] == [21]


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    path = tmp_path / "libLLVM-15.so.1"
    path.write_text("nothing")
    with pytest.raises(ToolError, match=r"ended without an answer: .*libLLVM-15\.so\.1: file too short"):
        _ = LlvmLibrary(str(path), 15).title


def test_bytes_on_which_llvm_crashes() -> None:
    """LLVM 15 ends the process on these eight bytes, whoever gives them to it (``llvm-mc-15 --disassemble``)."""
    end = "000081bf"
    code = disassemble("amdgcn-amd-amdhsa", bytes.fromhex(f"{end} f938e2696b4cd734 {end}"), cpu="gfx1030", address=256)
    assert (code.texts[0], code.texts[-1], code.offsets[-1]) == ("s_endpgm", "s_endpgm", 12)
    assert sum(code.sizes) == 16
    if next(llvm_for("amdgcn")).major == 15:
        assert list(code.illegal) == [0, 1, 0, 0]
        assert code.texts[1] == ".long 0x69e238f9"
