"""The limits of launches by the driver's rules, where no simulated device shows them, and what is left open with a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kernlens.isa.devices import DEVICES, device
from kernlens.isa.intel.launch_rules import launch_limits, program_facts
from kernlens.model.kernel_resources import KernelResources, general_registers
from kernlens.model.launch_limits import LaunchLimits


def resources(simd: int | None = 32, registers: int | None = 128) -> KernelResources:
    return KernelResources(
        simd, general_registers(registers), slm_bytes=0, thread_private_bytes=0, largest_scratch_bytes=0
    )


def limits(name: str, kernel: KernelResources, *, is_older: bool = False) -> LaunchLimits:
    return launch_limits(device(name), kernel, is_older=is_older)


@pytest.mark.parametrize(
    ("simd", "registers", "largest"),
    [
        (16, 512, 256),
        (32, 512, 512),
        (16, 256, 512),
        (32, 256, 1024),
        (16, 192, 640),
        (16, 160, 768),
        (16, 96, 1024),
        (32, 160, 1024),
    ],
)
def test_xe3_depends_on_the_size_of_the_register_file(simd: int, registers: int, largest: int) -> None:
    assert limits("ptl", resources(simd, registers)).max_work_group == largest


def test_the_older_drivers_level_zero_knows_no_large_register_files() -> None:
    older, newer = (limits("dg2", resources(16, 256), is_older=is_older) for is_older in (True, False))
    assert (older.max_work_group, newer.max_work_group) == (512, 512)
    assert (older.max_sub_groups, newer.max_sub_groups) == (64, 32)


def test_pairs_of_units() -> None:
    assert limits("dg2", resources()).work_group_multiple == 64
    assert limits("dg2", replace(resources(), is_unfused=True)).work_group_multiple == 32
    assert limits("bmg", resources()).work_group_multiple == 32


@pytest.mark.parametrize(
    ("name", "field", "size", "words"),
    [
        ("dg2", "slm_bytes", 65_537, "it declares 65,537 bytes of SLM, and the device has 65,536"),
        ("bmg", "slm_bytes", 131_073, "it declares 131,073 bytes of SLM"),
        (
            "bmg",
            "largest_scratch_bytes",
            262_145,
            "it needs 262,145 bytes of scratch space per thread, at most 262,144",
        ),
        (
            "dg2",
            "thread_private_bytes",
            9_000_000,
            "of which there are 2,048 or more, exceed the 16 GB of memory of the largest product, as published",
        ),
    ],
)
def test_kernels_that_are_not_created(name: str, field: str, size: int, words: str) -> None:
    large: dict[str, Any] = {field: size}
    small: dict[str, Any] = {field: size // 100}
    refused = limits(name, replace(resources(), **large))
    for _, creation in refused.creations:
        assert creation.is_created is False
        assert words in creation.reason
    fitting = limits(name, replace(resources(), **small))
    assert [creation.is_created for _, creation in fitting.creations] == [True, True]


def test_private_memory_that_fits_some_products() -> None:
    (api, creation), _ = limits("bmg", replace(resources(), thread_private_bytes=9_000_000)).creations
    assert (api, creation.is_created) == ("level_zero", None)
    assert "of which there are up to 1,280, may exceed the memory of the product: 10 GB or more, as published" in (
        creation.reason
    )


def test_required_sizes() -> None:
    known_limits = limits("skl", replace(resources(), required_work_group_size=(16, 16, 2)))
    assert known_limits.level_zero.is_created is False
    assert known_limits.level_zero.reason == "it requires work-groups of 512 work-items, and 256 are the most"
    assert known_limits.opencl.is_created is True


@pytest.mark.parametrize(
    ("name", "kernel", "words"),
    [
        ("dg2", resources(None), "does not state the kernel's SIMD width and registers"),
        ("dg2", resources(32, None), "does not state the kernel's SIMD width and registers"),
        ("dg2", resources(1), "for one lane"),
        ("dg2", resources(0), "no device runs kernels of SIMD0"),
        ("nvl-p", resources(), "has not compared the limits of Xe3P"),
        ("gfx1030", resources(), "does not tell its device"),
    ],
)
def test_what_is_not_known_has_a_reason(name: str, kernel: KernelResources, words: str) -> None:
    known_limits = limits(name, kernel)
    assert (known_limits.max_work_group, known_limits.max_sub_groups, known_limits.work_group_multiple) == (
        None,
        None,
        None,
    )
    assert words in known_limits.reason
    assert {creation.is_created for _, creation in known_limits.creations} == {None}


def test_bindless_code_is_not_what_opencl_runs() -> None:
    kernels = [("plain", resources()), ("handles", replace(resources(), is_bindless=True))]
    for has_spirv, words in (
        (True, ""),
        (False, "handles takes buffers or images by handles (bindless), and there is"),
    ):
        facts = program_facts(kernels, has_spirv=has_spirv)
        level_zero, opencl = (
            answer for _, answer in launch_limits(device("bmg"), resources(), facts, is_older=False).creations
        )
        assert (level_zero.is_created, level_zero.is_rebuilt) == (True, False)
        assert (opencl.is_created, opencl.is_rebuilt, opencl.is_of_program) == (has_spirv, has_spirv, not has_spirv)
        assert opencl.reason.startswith(words)
        older = launch_limits(device("dg2"), resources(), facts, is_older=True).opencl
        assert (older.is_created, older.is_rebuilt) == (True, False)


def test_memory_that_is_not_stated() -> None:
    known_limits = launch_limits(device("dg2"), replace(resources(), slm_bytes=None), is_older=False)
    assert known_limits.max_work_group == 1024
    assert known_limits.opencl.is_created is None
    assert launch_limits(None, resources(), is_older=False).reason == "the binary does not tell its device"


@pytest.mark.parametrize("known", DEVICES, ids=lambda known: known.name)
@pytest.mark.parametrize("is_older", [True, False])
def test_every_device_has_limits_or_a_reason(known: object, is_older: bool) -> None:
    known_limits = limits(str(getattr(known, "name", "")), resources(), is_older=is_older)
    assert (known_limits.max_work_group in (256, 512, 1024)) != bool(known_limits.reason)
