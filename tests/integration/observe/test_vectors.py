"""``kernlens observe``: parts of vectors, and what it says of what it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.errors import KernlensError, ToolError
from kernlens.model.behaviour import Behaviour
from kernlens.verbs.observe.observe import observe
from tests.integration.observe.test_observe import pytestmark, run

__all__ = ["pytestmark"]


@pytest.mark.parametrize(
    ("vector", "part"), [("float4", "float"), ("float8", "float2"), ("double4", "double"), ("uchar16", "uint")]
)
def test_a_part_of_a_vector_that_was_loaded_is_not_loaded_again(vector: str, part: str, tmp_path: Path) -> None:
    """LLVM takes it out of a number as wide as the vector, which Oclgrind does not know."""
    body = f"""kernel void k(global {vector} *in, global {part} *out)
{{
    {vector} all = in[get_global_id(0)];
    global const {part} *parts = (global const {part} *)(in + get_global_id(0));
    out[get_global_id(0)] = parts[1] + parts[0];
    in[get_global_id(0)] = all + all;
}}"""
    observed = run(tmp_path, body, ["zeros:uint:4096", "zeros:uint:4096"])
    assert observed.reason == ""
    accesses = {line.place.line: line.requests for line in observed.lines if line.requests}
    assert accesses.keys() == {3, 5, 6}
    assert accesses[5] == 2, "the store alone"


def test_a_rotation_beside_a_part_of_a_vector_runs(tmp_path: Path) -> None:
    """darktable's generators of noise: passes that put vectors together made a function of the rotation that Oclgrind lacks."""
    body = """kernel void k(global uint4 *in, global uint *out)
{
    uint4 all = in[get_global_id(0)];
    global const uint *parts = (global const uint *)(in + get_global_id(0));
    uint x = parts[1] + 5;
    out[get_global_id(0)] = (x << 11) | (x >> 21);
    in[get_global_id(0)] = all + all;
}"""
    observed = run(tmp_path, body, ["zeros:uint:4096", "zeros:uint:4096"])
    assert observed.reason == ""
    assert {line.place.line: line.requests for line in observed.lines if line.requests} == {3: 2, 6: 2, 7: 2}


@pytest.mark.parametrize(
    ("whole", "part", "index"),
    [
        ("float8", "float4", 1),
        ("uint4", "ulong", 1),
        ("ulong8", "ulong4", 1),
        ("short8", "int", 3),
        ("char16", "uchar", 15),
    ],
)
def test_a_part_of_a_vector_has_its_value(whole: str, part: str, index: int, tmp_path: Path) -> None:
    """Work-items write out of bounds where the part is not what memory holds."""
    body = f"""kernel void k(global {whole} *in, global uint *out)
{{
    {whole} all = in[get_global_id(0)];
    global const {part} *parts = (global const {part} *)(in + get_global_id(0));
    {part} taken = parts[{index}];
    volatile global const {part} *again = parts;
    {part} other = again[{index}];
    uchar *a = (uchar *)&taken, *b = (uchar *)&other;
    uint differ = 0;
    for (int each = 0; each < sizeof({part}); each++)
        differ |= a[each] != b[each];
    out[differ << 20] = 1;
    in[get_global_id(0)] = all;
}}"""
    observed = run(tmp_path, body, ["ramp:uchar:8192", "zeros:uint:64"])
    assert observed.reason == ""
    assert [each for each in observed.faults if each.kind == "bounds"] == []


def test_how_arguments_are_described_is_said_where_some_are_missing(tmp_path: Path) -> None:
    with pytest.raises(
        KernlensError, match=r"k takes 2 arguments .*, and 0 are .*: --arg random:float:4096 for a buffer"
    ):
        run(tmp_path, "kernel void k(global float *a, int n)\n{\n}\n", [])


def test_half_is_named(tmp_path: Path) -> None:
    for factor in ("2.0h", "a[0]"):
        body = f"#pragma OPENCL EXTENSION cl_khr_fp16 : enable\nkernel void k(global half *a) {{ a[1] = a[2] * {factor}; }}\n"
        with pytest.raises(ToolError, match=r"it does not compute with half \(Unsupported .*\); nothing was counted"):
            run(tmp_path, body, ["zeros:half:64"])


def counted(folder: Path, body: str, arguments: list[str]) -> Behaviour:
    """Run a kernel as users do, who do not look for values that were never set."""
    source = folder / "k.cl"
    source.write_text(body)
    return observe(source, size=[64], group=[64], arguments=arguments, device="h100")


def accesses_of(observed: Behaviour) -> dict[tuple[int, str], tuple[int, int]]:
    """The width and the lanes of each access, by its line and kind."""
    return {(each.place.line, each.kind): (each.width, each.lanes) for each in observed.accesses if each.place}


PARTS = """kernel void k(global float4 *one, global float4 *all, global float3 *three)
{
    int i = get_global_id(0);
    one[i].y = i;
    all[i].x = 1;
    all[i].y = i;
    all[i].zw = (float2)(2, 3);
    three[i] = (float3)(i, 1, 2);
}"""


def test_a_part_of_a_vector_in_memory_is_set_by_storing_the_vector(tmp_path: Path) -> None:
    """As NVIDIA's and Intel's compilers do: the vector is loaded, and stored as a whole; parts that are all set, once."""
    accesses = accesses_of(counted(tmp_path, PARTS, ["zeros:float4:64"] * 3))
    of_three = accesses.pop((8, "store"))
    assert accesses == {(4, "load"): (16, 64), (4, "store"): (16, 64), (7, "store"): (16, 64)}
    assert of_three[1] >= 64


def test_nothing_is_said_of_parts_that_are_not_set(tmp_path: Path) -> None:
    body = """kernel void k(global float *out, local float4 *tile)
{
    int l = get_local_id(0);
    tile[l].x = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[63 - l].x;
}"""
    assert run(tmp_path, body, ["zeros:float:64", "local:1024"]).faults == ()


@pytest.mark.parametrize(("condition", "line"), [("a[i] == 0", 7), ("a[i] > 0", 5)])
def test_what_both_branches_load_first_is_loaded_once_at_the_likelier(
    condition: str, line: int, tmp_path: Path
) -> None:
    body = f"""kernel void k(global const short *a, global const int *b, global int *out)
{{
    int i = get_global_id(0), sum;
    if ({condition})
        sum = b[i];
    else
        sum = b[i] + b[i + 64];
    out[i] = sum;
}}"""
    observed = counted(tmp_path, body, ["ramp:short:64", "ramp:int:128", "zeros:int:64"])
    loads = [each for each in observed.accesses if each.kind == "load" and each.width == 4]
    parted = next(each.lanes for each in loads if each.lanes < 64)
    assert sorted((each.place.line, each.lanes) for each in loads if each.place) == sorted([(line, 64), (7, parted)])
