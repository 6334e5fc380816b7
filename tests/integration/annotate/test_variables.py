"""``annotate --variable`` on what both compilers make, held against vISA's own debug files and a slow reference
(``tests/corpus/variables.py``, which takes the whole corpus)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import kernlens as package
from kernlens.isa.intel.iga_library import search_also
from kernlens.loading import open_file
from kernlens.model.variable import CONSTANT, HELD, OVERWRITTEN, REGISTER, STATED
from kernlens.report.explore.variable_columns import variable_columns
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.corpus.build import build
from tests.corpus.checks import load
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import programs
from tests.corpus.slow_written import SlowWritten, unproven_ranges
from tests.corpus.variables import Checks, short_kernels, with_variables
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["kernlens"]

#: An inlined call, a loop that is not unrolled, an argument that the code never needs in a register, and one that it does.
PLACES = """\
float f(float x)
{
    float y = native_sin(x) * 3.0f;
    return y;
}
kernel void k(global float *a, int n)
{
    int id = get_global_id(0);
    float s = 0.0f;
    for(int i = 0; i < n; i++)
        s += f(a[id + i]) * s + i;
    a[id] = s;
}
"""
PROGRAMS = ("darktable/atrous", "darktable/bloom")


@pytest.fixture
def recording(kernlens: Kernlens, tmp_path: Path) -> str:
    (tmp_path / "places.cl").write_text(PLACES)
    path = str(tmp_path / "places.klens")
    done = kernlens("compile", str(tmp_path / "places.cl"), "--device", "dg2", "--build-options", "-g", "-o", path)
    assert done.status == 0, done.out + done.err
    return path


def check(device: str, root: Path | None) -> Checks:
    chosen = [program for program in programs() if program.name in PROGRAMS]
    compiler = with_variables(newest(root) if root else DEBIAN)
    if root:
        search_also(lambda: {"newest": str(root)})
    built, failures = build(chosen, [device], compiler=compiler, jobs=1)
    assert len(built) == len(PROGRAMS), failures
    checks = Checks()
    for each in built:
        checks.read(each)
    for kernel in list(short_kernels(built, 300))[:4]:
        checks.compare(kernel)
    assert checks.differences == []
    assert checks.unnamed == {}
    assert checks.elsewhere == []
    assert checks.unproven == []
    assert checks.states["held (code)"] > 100
    return checks


def test_places_are_those_of_the_finalizer(corpus_sample: object) -> None:
    checks = check("dg2", None)
    assert checks.places["first"] > 100
    assert checks.cut > 0
    assert checks.without > 0


def test_places_are_those_of_the_newest_finalizer(newest_root: Path) -> None:
    checks = check("bmg", newest_root)
    assert checks.places["first"] > 100
    assert checks.cut > 0


def test_an_argument_is_cut_where_the_code_overwrites_it(newest_root: Path) -> None:
    """The compiler states that ``width`` is in r5 to the kernel's end, and moves -1 to its lower half before that."""
    search_also(lambda: {"newest": str(newest_root)})
    (program,) = (each for each in programs() if each.name == "darktable/atrous")
    (built,), _ = build([program], ["dg2"], compiler=with_variables(newest(newest_root)), jobs=1)
    kernel = load(built).kernels["eaw_decompose"]
    (width,) = (variable for variable in kernel.variables if variable.name == "width")
    (stated,) = width.locations
    (piece,) = stated.lanes[0]
    assert (piece.kind, piece.file, piece.bits) == (REGISTER, "r", 32)
    first, second, *_ = kernel.variable_ranges(width)
    assert (first.state, second.state) == (HELD, OVERWRITTEN)
    assert first.end == second.begin < stated.high
    (writer,) = (kernel.instructions[row] for row in second.writers)
    assert writer.offset < second.begin
    assert f"r{piece.number}." in writer.text
    assert second.changed == 2


#: The compilers keep the sum in an accumulator, and state the registers that they allotted for it.
MATMUL = """\
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(global const float *a, global const float *b, global float *c, int n)
{
    local float at[16][16], bt[16][16];
    int x = get_local_id(0), y = get_local_id(1);
    int col = get_group_id(0) * 16 + x, row = get_group_id(1) * 16 + y;
    float acc = 0.0f;
    for(int t = 0; t < n; t += 16)
    {
        at[y][x] = a[row * n + t + x];
        bt[y][x] = b[(t + y) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for(int k = 0; k < 16; k++)
            acc += at[y][k] * bt[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = acc;
}
"""


@pytest.fixture(params=[SYSTEM, NEWEST])
def matmul(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == NEWEST:
        root = request.getfixturevalue("newest_root")
        search_also(lambda: {NEWEST: str(root)})
    source, path = tmp_path / "matmul.cl", str(tmp_path / "matmul.klens")
    source.write_text(MATMUL)
    package.compile(source, "dg2", toolchain=request.param, options="-g", recording=path)
    return path


def test_a_sum_in_an_accumulator_is_not_in_its_register(matmul: str, kernlens: Kernlens) -> None:
    (kernel,) = (program.kernels["matmul"] for program in open_file(matmul).programs)
    (acc,) = (variable for variable in kernel.variables if variable.name == "acc")
    ranges = [each for each in kernel.variable_ranges(acc) if each.location.lanes[0][0].kind == REGISTER]
    slow = SlowWritten(kernel, 32)
    assert [told for *_, told in unproven_ranges(kernel, slow) if told] == []
    assert {HELD, STATED} <= {each.state for each in ranges}
    stated = [each for each in ranges if each.state == STATED]
    assert len(stated) >= 4
    text = kernlens("annotate", matmul, "--variable", "acc").out
    assert "stated by the compiler, not found in the code" in text
    assert "not followed" not in text
    (entry,) = document(kernlens, matmul, "--variable", "acc")
    assert [each["origin"] for each in entry["ranges"] if each["state"] == "stated"] == ["compiler"] * len(stated)


def test_as_text(kernlens: Kernlens, recording: str) -> None:
    done = kernlens("annotate", recording, "--variable", "*")
    assert done.status == 0
    assert "int n: argument of k, places.cl:6" in (done.out + done.err)
    assert "float* a: argument of k, places.cl:6\n    the compiler states no place for it" in (done.out + done.err)
    assert "float x: argument of f, places.cl:1, inlined at places.cl:11" in (done.out + done.err)
    assert "constant 0x0" in (done.out + done.err)
    assert "lanes 0-31: r" in (done.out + done.err)
    named = kernlens("annotate", recording, "--variable", "f.x").out
    assert "float x: argument of f" in named
    assert "int n" not in named


def test_at_an_instruction(kernlens: Kernlens, recording: str) -> None:
    everywhere = document(kernlens, recording, "--variable", "i")
    (loop,) = everywhere
    registers = [each for each in loop["ranges"] if each["lanes"][0][0]["kind"] == REGISTER]
    assert any(each["lanes"][0][0]["kind"] == CONSTANT for each in loop["ranges"])
    begin = registers[0]["begin"]
    (here,) = document(kernlens, recording, "--variable", "i", "--offset", hex(begin))
    assert here["ranges"] == registers[:1]
    (at_line,) = document(kernlens, recording, "--variable", "i", "--line", "11")
    assert registers[0] in at_line["ranges"]
    text = kernlens("annotate", recording, "--variable", "i", "--line", "12").out
    assert "int i: variable of k" in text


@pytest.mark.parametrize("line", [2, 999])
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_line_without_code_is_no_place_where_the_variable_is_not(
    kernlens: Kernlens, recording: str, line: int, words: tuple[str, ...]
) -> None:
    done = kernlens("annotate", recording, "--variable", "s", "--line", str(line), *words)
    assert done.status == kernlens("annotate", recording, "--line", str(line), *words).status == 1
    assert f"no instruction came from line {line}; leave --line out" in done.err
    assert "nowhere" not in done.out + done.err


@pytest.mark.parametrize("words", [(), ("--variable", "n")])
def test_a_line_and_an_offset_are_two_choices(kernlens: Kernlens, recording: str, words: tuple[str, ...]) -> None:
    done = kernlens("annotate", recording, "--line", "11", "--offset", "0x10", *words)
    assert (done.status, done.out) == (2, "")
    assert "--line and --offset exclude each other; remove --offset" in done.err


def test_of_all_variables_each_has_few_ranges_and_its_last(kernlens: Kernlens, tmp_path: Path) -> None:
    source, path = tmp_path / "sums.cl", str(tmp_path / "sums.klens")
    loops = ["float v[40];", "for(int i = 0; i < 40; i++) v[i] = a[i * n];", "float s = 0;"]
    loops.append("for(int i = 0; i < 40; i++) s += v[i] * v[39 - i];")
    source.write_text("\n".join(["kernel void k(global float *a, int n) {", *loops, "a[n] = s + v[n & 31]; }"]))
    assert kernlens("compile", str(source), "--device", "dg2", "--build-options", "-g", "-o", path).status == 0
    (entry,) = document(kernlens, path, "--variable", "s")
    ranges = [f"    {each['begin']:#06x} to {each['end']:#06x}  " for each in entry["ranges"]]
    assert len(ranges) > 12
    text = kernlens("annotate", path, "--variable", "*").out.partition("float s:")[2].splitlines()[1:]
    assert [line.startswith(start) for line, start in zip(text, ranges[:7], strict=False)] == [True] * 7
    assert text[7].startswith(f"    ... {len(ranges) - 8} more ranges; --variable NAME")
    assert text[8].startswith(ranges[-1])


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_an_offset_in_no_kernel_is_an_error(kernlens: Kernlens, recording: str, form: tuple[str, ...]) -> None:
    done = kernlens("annotate", recording, "--variable", "*", "--offset", "0x99999", *form)
    assert (done.status, done.out) == (2, "")
    assert "no selected kernel has an instruction at offset 0x99999; kernlens disasm lists the offsets" in done.err


def document(kernlens: Kernlens, *words: str) -> list[dict[str, Any]]:
    ((kernel,),) = (program["kernels"] for program in kernlens("annotate", *words, "--json").document["programs"])
    assert kernel["variables_reason"] is None
    return list(kernel["variables"])


def test_what_there_is_not(kernlens: Kernlens, recording: str, tmp_path: Path) -> None:
    done = kernlens("annotate", recording, "--variable", "idd")
    assert done.status == 2
    assert "no selected kernel has a variable idd; did you mean id?" in (done.out + done.err)
    done = kernlens("annotate", recording, "--variable", "zzzz")
    assert "it has a, n, id, s, i, x, y" in (done.out + done.err)
    for words in (["--top", "3"], ["--waits"], ["--format", "csv"]):
        done = kernlens("annotate", recording, "--variable", "n", *words)
        assert done.status == 2
        assert "--variable" in (done.out + done.err)
    lines_only = str(tmp_path / "lines.klens")
    kernlens("compile", str(tmp_path / "places.cl"), "--device", "dg2", "-o", lines_only)
    done = kernlens("annotate", lines_only, "--variable", "n")
    assert done.status == 2
    assert "compile with -g, which replaces -gline-tables-only" in (done.out + done.err)


def test_values_of_that_name_where_stages_were_kept(kernlens: Kernlens, tmp_path: Path) -> None:
    (tmp_path / "places.cl").write_text(PLACES)
    path = str(tmp_path / "stages.klens")
    assert kernlens("stages", str(tmp_path / "places.cl"), "--device", "dg2", "-o", path).status == 0
    text = kernlens("annotate", path, "--variable", "inc").out
    assert "compile with -g, which replaces -gline-tables-only; values of this name in the LLVM IR" in text
    assert "%inc = add nuw nsw i32 %i.0" in text
    assert re.search(r"0x[0-9a-f]{4}  .* add \(1\|M0\) +(r\S+<1>:d) ", text)
    assert "%s.0" in kernlens("annotate", path, "--variable", "s").out
    ((kernel,),) = (
        program["kernels"] for program in kernlens("annotate", path, "--variable", "inc", "--json").document["programs"]
    )
    (value,) = kernel["values"]
    assert (value["value"], kernel["variables"]) == ("%inc", [])
    assert len(value["offsets"]) == 1


def test_the_explorer_has_the_same_words(kernlens: Kernlens, recording: str) -> None:
    (program,) = open_file(recording).programs
    kernel = program.kernels["k"]
    columns = variable_columns(kernel)["variables"]
    entry = next(each for each in columns["list"] if each["name"] == "i")
    offsets = [*kernel.instructions.offsets, kernel.code_size]
    text = kernlens("annotate", recording, "--variable", "i").out
    for first, end, number in zip(*(iter(entry["ranges"]),) * 3, strict=True):
        assert f"{offsets[first]:#06x} to {offsets[end]:#06x}  {columns['words'][number]}" in text
    assert {each["name"] for each in columns["list"]} == {"a", "n", "id", "s", "i", "x", "y"}
