"""Answers survive the way through JSON."""

from __future__ import annotations

import json

from kernlens.model.kernel import KernelArgument
from kernlens.runtime.answers import from_json, rebuild, to_json
from kernlens.runtime.live_build import LiveBuild, LiveKernelBinary

KERNEL = LiveKernelBinary(
    "gemm",
    binary=b"\x00\xff" * 8,
    origin="zeIntelKernelGetBinaryExp",
    simd=16,
    required_work_group_size=(8, 8, 1),
    arguments=(KernelArgument(0, "a", "float*", "global"), KernelArgument(1)),
)
BUILD = LiveBuild(
    api="level-zero",
    name="module",
    device="Intel(R) Graphics",
    driver_version="1.3.24595",
    binary=b"binary",
    kernels=(KERNEL, LiveKernelBinary("other", reason="why not")),
    reasons={"debug": "none was asked for"},
)


def test_build_comes_back_equal() -> None:
    text = json.dumps(to_json(BUILD))
    back = rebuild(LiveBuild, from_json(json.loads(text)))
    assert back == BUILD
    assert isinstance(back.kernels[0].arguments[0], KernelArgument)
    assert back.kernels[0].required_work_group_size == (8, 8, 1)
    assert back.debug is None


def test_bytes_within_lists_and_mappings() -> None:
    value = {"inputs": [{"spirv": b"\x03\x02\x23\x07", "flags": "-g"}], "empty": b""}
    assert from_json(json.loads(json.dumps(to_json(value)))) == value
