"""Trials with real compilers: the three traps on real kernels, spills, and what a device refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.model.trial import Trial, TrialCode, TriedKernel
from kernlens.verbs.tried import tried
from tests.whole import before_release

PLAIN = """kernel void plain(global float *o, global const float *a) {
  size_t g = get_global_id(0);
  o[g] = sin(a[g]);
}
__kernel void other(global float *o, global const float *a) {
  size_t g = get_global_id(0);
  o[g] = a[g] * 2;
}
"""


def trial_of(kernel: TriedKernel, key: str) -> Trial:
    (trial,) = [trial for trial in kernel.trials if trial.change.key == key]
    return trial


def after(kernel: TriedKernel, key: str) -> TrialCode:
    code = trial_of(kernel, key).after
    assert code is not None
    return code


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.cl"
    path.write_text(PLAIN)
    return path


def test_sub_group_sizes_reach_kernels_of_both_spellings(plain: Path) -> None:
    for kernel in tried(plain, "dg2").kernels:
        assert kernel.code.simd == 32
        assert [after(kernel, f"sub-group-{size}").simd for size in (8, 16, 32)] == [8, 16, 32]
        assert trial_of(kernel, "sub-group-32").is_same_code


@pytest.mark.parametrize(("device", "toolchain"), [("dg2", "system"), ("bmg", "newest")])
def test_a_size_of_the_kernels_own_has_the_last_word(
    device: str, toolchain: str, tmp_path: Path, newest_root: Path
) -> None:
    """The newest compiler puts a hash of the text behind the code, which is no part of it."""
    path = tmp_path / "own.cl"
    path.write_text(
        PLAIN.replace("kernel void plain", "__attribute__((intel_reqd_sub_group_size(16))) kernel void plain")
    )
    own, other = tried(path, device, toolchain=toolchain).kernels
    for size in (16, 32):
        assert trial_of(own, f"sub-group-{size}").note == "no effect, as the source requires sub-groups of 16"
    assert trial_of(other, "sub-group-32").is_same_code
    assert not trial_of(other, "sub-group-16").note


def test_a_size_that_the_device_lacks_fails_alone(plain: Path) -> None:
    answer = tried(plain, "pvc")
    ((change, reason),) = answer.failures
    assert change.key == "sub-group-8"
    assert "subgroup size 8" in reason
    assert [after(kernel, "sub-group-16").simd for kernel in answer.kernels] == [16, 16]


def test_fewer_instructions_of_a_narrow_kernel_are_more_for_a_work_item(plain: Path) -> None:
    """The trap of width, on dg2: SIMD16 has fewer instructions, and costs more."""
    kernel = tried(plain, "dg2", kernels=["plain"]).kernels[0]
    narrow = trial_of(kernel, "sub-group-16")
    assert after(kernel, "sub-group-16").instructions < kernel.code.instructions
    assert (narrow.ratio("instructions") or 0) > 1
    assert kernel.ranked[0].change.key == "fast-relaxed-math"
    assert kernel.ranked[-1].change.key == "sub-group-8"


def test_an_unrolled_loop_is_compared_with_none(tmp_path: Path) -> None:
    """The trap of loops: a loop counts once, so that code which is not unrolled looks like less work."""
    path = tmp_path / "rolled.cl"
    path.write_text(
        """kernel void sum(global float *o, global const float *a) {
  float s = 0;
  #pragma unroll N
  for (int i = 0; i < 16; i++) s = s * a[i] + a[get_global_id(0) + i];
  o[get_global_id(0)] = s;
}
"""
    )
    kernel = tried(path, "dg2", options="-DN=16", macros=["N=1"]).kernels[0]
    (rolled,) = [trial for trial in kernel.trials if trial.change.title == "-DN=1"]
    assert rolled.after is not None
    assert (kernel.code.loops, rolled.after.loops) == (0, 1)
    assert rolled.after.instructions < kernel.code.instructions
    assert rolled.ratio("instructions") is None
    assert (rolled in kernel.unranked, rolled.note) == (True, "not comparable: 1 loop, not 0")


@before_release
def test_a_lost_unrolling_is_not_a_gain(darktable_kernels: Path, newest_root: Path) -> None:
    """The trap of loops, on dg2 with the newest compiler: at SIMD32 what was 108 reads in a line is a loop of few."""
    answer = tried(darktable_kernels / "basic.cl", "dg2", toolchain="newest", kernels=["lens_distort_lanczos3"])
    kernel = answer.kernels[0]
    wide = trial_of(kernel, "sub-group-32")
    assert after(kernel, "sub-group-32").instructions < kernel.code.instructions
    assert wide.ratio("instructions") is None
    assert wide in kernel.unranked
    assert "loops, not" in wide.note


def test_256_registers_end_spills_and_halve_the_threads(darktable_kernels: Path) -> None:
    kernel = tried(darktable_kernels / "diffuse.cl", "pvc", kernels=["diffuse_pde"]).kernels[0]
    large = trial_of(kernel, "256-registers")
    assert kernel.code.spills == 310
    assert after(kernel, "256-registers").spills == 11
    assert after(kernel, "sub-group-16").spills == 0
    assert large.note == "half the threads"
    assert kernel.ranked[0] is large
