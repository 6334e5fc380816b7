"""Answers of llvm-mca that are written out here, and programs that are not there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernlens.errors import ToolError, UnsupportedError
from kernlens.loading import code_object_parts
from kernlens.toolchain import llvm_mca as mca
from kernlens.toolchain import packages
from kernlens.toolchain.llvm_mca import LlvmMca, llvm_mca
from kernlens.toolchain.process import Completed
from kernlens.toolchain.toolchains import Toolchain

TIMES = {"CycleDispatched": 0, "CycleReady": 0, "CycleIssued": 3, "CycleExecuted": 8, "CycleRetired": 8}
LOAD = {"Instruction": 0, "Latency": 5, "NumMicroOpcodes": 2, "mayLoad": True, "mayStore": False}


def region(name: str, count: int) -> dict[str, Any]:
    return {
        "Name": name,
        "TimelineView": {"TimelineInfo": [TIMES] * count},
        "InstructionInfoView": {"InstructionList": [LOAD] * count},
    }


def test_regions_are_found_by_their_names() -> None:
    first, second = mca._steps({"CodeRegions": [region("1", 1), region("0", 2)]}, [2, 1])
    assert first == [(3, 8, 2, True)] * 2
    assert second == [(3, 8, 2, True)]


ANSWERS = [
    ("", 0, "", "answered what kernlens does not read"),
    ("[]", 0, "", "answered what kernlens does not read"),
    ('{"CodeRegions": []}', 0, "", "answered what kernlens does not read"),
    ('{"CodeRegions": [{"Name": "0"}]}', 0, "", "answered what kernlens does not read"),
    ('{"CodeRegions": 7}', 0, "", "answered what kernlens does not read"),
    ("[" * 100_000, 0, "", "answered what kernlens does not read"),
    ("{}", 0, "'gfx7' is not a recognized processor for this target", "llvm-mca 15 has no model of gfx7"),
    ("", 1, "<stdin>:2:1: error: invalid instruction\nx\n^", "does not simulate this code: invalid instruction"),
]


@pytest.mark.parametrize(("out", "status", "err", "sentence"), ANSWERS)
def test_other_answers_are_refused(
    monkeypatch: pytest.MonkeyPatch, out: str, status: int, err: str, sentence: str
) -> None:
    answer = Completed(("llvm-mca",), status, out, err, 0.0)
    monkeypatch.setattr(mca, "run", lambda *words, **options: answer)
    program = LlvmMca(Toolchain("system", None, None, None, None), "/usr/bin/llvm-mca", 15)
    with pytest.raises((ToolError, UnsupportedError), match=sentence):
        program.simulate("amdgcn", "gfx7", "", [["s_nop 0"]])


def test_missing_instructions_are_refused() -> None:
    with pytest.raises(ValueError, match="instructions are missing"):
        mca._steps({"CodeRegions": [region("0", 1)]}, [2])


def test_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path))
    """The package, where this machine's apt has it; else no command that cannot be carried out."""
    monkeypatch.setattr(packages, "_packages", lambda: ("llvm-15",))
    with pytest.raises(
        UnsupportedError, match=r"llvm-mca of LLVM 99, .* is not installed: this system's package that holds"
    ):
        llvm_mca(99)
    monkeypatch.setattr(packages, "_packages", lambda: ("llvm-15", "llvm-99"))
    with pytest.raises(UnsupportedError, match=r"is not installed: apt install llvm-99$"):
        llvm_mca(99)


def test_the_program_of_a_root_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "amd/usr/lib/llvm-998/bin/llvm-mca"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path))
    with pytest.raises(UnsupportedError):
        llvm_mca(998)
    path.chmod(0o755)
    program = llvm_mca(998)
    assert (program.path, program.toolchain.name, program.title) == (str(path), "amd", "llvm-mca 998")


class _Code(list[int]):
    """Instructions of LLVM 15, of one block."""

    routes = ()
    illegal = ()
    disassembler = "LLVM 15"


def test_code_of_too_many_instructions_is_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mca, "MOST_INSTRUCTIONS", 2)
    nobody: Any = SimpleNamespace(target=SimpleNamespace(processor="gfx90a"), metadata=None)
    with pytest.raises(UnsupportedError, match="3 instructions are too many for llvm-mca"):
        code_object_parts._waits(nobody, nobody, _Code([0, 4, 8]))  # type: ignore[arg-type]
