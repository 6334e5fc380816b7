"""The cycles in which instructions issue, against those that the newest IGC writes into its listings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernlens import load
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.kernel import Kernel
from kernlens.model.waits import READ, TAKEN, WRITTEN, Waits
from tests.corpus.build import Built
from tests.corpus.compiler import newest
from tests.corpus.static_cycles import compared, stating
from tests.packed_code import packed
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["kernlens"]

#: Local memory, atomics, fences and barriers of each memory, typed messages, doubles and halves, calls, spills.
SOURCE = """\
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void local_memory(global float *a, local float *tile, global int *counts, local int *sums)
{
    int l = get_local_id(0), n = get_local_size(0);
    tile[l] = a[get_global_id(0)];
    sums[l & 7] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = n / 2; s > 0; s >>= 1) {
        if (l < s) tile[l] += tile[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    atomic_add(&sums[l & 7], l);
    atomic_max(&counts[l & 3], (int)tile[0]);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    a[get_global_id(0)] = tile[0] + sums[l & 7] + atomic_xchg(&counts[l], 3);
}
kernel void images(read_only image2d_t in, sampler_t way, write_only image2d_t out, read_write image2d_t both)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float4 v = read_imagef(in, way, at) * native_sin(read_imagef(in, at).x);
    write_imagef(out, at, sqrt(v) / (float4)(3.0f, v.x, 2.0f, v.y));
    write_imagef(both, at, read_imagef(both, at.yx) + v);
    atomic_work_item_fence(CLK_IMAGE_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
    write_imagef(both, at.yx, read_imagef(both, at) + v);
}
kernel void halves(global half *h, global const uchar *b, global long *q, int n)
{
    int i = get_global_id(0);
    half x = h[i], y = h[i + n];
    for (int k = 0; k < n; k++) { x = fma(x, y, h[k]); y = x * y + (half)b[i ^ k]; }
    h[i] = x * y;
    q[i] = q[i + n] * n + (q[n] << 3) / (q[i] | 1);
}
__attribute__((noinline)) float called(float x, global const float *a, int i) { return a[i] * exp(x) / (1 + x); }
kernel void calls(global float *a, int n)
{
    float t[48];
    int i = get_global_id(0);
    for (int k = 0; k < 48; k++) t[k] = called(a[i + k], a, k);
    for (int k = 0; k < n; k++) t[(k * 7) % 48] += called(t[(k * 13) % 48], a, k);
    a[i] = t[n % 48];
}
"""
DOUBLES = """\
kernel void doubles(global double *d, int n)
{
    int i = get_global_id(0);
    double x = d[i];
    for (int k = 0; k < n; k++) x = fma(x, d[k], (double)k) / (x + 2.0);
    d[i] = sqrt(x);
}
"""
SYSTOLIC = """\
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__attribute__((intel_reqd_sub_group_size(8)))
kernel void matrices(global const int8 *a, global const int8 *b, global float8 *c, global int *d, int n)
{
    int i = get_global_id(0);
    float8 sum = c[i];
    int one = d[i];
    for (int k = 0; k < n; k++) {
        sum = intel_sub_group_f16_f16_matrix_mad_k16(a[i + k], b[i - k], sum);
        one = intel_sub_group_i8_i8_matrix_mad_k32(a[i + k].s0, b[i - k], one);
    }
    c[i] = sum;
    d[i] = one;
}
__attribute__((intel_reqd_sub_group_size(8)))
kernel void matrix(global const int8 *a, global const int8 *b, global float8 *c, global int *d)
{
    int i = get_global_id(0);
    c[i] = intel_sub_group_f16_f16_matrix_mad_k16(a[i], b[i], c[i]) * 3;
    d[i] = intel_sub_group_i8_i8_matrix_mad_k32(a[i].s0, b[i], d[i]) * 3;
}
"""
#: The device -> what is compiled for it: Arc has no doubles, Meteor Lake no systolic array.
SOURCES = {"dg2": SOURCE + SYSTOLIC, "mtl": SOURCE + DOUBLES}


#: Who is waited for, and why: (shared function or mnemonic, operation, reason).
EXERCISED = {
    ("slm", "load", WRITTEN), ("slm", "fence", WRITTEN), ("ugm", "load", WRITTEN), ("ugm", "fence", WRITTEN),
    ("ugm", "atomic_store", WRITTEN), ("tgm", "fence", WRITTEN), ("smpl", "sample", WRITTEN), ("dc1", "load_quad", WRITTEN),
    ("dc0", "load", READ), ("ugm", "load", TAKEN), ("math", "", WRITTEN),
}  # fmt: skip
EXERCISED_BY = {
    "dg2": EXERCISED | {("dpas", "", WRITTEN)},
    "mtl": EXERCISED | {("mul", "", WRITTEN), ("mad", "", TAKEN), ("mov", "", WRITTEN), ("cmp", "", WRITTEN)},
}


@pytest.mark.parametrize("device", SOURCES)
def test_cycles_are_those_of_the_compiler(device: str, newest_root: Path, tmp_path: Path) -> None:
    search_also(lambda: {"newest": str(newest_root)})
    path, folder = tmp_path / "source.cl", tmp_path / "built"
    path.write_text(SOURCES[device])
    log = stating(newest(newest_root)).compile(str(path), device, "-cl-std=CL3.0 -gline-tables-only", folder)
    assert log is None, log
    (program,) = load(folder / "program")
    kernels = list(compared(program, sorted((folder / "dump").glob("*.asm"))))
    assert len(kernels) == len(program.kernels) >= 5
    assert sum(kernel.instructions for kernel in kernels) > 1500
    assert [(kernel.name, kernel.differ) for kernel in kernels if kernel.differ] == []
    assert [(kernel.name, kernel.differ_alone) for kernel in kernels if kernel.differ_alone] == []
    assert {waited for kernel in program.kernels.values() for waited in _waited_for(kernel)} >= EXERCISED_BY[device]


def _waited_for(kernel: Kernel) -> Iterator[tuple[str, str, str]]:
    instructions = packed(kernel.instructions)
    for wait in _waits(kernel).waits.values():
        producer = instructions[wait.producer]
        access = producer.kind.access
        name = (producer.message.target if producer.message else None) or producer.opcode
        yield name, access.operation if access else "", wait.why


def _waits(kernel: Kernel) -> Waits:
    assert kernel.waits is not None, kernel.waits_reason
    return kernel.waits


def test_cycles_add_up(newest_sample: list[Built]) -> None:
    for built in newest_sample:
        (program,) = load(built.binary)
        for kernel in program.kernels.values():
            waits = _waits(kernel)
            assert len(waits.starts) == len(waits.issue) == len(kernel.instructions)
            ends = [end - 1 for end in [*waits.blocks[1:], len(waits.starts)]]
            assert sum(waits.starts[row] + waits.issue[row] for row in ends) == waits.cycles
            for row, wait in waits.waits.items():
                assert wait.row == row > wait.producer
                assert waits.starts[row] == waits.starts[row - 1] + waits.issue[row - 1] + wait.cycles


def test_verbs_that_are_asked_for_waits(kernlens: Kernlens, corpus_sample: list[Built]) -> None:
    arc, other = (next(built.binary for built in corpus_sample if built.device == name) for name in ("dg2", "tgllp"))
    (program,) = load(arc)
    (kernel, *_) = program.kernels.values()
    waits = _waits(kernel)
    (listed,) = kernlens("annotate", arc, "--kernel", kernel.name, "--waits", "--json").document["programs"]
    cycles = [each["wait"] for each in listed["kernels"][0]["instructions"]]
    assert sum(wait["cycles"] for wait in cycles if wait) == waits.wait_cycles > 0
    checked = kernlens("check", arc, "--kernel", kernel.name, f"--max-wait-share={waits.wait_share - 1}", "--json")
    (finding,) = checked.document["findings"]
    assert (finding["metric"], finding["value"], finding["state"]) == ("wait_share", waits.wait_share, "failed")
    assert finding["cause"]["counted"] == "wait cycles"
    assert 0 < finding["cause"]["count"] <= finding["cause"]["total"] == waits.wait_cycles
    (costly,) = kernlens("annotate", arc, "--kernel", kernel.name, "--top", "1", "--sort", "wait", "--json").document[
        "programs"
    ]
    (line,) = costly["kernels"][0]["lines"]
    assert line["costs"]["wait_cycles"] == finding["cause"]["count"]
    assert sum(each["cycles"] for each in line["waits_for"]) == line["costs"]["wait_cycles"]
    (same,) = (each for each in load(other)[0].kernels.values() if each.name == kernel.name)
    compared = kernlens("diff", other, arc, "--kernel", kernel.name, "--sort", "wait-cycles", "--json").document
    told = [(each["old"], each["new"]) for each in compared["kernels"][0]["figures"] if each["metric"] == "wait_cycles"]
    assert told == [(_waits(same).wait_cycles, waits.wait_cycles)]


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("skl", "waits are unknown on Gen9: the code does not state who waits for whom before Xe-LP"),
        ("icllp", "waits are unknown on Gen11: the code does not state who waits for whom before Xe-LP"),
        ("dg2", None),
    ],
)
def test_waits_before_xe_are_unknown(device: str, reason: str | None, corpus_sample: list[Built]) -> None:
    (program,) = load(next(built.binary for built in corpus_sample if built.device == device))
    for kernel in program.kernels.values():
        assert kernel.waits_reason == reason
        assert (kernel.waits is None) == (reason is not None)
