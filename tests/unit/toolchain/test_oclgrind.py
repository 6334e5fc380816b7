"""Where the interpreter is looked for, and what is read of its program: on folders and texts that are written out here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernlens.errors import NotFoundError, ToolError, UnsupportedError
from kernlens.toolchain import oclgrind as module
from kernlens.toolchain.oclgrind import Oclgrind, has_oclgrind, oclgrind
from kernlens.toolchain.process import Completed
from kernlens.toolchain.toolchains import Toolchain
from kernlens.verbs.observe.interpreted_code import InterpretedProgram, KernelArgument, arguments_of, prepare
from tests.tree import ROOT

TEXT = """define spir_kernel void @k(float addrspace(1)* %a, i32 %n) !kernel_arg_addr_space !3 !kernel_arg_base_type !4 \
!kernel_arg_name !5 {
  %1 = load float, float addrspace(1)* %a, align 4, !dbg !9
  store float %1, float addrspace(3)* @k.s, align 4
  %2 = load volatile float, float addrspace(1)* %a, align 4
  %3 = load float*, float** %p, align 8
}
attributes #0 = { convergent noinline nounwind optnone }
!3 = !{i32 1, i32 0}
!4 = !{!"float*", !"int"}
!5 = !{!"a", !"n"}
"""


def root_with(folder: Path) -> Path:
    for name in (
        "usr/lib/oclgrind/liboclgrind-rt.so",
        "usr/lib/x86_64-linux-gnu/liboclgrind-21.10.so",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_the_interpreter_of_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path))
    root = root_with(tmp_path / "oclgrind")
    assert has_oclgrind(root)
    chosen = oclgrind("oclgrind")
    assert (chosen.toolchain.root, chosen.library) == (root, str(root / "usr/lib/oclgrind/liboclgrind-rt.so"))
    assert chosen.disassembler is None
    with pytest.raises(UnsupportedError, match="llvm-dis of LLVM 14"):
        prepare(chosen, "k.cl", "", str(tmp_path))
    (root / "usr/lib/x86_64-linux-gnu/liboclgrind-21.10.so").unlink()  # Another release has another name.
    with pytest.raises(UnsupportedError, match="kernlens toolchain add oclgrind"):
        oclgrind("oclgrind")


def test_arguments_of_kernels() -> None:
    assert arguments_of(TEXT) == {"k": (KernelArgument("a", "float*", 1), KernelArgument("n", "int", 0))}
    assert arguments_of("define void @f() {\n}\n") == {}
    program = InterpretedProgram(b"", {"k": (), "other": ()})
    assert program.kernel("k") == "k"
    with pytest.raises(NotFoundError, match="name one with --kernel: k, other"):
        program.kernel(None)


@pytest.mark.parametrize(
    ("status", "out", "told"),
    [
        (
            0,
            "\nOCLGRIND FATAL ERROR (./src/core/WorkItem.cpp:1)\nUnimplemented builtin: f\n",
            "Unimplemented builtin: f",
        ),
        (-11, "", "it was killed by SIGSEGV"),
        (2, "clCreateKernel failed with status -46\n", "clCreateKernel failed with status -46"),
    ],
)
def test_a_run_that_failed_is_one_sentence(status: int, out: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> Completed:
        return Completed(("host",), status, "", out, 0.0)

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "_native", Path)
    chosen = Oclgrind(Toolchain("system", None, None, None, None), "library", None)
    with pytest.raises(ToolError, match=f"Oclgrind cannot run this kernel: {told}; nothing was counted"):
        chosen.launch("job", 1.0, None)


def test_the_observer_calls_nothing_that_newer_systems_rename() -> None:
    """The GNU C library from 2.38 on has new names for these, which that of Debian 12's Oclgrind does not know."""
    files = [*(ROOT / "native" / "observer").glob("*/*.cc"), *(ROOT / "native" / "observer").glob("*/*.c")]
    assert len(files) > 10
    for file in files:
        assert re.findall(r"\b(\w*scanf|strto\w+|ato[il]+)\(", file.read_text()) in ([], ["strtok"]), file
