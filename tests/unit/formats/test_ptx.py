"""PTX: directives, functions, statements, and the places that ``.loc`` gives them."""

from __future__ import annotations

import re

import pytest

from kernlens.errors import FormatError
from kernlens.formats.ptx.ptx_text import is_ptx, read_ptx, read_ptx_lines
from kernlens.model.source_map import SourcePlace
from tests.limits import processor_time
from tests.nvidia_files import inlined, opencl, triton

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def simple_rows(text: str) -> list[tuple[int, int | None]]:
    """Return line and ``.loc`` line of each statement, as far as one stands on a line: told by lines alone."""
    rows: list[tuple[int, int | None]] = []
    line = None
    for number, row in enumerate(text.split("\n"), 1):
        bare = row.partition("//")[0].strip()
        if bare.startswith((".entry", ".visible .entry")):
            line = None
        if match := re.match(r"\.loc\s+\d+ (\d+)", bare):
            line = int(match[1]) or None
        elif bare.endswith(";") and not bare.startswith("."):
            rows.append((number, line))
    return rows


@pytest.mark.parametrize("content", [opencl("program.ptx"), opencl("program_with_nv_line_info.ptx"), triton(".ptx")])
def test_statements_have_the_line_of_the_loc_before_them(content: bytes) -> None:
    assert is_ptx(content)
    ptx = read_ptx(memoryview(content))
    told = [(line, place.line if place else None) for line, place in zip(ptx.rows.lines, ptx.rows.places, strict=True)]
    assert told == simple_rows(ptx.text)
    assert len(told) > 100


def test_functions_of_a_driver_s_program() -> None:
    ptx = read_ptx(memoryview(opencl("program.ptx")))
    assert (ptx.version, ptx.target) == ((9, 0), "sm_90")
    assert [function.name for function in ptx.entries] == ["saxpy", "matmul", "mandel"]
    saxpy = ptx.functions[0]
    assert saxpy.registers == {"pred": 2, "f32": 5, "b32": 7, "b64": 12}
    assert ptx.lines[saxpy.first - 1].startswith(".entry saxpy(")
    assert ptx.lines[saxpy.last - 1] == "}"
    assert ptx.part("saxpy") == range(saxpy.first - 1, saxpy.last)
    assert ptx.part("nothing") is None
    assert "\0" not in ptx.text


def test_inlined_places() -> None:
    rows = read_ptx_lines(inlined(".ptx").decode())
    found_places = dict(zip(rows.lines, zip(rows.places, rows.calls, strict=True), strict=True))
    main, header = "/home/user/a.cl", "/home/user/b.h"
    text = inlined(".ptx").decode().split("\n")
    fused = next(number for number, row in enumerate(text, 1) if "fma.rn" in row)
    assert found_places[fused] == (SourcePlace(header, 4, 5), (SourcePlace(main, 3, 9), SourcePlace(main, 11, 7)))
    assert found_places[fused + 2] == (SourcePlace(main, 12, 7), ())


def test_braces_calls_and_labels() -> None:
    text = HEAD + (
        ".func (.param .b32 out) helper(.param .b32 x)\n{\n\tret;\n}\n"
        ".visible .entry k(\n\t.param .u64 p\n)\n.maxntid 128, 1, 1\n{\n"
        "\t{ // callseq 0, 0\n\tcall.uni (retval0),\n\thelper,\n\t(param0);\n\t}\n"
        "$L__BB0_1:\n\tmma.sync.aligned {%f1, %f2},\n\t\t{%r1, %r2}, {%r3}, {%f1, %f2};\n"
        "lab: add.s32 %r1, %r1, 1; // } ;\n\t/* ; { */ mov.b64 {%r1, %r2}, %rd1;\n\tret;\n}\n"
        ".global .align 4 .b8 table[4] = {1, 2, 3, 4};\n"
    )
    ptx = read_ptx(memoryview(text.encode()))
    assert [(function.name, function.is_entry) for function in ptx.functions] == [("helper", False), ("k", True)]
    assert ptx.functions[1].called == {"helper"}
    lines = text.split("\n")
    starts = [
        lines[line - 1].strip().split()[0]
        for line, name in zip(ptx.rows.lines, ptx.rows.functions, strict=True)
        if name == "k"
    ]
    assert starts == ["call.uni", "mma.sync.aligned", "lab:", "/*", "ret;"]
    assert lines[ptx.functions[1].last - 1] == "}"


def test_what_is_no_ptx() -> None:
    assert not is_ptx(b"__kernel void f() {} // .version 8.0")
    assert not is_ptx(b".version 8.0"[:5])
    assert is_ptx(b"// made by hand\n/* and more */\n.version 8.0\n.target sm_80\n")
    with pytest.raises(FormatError, match=r"names no \.version and \.target"):
        read_ptx(memoryview(b".version 8.0\n"))


@pytest.mark.parametrize(
    "body",
    ["/*" * 200_000, "a" * 400_000 + "\n" * 150_000, "{" * 150_000, ".loc 1 2 3, function_name " * 30_000, "a:\n" * 100_000,
     "call (" * 100_000, ".func (" * 100_000],
)  # fmt: skip
def test_texts_made_to_be_slow(body: str) -> None:
    with processor_time(2):
        ptx = read_ptx(memoryview((HEAD + ".entry k()\n{\n" + body).encode()))
        assert ptx.functions == ()


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ('"/tmp/kernels" "blur.cl"', "/tmp/kernels/blur.cl"),
        ('"/tmp" "/elsewhere/blur.cl"', "/elsewhere/blur.cl"),
        ('"/tmp/kernels/blur.cl"', "/tmp/kernels/blur.cl"),
        ('"/tmp/kernels/blur.cl", 1700000000, 512', "/tmp/kernels/blur.cl"),
        ('"/tmp//kernels/*x" "b;{ur.cl"', "/tmp//kernels/*x/b;{ur.cl"),
        ('"/tmp" "bl\\303\\274r.cl"', "/tmp/blür.cl"),
    ],
)
def test_a_file_in_its_folder_as_llvm_writes_it(file: str, path: str) -> None:
    body = '{\n\t.loc\t1 7 3\n\tadd.s32 %r1, %r1, 1; // " }\n\tret;\n}\n'
    text = f"{HEAD}\t.file\t1 {file}\n.visible .entry k()\n{body}"
    rows = read_ptx_lines(text)
    assert rows.places == [SourcePlace(path, 7, 3)] * 2
    before = read_ptx_lines(f"{HEAD}.visible .entry k()\n{{\n.file 1 {file}\n{body[1:]}")
    assert before.places == rows.places
