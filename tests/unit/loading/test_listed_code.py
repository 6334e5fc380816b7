"""Kernels whose decoder gives a listing, of devices of another vendor: every verb answers, or says one true sentence."""

from __future__ import annotations

import json
from array import array
from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.loading import unpack
from kernlens.loading.absent_lines import EMPTY_TABLE
from kernlens.loading.binary_programs import listed_program
from kernlens.loading.context import Context
from kernlens.loading.listed_code import ListedKernel
from kernlens.model.device import Device
from kernlens.model.instruction_kind import FLOAT, GLOBAL, LOAD, OTHER, Access, InstructionKind
from kernlens.model.kernel import KernelArgument
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.line_table import LineTable, SourceFile
from kernlens.model.listed_instructions import ListedInstructions
from kernlens.model.program import Program
from kernlens.model.waits import WRITTEN, Wait, Waits
from tests.unit.conftest import Kernlens
from tests.writers.patch_tokens import KernelToWrite
from tests.writers.patch_tokens import program as patch_tokens

GFX = Device("gfx1030", "Radeon RX 6800", "AMD", "amdgcn")
TEXTS = {
    "global_load_dword v1, v[2:3], off": InstructionKind(GLOBAL, Access("load", LOAD, 4, 1, 32, "flat", 128)),
    "v_add_f32_e32 v0, v0, v1": InstructionKind(FLOAT),
    "s_cbranch_scc1 L8": InstructionKind(OTHER),
    "s_endpgm": InstructionKind(OTHER),
}
SOURCE = "kernel void sum(global float* a) {\n  float s = 0;\n  for (int i = 0; i < 9; i++)\n    s += a[i];\n}\n"


def instructions(conditional: tuple[int, ...] | None = (2,)) -> ListedInstructions:
    texts = list(TEXTS)
    return ListedInstructions(
        (0, 8, 12, 16),
        (8, 4, 4, 4),
        [text.split()[0] for text in texts],
        texts,
        targets={2: (8,)},
        stops=(3,),
        conditional=conditional,
        kinds=list(TEXTS.values()),
        disassembler="LLVM 15.0.6",
    )


def table() -> LineTable:
    return LineTable(
        files=(SourceFile(""), SourceFile("sum.cl")),
        offsets=array("I", (0, 8, 16, 20)),
        files_of=array("I", (1, 1, 1, 1)),
        lines=array("I", (4, 4, 5, 5)),
        columns=array("I", (10, 7, 1, 1)),
        flags=bytes((1, 0, 0, 2)),
        find_inlined=tuple,
    )


def opened(name: str, content: memoryview, context: Context) -> Program:
    """A program of two kernels in place of the one that the file holds."""
    own = {"lds_bytes": 512, "wave_size": 32}
    resources = KernelResources(
        register_files={"VGPR": 12, "SGPR": 18}, spilled_registers={"VGPR": 0, "SGPR": 2}, stated=own
    )
    kernels = [
        ListedKernel(
            "sum",
            memoryview(bytes(range(20))),
            instructions,
            resources,
            (KernelArgument(0, "a", "float*", "global"),),
            find_lines=table,
        ),
        ListedKernel(
            "bare", memoryview(bytes(20)), lambda: instructions(None), resources, line_reason="built without -g"
        ),
    ]
    return listed_program(name, "raw", kernels, GFX, content, context)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(unpack._PROGRAMS, "patch-tokens", opened)
    (tmp_path / "sum.cl").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.bin").write_bytes(patch_tokens([KernelToWrite("sum")]))
    return tmp_path / "sum.bin"


def test_inspect_shows_the_figures_that_the_binary_states(kernlens: Kernlens, path: Path) -> None:
    done = kernlens("inspect", path)
    assert done.status == 0, done.err
    (heading,) = [line for line in done.out.splitlines() if "VGPRs" in line]
    for word in ("VGPRs", "SGPRs", "VGPR spills", "SGPR spills", "LDS", "wave size", "code size"):
        assert word in heading, heading
    for word in ("GRF", "SIMD", "SLM", "scratch", "barriers"):
        assert word not in heading, heading
    kernel = json.loads(kernlens("inspect", "--json", path).out)["programs"][0]["kernels"][0]
    assert (kernel["vgprs"], kernel["sgprs"], kernel["sgpr_spills"], kernel["lds_bytes"]) == (12, 18, 2, 512)
    assert (kernel["grf_count"], kernel["spill_bytes"]) == (None, None)
    assert "agprs" not in kernel


def test_listings_show_texts_and_lines(kernlens: Kernlens, path: Path) -> None:
    annotated = kernlens("annotate", path)
    assert annotated.status == 0, annotated.err
    assert "s += a[i]" in annotated.out
    assert "v_add_f32_e32 v0, v0, v1" in annotated.out
    assert "built without -g" in annotated.out
    assert "12 VGPRs, 18 SGPRs, spills 2 SGPRs" in annotated.out
    assert "s_endpgm" in kernlens("disasm", path).out
    document = json.loads(kernlens("disasm", "--json", path).out)
    listed = document["programs"][0]["kernels"][0]["instructions"]
    assert [each["text"] for each in listed] == list(TEXTS)


@pytest.mark.parametrize(
    "words",
    [
        ["annotate", "--top", "3"], ["annotate", "--json"],
        ["annotate", "--offset", "8"], ["inspect", "--full"],
        ["inspect", "--sort", "live-grfs"], ["inspect", "--sort", "vgprs"],
        ["report", "-o", "report.html"], ["check", "--max-vgprs", "100"],
    ],
)  # fmt: skip
def test_every_verb_answers(kernlens: Kernlens, path: Path, words: list[str]) -> None:
    done = kernlens(words[0], path, *words[1:])
    assert done.status in (0, 1), done
    assert "kernlens:" not in done.err or done.status == 1, done.err
    assert "internal" not in done.err


def test_what_is_unknown_has_a_sentence(kernlens: Kernlens, path: Path) -> None:
    waits = kernlens("annotate", path, "--waits")
    assert "waits are unknown: kernlens has no cycles for amdgcn code" in waits.out + waits.err
    pressure = kernlens("annotate", path, "--pressure")
    assert "Register pressure is not known" in pressure.out
    advice = kernlens("advise", path)
    assert "there is no advice on amdgcn code" in advice.out + advice.err
    assert kernlens("check", path, "--max-vgprs", "8").status == 1
    assert "live GRFs -: cannot be checked" in kernlens("check", path, "--max-live-grfs", "3").out


def test_programs_are_compared_by_their_texts(kernlens: Kernlens, path: Path) -> None:
    same = kernlens("diff", path, path)
    assert same.status == 0, same.err
    assert json.loads(kernlens("diff", "--json", path, path).out)["equal"] is True


def test_waits_of_another_estimate_stand_under_its_name(
    kernlens: Kernlens, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = Waits(
        array("I", (0, 21, 22, 23)), bytes((1, 1, 1, 1)), {1: Wait(1, 0, 20, WRITTEN)}, [0], 4, 20, "llvm-mca"
    )

    def with_waits(name: str, content: memoryview, context: Context) -> Program:
        lines = ListedKernel(
            "sum", memoryview(bytes(20)), instructions, find_lines=table, find_waits=lambda instructions: waits
        )
        return listed_program(name, "raw", [lines], GFX, content, context)

    monkeypatch.setitem(unpack._PROGRAMS, "patch-tokens", with_waits)
    listed = kernlens("annotate", path, "--waits").out
    assert "llvm-mca's estimate, one thread alone, loops once: 4 issue cycles, 20 wait cycles, 84% waits" in listed
    assert "waits 20 cycles for 0x0000" in listed
    assert "IGC" not in listed
    (kernel,) = kernlens("annotate", path, "--waits", "--json").document["programs"][0]["kernels"]
    assert kernel["waits"]["estimate"] == "llvm-mca's estimate, one thread alone, loops once"
    asked = kernlens("annotate", path, "--offset", "8")
    assert "waits for 0x0" in asked.out, asked
    assert "20 cycles by llvm-mca's estimate" in asked.out


def test_more_code_than_the_table_describes_has_no_lines() -> None:
    """Where a family's tables end at the code's end, a longer one was changed after the compile."""

    def held(size: int, *, is_described: bool) -> str | None:
        code = memoryview(bytes(range(1, size + 1)))
        listed = ListedKernel("sum", code, _not_decoded, find_lines=table, is_described=is_described)
        program = listed_program("p", "raw", [listed], GFX, code, Context())
        return program.kernels["sum"].line_table_reason

    assert held(20, is_described=True) is None
    assert "the line table describes 20 bytes, the kernel has 24" in str(held(24, is_described=True))
    assert "the line table describes 20 bytes, the kernel has 16" in str(held(16, is_described=True))
    assert held(24, is_described=False) is None


def _not_decoded() -> ListedInstructions:
    raise AssertionError("of listings the ends alone are compared")


def test_a_table_that_only_ends_is_none() -> None:
    """Generators of code leave one, which may end anywhere: it says nothing of the code."""
    only_end = replace(table(), offsets=[16], files_of=[1], lines=[1], columns=[0], flags=bytes((2,)))
    code = memoryview(bytes(range(1, 21)))
    listed = ListedKernel("sum", code, _not_decoded, find_lines=lambda: only_end, is_described=True)
    kernel = listed_program("p", "raw", [listed], GFX, code, Context()).kernels["sum"]
    assert (kernel.line_table, kernel.line_table_reason, kernel.code_change) == (None, EMPTY_TABLE, None)


def test_no_stages_are_named_that_would_not_tell(kernlens: Kernlens, path: Path) -> None:
    """`stages` keeps what tells the lines of Intel's code, and of no other."""
    done = kernlens("annotate", path)
    assert "may be of no line: the line table does not tell" in " ".join(done.out.split())
    assert "kernlens stages" not in done.out
