"""The SYCL runtime's choice of an image, and its options. What is expected here is what the runtime of intel-sycl-rt 2026.2 did
with such images on simulated devices (``tests/corpus/sycl_choice.py``)."""

from __future__ import annotations

from typing import Any

import pytest

from kernlens.analysis.sycl_choice import build_options, choose
from kernlens.isa.intel.sycl_support import sycl_device_named
from kernlens.model.sycl_device import SyclDevice
from kernlens.model.sycl_image import MISC, REQUIREMENTS, SyclImage
from tests.writers.sycl_hosts import numbers


def device(name: str) -> SyclDevice:
    known = sycl_device_named(name)
    assert known is not None
    return known


def image(target: str = "spir64", requires: Any = None, version: int = 3, options: str = "", **misc: int) -> SyclImage:
    properties = {MISC: {name.replace("_", "-"): value for name, value in misc.items()}, REQUIREMENTS: requires or {}}
    return SyclImage(target, version, 0, options, properties=properties)


PVC_MODE = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode"


@pytest.mark.parametrize(
    ("described", "name", "options"),
    [
        (image(), "dg2", ""),
        (image(optLevel=0), "dg2", "-ze-opt-disable"),
        (image(optLevel=1), "dg2", "-ze-opt-level=2"),
        (image(optLevel=3), "dg2", "-ze-opt-level=2"),
        (image(optLevel=5), "dg2", ""),
        (image(sycl_grf_size=256), "dg2", "-ze-opt-large-register-file"),
        (image(sycl_grf_size=128), "dg2", ""),
        (image(sycl_grf_size=512), "dg2", "-ze-opt-register-file-size=512"),
        (image(sycl_grf_size=0), "dg2", "-ze-intel-enable-auto-large-GRF-mode"),
        (image(sycl_register_alloc_mode=2), "dg2", ""),
        (image(sycl_register_alloc_mode=2, version=2), "dg2", "-ze-opt-large-register-file"),
        (image(sycl_register_alloc_mode=0, version=2), "dg2", "-ze-intel-enable-auto-large-GRF-mode"),
        (
            image(isEsimdImage=1, optLevel=2, sycl_grf_size=256),
            "dg2",
            "-vc-codegen -disable-finalizer-msg -doubleGRF",
        ),
        (image(options=f"-a {PVC_MODE} -x", optLevel=3), "dg2", "-a -x -ze-opt-level=2"),
        (image(options=f"-a {PVC_MODE}"), "pvc", "-a -ze-intel-enable-auto-large-GRF-mode"),
        (image(options=PVC_MODE.replace("pvc", "bmg")), "bmg", ""),
        (
            image(options="-ftarget-compile-fast -a"),
            "dg2",
            "-igc_opts 'PartitionUnit=1,SubroutineThreshold=50000' -a",
        ),
    ],
)
def test_the_options_that_the_runtime_passes(described: SyclImage, name: str, options: str) -> None:
    assert build_options(described, device(name)) == options


GEN, X86 = "spir64_gen", "spir64_x86_64"


@pytest.mark.parametrize(
    ("images", "name", "index", "reason"),
    [
        ([image()], "dg2", 0, ""),
        ([image(X86)], "dg2", None, "its images are for spir64_x86_64, none for intel_gpu_acm_g10"),
        ([image(X86), image()], "dg2", 1, ""),
        ([image(GEN), image()], "dg2", 0, ""),
        ([image(), image(GEN)], "dg2", 1, ""),
        ([image(), image()], "dg2", 1, ""),
        ([image(GEN), image(GEN)], "dg2", 1, ""),
        ([image(GEN, {"compile_target": b"intel_gpu_pvc"}), image()], "dg2", 1, ""),
        ([image(GEN, {"compile_target": b"intel_gpu_pvc"}), image()], "pvc", 0, ""),
        ([image(GEN, {"compile_target": b"intel_gpu_dg2_g10"}), image()], "dg2", 1, ""),
        ([image(requires={"aspects": numbers(6)})], "dg2", 0, "it requires the aspect fp64, which dg2 does not have"),
        ([image(requires={"aspects": numbers(6)})], "pvc", 0, ""),
        ([image(), image(requires={"aspects": numbers(6)})], "dg2", 1, "it requires the aspect fp64"),
        ([image(requires={"reqd_sub_group_size": 8})], "dg2", 0, ""),
        ([image(requires={"reqd_sub_group_size": 8})], "pvc", 0, "sub-groups of 8 work-items; pvc has 16, 32"),
        ([image(requires={"reqd_sub_group_size": 1}, isEsimdImage=1)], "pvc", 0, ""),
        ([image(requires={"reqd_work_group_size_uint64_t": numbers(64, 32, size=8)})], "dg2", 0, "2,048 work-items"),
        ([image(requires={"reqd_work_group_size_uint64_t": numbers(1024, size=8)})], "dg2", 0, ""),
    ],
)
def test_the_image_that_the_runtime_takes(images: list[SyclImage], name: str, index: int | None, reason: str) -> None:
    choice = choose(images, device(name))
    assert choice.index == index
    assert reason in choice.reason
    assert bool(choice.reason) == bool(reason)


def test_what_was_not_checked_is_named() -> None:
    described = image(requires={"aspects": numbers(6), "joint_matrix": b"matrix_type::bf16,use::a,8,16"})
    assert choose([described], device("pvc")).unchecked == ("joint_matrix",)
    assert choose([described], device("cri")).unchecked == ("joint_matrix", "aspect fp64")


def test_devices_of_others_are_not_known() -> None:
    assert sycl_device_named("gfx1030") is None
    assert sycl_device_named("nonsense") is None
