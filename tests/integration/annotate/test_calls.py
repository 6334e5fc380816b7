"""Kernels that call functions: of which instructions the lines are true, with and without the stages of the compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kernlens
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.source_map import FROM_STAGE, FROM_TABLE, IN_PROLOGUE, LINE_LOST, UNCERTAIN, SourceMap
from kernlens.toolchain.toolchains import NEWEST, SYSTEM

SOURCE = """\
__attribute__((noinline)) float helper(float x, __global float *p, int n)
{
    float s = x;
    for (int i = 0; i < n; i++)
        s = s * p[i] + 2.0f;
    return s;
}
__attribute__((noinline)) float middle(float x, __global float *p)
{
    float y = helper(x, p, 7);
    return y * y + x;
}
__kernel void k(__global float *in, __global float *out, int n)
{
    int i = get_global_id(0);
    float a = in[i];
    if (a > 3.0f)
        a = middle(a, in);
    out[i] = helper(a, out, n) + a;
}
"""
#: The lines of each function.
LINES = {"helper": range(1, 8), "middle": range(8, 13), "k": range(13, 21)}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "calls.cl"
    path.write_text(SOURCE)
    return path


def lines_of(source_map: SourceMap) -> dict[str, set[int]]:
    """Function -> the lines that its instructions stand under."""
    return {
        str(function.name): {place.line for index in function.code if (place := source_map.place(index)) is not None}
        for function in source_map.functions
    }


def share(source_map: SourceMap) -> float:
    """The share of instructions behind the prologue that have a line."""
    origins = [source_map.origin(index) for index in range(len(source_map.offsets))]
    behind = [origin for origin in origins if origin != IN_PROLOGUE]
    return sum(origin in (FROM_TABLE, UNCERTAIN, FROM_STAGE) for origin in behind) / len(behind)


def joined(kernel: Kernel) -> SourceMap:
    assert kernel.source_map is not None
    return kernel.source_map


@pytest.mark.parametrize(
    ("device", "toolchain", "loses"),
    [
        ("skl", SYSTEM, False), ("tgllp", SYSTEM, True), ("dg2", SYSTEM, True), ("pvc", SYSTEM, True),
        ("tgllp", NEWEST, True), ("dg2", NEWEST, False), ("bmg", NEWEST, False),
    ],
)  # fmt: skip
def test_no_instruction_stands_under_another_functions_line(
    device: str, toolchain: str, loses: bool, source: Path, request: pytest.FixtureRequest
) -> None:
    if toolchain == NEWEST:
        root = str(request.getfixturevalue("newest_root"))
        search_also(lambda: {"newest": root})
    pipeline = kernlens.stages(source, device, toolchain=toolchain, options="-gline-tables-only")
    bare = source.with_suffix(".klens")
    (program,) = kernlens.compile(source, device, toolchain=toolchain, options="-gline-tables-only", recording=bare)
    plain, staged = joined(program.kernels["k"]), joined(pipeline.programs[0].kernels["k"])
    assert [function.name for function in plain.functions] == ["k", "middle", "helper"]
    for source_map in (plain, staged):
        for function, lines in lines_of(source_map).items():
            assert lines <= set(LINES[function]), function
    assert (plain.warning is not None) == loses
    assert program.kernels["k"].line_warning == plain.warning
    lost = [plain.origin(index) for index in plain.functions[1].code]
    assert lost == [LINE_LOST] * len(lost) if loses else LINE_LOST not in lost
    assert share(staged) >= 0.8
    if loses:
        assert share(plain) < share(staged)
        assert lines_of(staged)["middle"], "the kept stages tell what the table lost"


def printed(*words: str, status: int = 0) -> str:
    command = [sys.executable, "-c", "from kernlens.cli.main import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done.stdout


def test_a_lost_line_is_said_by_the_commands(source: Path) -> None:
    bare = source.with_suffix(".klens")
    (program,) = kernlens.compile(source, "dg2", toolchain=SYSTEM, options="-gline-tables-only", recording=bare)
    kernel = program.kernels["k"]
    offset = kernel.instructions.offsets[joined(kernel).functions[1].code.start]
    answer = printed("annotate", str(bare), "--offset", hex(offset))
    assert "no source line: the compiler lost the line rows of middle here" in answer
    assert f"lines of k: {kernel.line_warning}" in printed("inspect", str(bare))


@pytest.mark.parametrize("device", ["bmg", "dg2"])
def test_functions_behind_a_kernel_of_a_zebin_count_and_have_their_lines(
    device: str, source: Path, newest_root: Path
) -> None:
    """The newest compiler's symbol of a kernel ends where the functions begin that the kernel calls."""
    search_also(lambda: {"newest": str(newest_root)})
    bare = source.with_suffix(".klens")
    options = "-gline-tables-only -cl-opt-disable"
    (program,) = kernlens.compile(source, device, toolchain=NEWEST, options=options, recording=bare)
    kernel = program.kernels["k"]
    own = next(symbol for symbol in program.symbols if symbol.name == "k" and symbol.type == "func")
    assert kernel.code_size > own.size
    first, *functions = kernel.functions
    assert (first.name, first.size) == ("k", own.size)
    names = [str(function.name).removesuffix("_GenXClone") for function in functions]
    assert names in (["helper", "middle"], ["middle"])
    assert len(names) == 2 or "helper" in [function.name for function in program.kernels[PSEUDO_KERNEL].functions]
    for function in functions:
        lines = LINES[str(function.name).removesuffix("_GenXClone")]
        result = {place.line for index in function.code if (place := joined(kernel).place(index)) is not None}
        assert result
        assert result <= set(lines)
    assert "y * y + x" in printed("annotate", str(bare), "--line", "11")
    behind = kernel.instructions[first.code.stop : functions[-1].code.stop].kinds
    spills = sum(kind.access is not None and kind.access.is_spill for kind in behind)
    assert spills, "the caller's registers are saved"
    assert f"max-spill-stores: spill stores {kernel.costs['spill_stores']}, at most 0" in printed(
        "check", str(bare), "--max-spill-stores", "0", status=1
    )


def test_a_function_that_kernels_share_has_no_prologue(newest_root: Path, tmp_path: Path) -> None:
    """No thread begins in it: the row that the compiler marks there ends the function's own beginning."""
    search_also(lambda: {"newest": str(newest_root)})
    source = tmp_path / "shared.cl"
    source.write_text(
        "__attribute__((noinline)) float square(float x) { return x * x + 1.0f; }\n"
        "kernel void one(global float *o) { o[get_global_id(0)] = square(o[0]); }\n"
        "kernel void two(global float *o) { o[get_global_id(0)] = square(o[1]); }\n"
    )
    (program,) = kernlens.compile(source, "bmg", toolchain=NEWEST, options="-gline-tables-only -cl-opt-disable")
    shared = program.kernels[PSEUDO_KERNEL]
    (square,) = (function for function in shared.functions if function.name == "square")
    result = joined(shared)
    assert IN_PROLOGUE not in result.origins[square.code.start : square.code.stop]
    assert {place.line for place in result.places[square.code.start : square.code.stop] if place} == {1}
