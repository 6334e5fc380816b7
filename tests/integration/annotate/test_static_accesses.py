"""Accesses as a kernel's code has them, of kernels that ocloc compiles: in the listing, as JSON, and of damaged modules."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from kernlens.analysis.lanes.patterns import Group, static_accesses
from kernlens.errors import KernlensError
from kernlens.formats.spirv.kernel_code import KernelCodes
from kernlens.verbs.compile import compile
from tests.integration.cli.test_cli import kernlens

SOURCE = """\
typedef struct { char tag; float value[3]; } part;
float first(global const part *p, int i)
{
    return p[i].value[1];
}
kernel void k(global const part *p, global float4 *out, int n, int2 shift)
{
    int i = get_global_id(0);
    local float tile[64];
    for (int k = 0; k < n; k++)
        tile[get_local_id(0)] = first(p, i + shift.y);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tile[0] > 0)
        out[i * n] = vload4(i, (global float *)p);
}
kernel __attribute__((reqd_work_group_size(8, 8, 1))) void small(global const float *in, global float *out)
{
    int at = get_local_id(1) * 8 + get_local_id(0);
    out[at] = in[get_local_id(0)];
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("code") / "k.cl"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def module(source: Path) -> bytes:
    (program,) = compile(source, "dg2")
    return bytes(program.spirv)


def test_accesses_in_json(source: Path) -> None:
    for words in ((), ("--top", "3")):
        answer = json.loads(kernlens("annotate", source, "--device", "dg2", "--json", *words).stdout)
        whole, small = answer["programs"][0]["kernels"]
        accesses = {
            (each["line"], each["kind"], each["space"]): (each["width"], each["pattern"], each["stride_bytes"])
            for each in whole["accesses"]
        }
        assert whole["accesses_reason"] is None
        assert accesses == {
            (4, "load", "global"): (4, "stride of 16 bytes", 16),
            (11, "store", "local"): (4, "consecutive", 4),
            (13, "load", "local"): (4, "same address", 0),
            (14, "load", "global"): (16, "consecutive", 16),
            (14, "store", "global"): (16, "stride of 16 x n bytes", None),
        }
        (inlined,) = (each for each in whole["accesses"] if each["line"] == 4)
        assert [call["line"] for call in inlined["inlined_at"]] == [11]
        # Rows of eight are not those of a sub-group; rows that follow each other are.
        assert [each["pattern"] for each in small["accesses"]] == ["unknown", "consecutive"]


def test_a_line_with_a_stride_has_a_sentence(source: Path) -> None:
    done = kernlens("annotate", source, "--device", "dg2", "--kernel", "k")
    assert "store of 16 bytes, global memory: stride of 16 x n bytes between work-items, from the code" in done.stdout
    assert "strides from the code: for 32 neighbours in the first dimension" in done.stdout
    # The compiler left no code on line 4.
    assert done.stdout.count("from the code") == 2


BANKS = """\
kernel void k(global float *out, global const float *in, int width)
{
    local float square[64][64], padded[64][65], rows[4096];
    int l = get_local_id(0);
    for (int i = 0; i < 64; i++) {
        square[l][i] = in[i];
        padded[l][i] = in[i + 1];
        rows[l * width + i] = in[i + 2];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = square[(l + width) & 63][0] + padded[(l + width) & 63][0] + rows[l];
}
"""


def test_strides_in_local_memory_are_told_where_banks_conflict(tmp_path: Path) -> None:
    source = tmp_path / "banks.cl"
    source.write_text(BANKS)
    listing = kernlens("annotate", source, "--device", "dg2").stdout
    told = [line.strip() for line in listing.splitlines() if line.endswith("from the code")]
    assert told == [
        "store of 4 bytes, local memory: stride of 256 bytes between work-items, 32 lanes on one bank, from the code"
    ]
    answer = json.loads(kernlens("annotate", source, "--device", "dg2", "--json").stdout)
    stored = [each for each in answer["programs"][0]["kernels"][0]["accesses"] if each["kind"] == "store"]
    assert [each["stride_bytes"] for each in stored[:3]] == [256, 260, None]


FIELDS = """\
typedef struct { float x, y; float2 v; float mass[4]; } part;
kernel void k(global part *p, global float *out, float dt)
{
    int i = get_global_id(0);
    p[i].x += dt * p[i].v.x; out[i] = p[i].mass[1];
}
"""


def test_a_line_has_one_sentence_and_stands_below_a_table(tmp_path: Path) -> None:
    source = tmp_path / "fields.cl"
    source.write_text(FIELDS)
    listing = kernlens("annotate", source, "--device", "dg2").stdout
    (sentence,) = (line.strip() for line in listing.splitlines() if line.endswith("from the code"))
    assert sentence == (
        "load of 4 and 8 bytes and store of 4 bytes, global memory: stride of 32 bytes between work-items, from the code"
    )
    table = kernlens("annotate", source, "--device", "dg2", "--top", "1", "--full").stdout
    stride = "load of 4 and 8 bytes and store of 4 bytes have a stride of 32 bytes between work-items, from the code"
    assert f"\n  fields.cl:5: {stride}\n" in table
    advice = kernlens("advise", source, "--device", "dg2").stdout
    assert advice.count("docs/advice.md#strided-access") == 1
    assert "rounds and bank conflicts depend on data: kernlens observe " in advice
    assert " --size N --group N " in advice


@pytest.mark.parametrize("toolchain", ["system", "newest"])
def test_both_compilers_say_the_same(source: Path, toolchain: str, newest_root: Path) -> None:
    answer = json.loads(kernlens("annotate", source, "--device", "dg2", "--toolchain", toolchain, "--json").stdout)
    accesses = answer["programs"][0]["kernels"][0]["accesses"]
    assert {each["line"]: each["pattern"] for each in accesses if each["kind"] == "store"} == {
        11: "consecutive",
        14: "stride of 16 x n bytes",
    }


def test_lines_that_were_observed_have_what_was_observed(tmp_path: Path) -> None:
    source = tmp_path / "s.cl"
    source.write_text(
        "kernel void s(global float *a, global float *b, int far)\n{\n    int i = get_global_id(0);\n    b[i] = a[4 * i];\n"
        "    if (far)\n        b[i] = a[8 * i];\n}\n"
    )
    arguments = ("--arg", "random:float:1024", "--arg", "zeros:float:64", "--arg", "0")
    words = ("--size", "64", "--group", "64", *arguments, "--device", "dg2", "-o", tmp_path / "s.klens")
    done = kernlens("observe", source, *words)
    if "Oclgrind" in done.stderr:
        pytest.skip("no Oclgrind 21.10 with LLVM 14's tools")
    listing = kernlens("annotate", tmp_path / "s.klens").stdout
    assert "a load of 4 bytes touches 8 units of 64 bytes a request where 2 would do (stride of 16 bytes)" in listing
    assert "load of 4 bytes, global memory: stride of 32 bytes between work-items, from the code" in listing
    assert "stride of 16 bytes between" not in listing


def test_damaged_modules_are_one_error(module: bytes) -> None:
    source = random.Random(38)
    refused = 0
    for _ in range(300):
        damaged = bytearray(module)
        for _ in range(source.choice((1, 2, 5))):
            at = 4 * source.randrange(5, len(module) // 4)
            number = source.choice((source.randrange(200), source.randrange(1 << 32), 0))
            damaged[at : at + 4] = number.to_bytes(4, "little")
        try:
            codes = KernelCodes(memoryview(damaged))
            for name in codes.kernels:
                code = codes.code(name)
                if code is not None:
                    static_accesses(code, Group(16, (16, 16, 1)))
        except KernlensError:
            refused += 1
    assert 0 < refused < 300
