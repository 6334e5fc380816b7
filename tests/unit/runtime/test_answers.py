"""Answers survive the way through JSON."""

from __future__ import annotations

import json

from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.model.kernel import KernelArgument, ReportedKernel
from kernlens.model.kernel_resources import KernelResources
from kernlens.runtime.worker_answers import build_of, from_json, to_json

KERNEL = ReportedKernel(
    "gemm",
    binary=b"\x00\xff" * 8,
    origin="zeIntelKernelGetBinaryExp",
    resources=KernelResources(simd=16, required_work_group_size=(8, 8, 1)),
    arguments=(KernelArgument(0, "a", "float*", "global"), KernelArgument(1)),
)
BUILD = Build(
    name="module",
    device="Intel(R) Graphics",
    toolchain=BuildToolchain("level-zero driver 1.3.24595"),
    options=None,
    kernels=(KERNEL, ReportedKernel("other", reason="why not")),
    missing={"debug": "none was asked for"},
    parts=HeldParts(binary=b"binary", sources=(Source("", "kernel void gemm() {}", "program"),)),
)


def test_build_comes_back_equal() -> None:
    text = json.dumps(to_json(BUILD))
    back = build_of(from_json(json.loads(text)))
    assert back == BUILD
    assert isinstance(back.kernels[0].arguments[0], KernelArgument)
    assert back.kernels[0].resources.required_work_group_size == (8, 8, 1)
    assert (back.binary, back.debug, back.options) == (b"binary", b"", None)


def test_bytes_within_lists_and_mappings() -> None:
    value = {"inputs": [{"spirv": b"\x03\x02\x23\x07", "flags": "-g"}], "empty": b""}
    assert from_json(json.loads(json.dumps(to_json(value)))) == value
