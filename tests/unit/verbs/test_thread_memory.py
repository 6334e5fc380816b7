"""Limits on a thread's memory: no name of it passes a kernel that has some, wherever it lies and whoever's GPU it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nvidia_files import triton
from tests.unit.conftest import Kernlens
from tests.unit.verbs.test_check import states
from tests.writers.code_objects import END, GFX90A, code_object, kernel, metadata
from tests.writers.patch_tokens import KernelToWrite, environment, neo_elf, program, token

DEVICE_BINARY = 0xFF000005
#: Every name of the sum, or of a part of it that a binary may hold in the sum alone.
OF_THE_SUM = ("max-scratch", "max-scratch-bytes", "max-private-segment", "max-private-segment-bytes")
#: A private array in global memory, 280,000 bytes for each of 16 work-items; private memory and spills in a scratch slot.
GLOBAL_ARRAY, SHARED_SLOT = token(38, 0, 0, 8, 280_000, 1), token(18, 0, 4096)


def intel(*tokens: bytes) -> bytes:
    return neo_elf([(DEVICE_BINARY, program([KernelToWrite("k", tokens=[environment(33, simd=16), *tokens])]))])


def amd(size: int) -> bytes:
    stated = metadata([kernel("k", vgpr_count=12, wavefront_size=64, private_segment_fixed_size=size)])
    return code_object({"k": END}, stated, flags=GFX90A)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("array.bin").write_bytes(intel(GLOBAL_ARRAY))
    Path("slot.bin").write_bytes(intel(SHARED_SLOT))
    Path("none.bin").write_bytes(intel())
    Path("amd.hsaco").write_bytes(amd(48))
    Path("amd-none.hsaco").write_bytes(amd(0))


@pytest.mark.parametrize("limit", [*OF_THE_SUM, "max-private", "max-private-bytes"])
def test_a_private_array_in_global_memory_passes_no_limit_of_0(limit: str, kernlens: Kernlens, folder: None) -> None:
    done = kernlens("check", "array.bin", f"--{limit}", "0", "--json")
    (finding,) = done.document["findings"]
    assert (done.status, finding["state"], finding["value"]) == (1, "failed", 16 * 280_000)
    assert kernlens("check", "none.bin", f"--{limit}", "0").status == 0
    assert kernlens("check", "array.bin", f"--{limit}", "4480000").status == 0


def test_it_fails_beside_limits_that_it_keeps(kernlens: Kernlens, folder: None) -> None:
    done = kernlens("check", "array.bin", "--max-spill-bytes", "0", "--max-scratch", "0")
    assert done.status == 1
    assert "max-scratch: scratch 4,480,000, at most 0" in done.out


@pytest.mark.parametrize("limit", [*OF_THE_SUM, "max-private", "max-stack", "max-stack-bytes"])
def test_other_vendors_state_it_under_their_names(limit: str, kernlens: Kernlens, folder: None) -> None:
    """A limit of any name holds what the binary states: AMD's private segment, and of NVIDIA's threads the stack."""
    done = kernlens("check", "amd.hsaco", f"--{limit}", "0", "--json")
    (finding,) = done.document["findings"]
    assert (done.status, finding["metric"], finding["value"]) == (1, "private_segment_bytes", 48)
    assert kernlens("check", "amd-none.hsaco", f"--{limit}", "0").status == 0
    Path("k.cubin").write_bytes(triton(".cubin"))
    (finding,) = kernlens("check", "k.cubin", f"--{limit}", "0", "--json").document["findings"]
    assert (finding["metric"], finding["state"], finding["value"]) == ("stack_bytes", "passed", 0)


def test_devices_of_two_vendors_are_held_to_one_limit(kernlens: Kernlens, folder: None) -> None:
    for limit in OF_THE_SUM:
        done = kernlens("check", "array.bin", "amd.hsaco", f"--{limit}", "0", "--json")
        assert [each["state"] for each in done.document["findings"]] == ["failed", "failed"]


def test_a_part_of_a_sum_that_alone_is_stated(kernlens: Kernlens, folder: None) -> None:
    """What the sum does not exceed no part of it does; more is not known of the part, and nothing passes."""
    done = kernlens("check", "slot.bin", "--max-private", "0")
    assert done.status == 2
    assert "cannot be checked; the binary states only their sum with other memory of the thread: scratch" in done.out
    assert kernlens("check", "slot.bin", "--max-private", "4095").status == 2
    assert kernlens("check", "slot.bin", "--max-private", "4096").status == 0
    assert kernlens("check", "slot.bin", "--max-spill-bytes", "4096").status == 0


def test_a_baseline_with_the_sum_alone(kernlens: Kernlens, folder: None) -> None:
    done = kernlens("check", "slot.bin", "--baseline", "none.bin", "--json")
    assert states(done)["k baseline-scratch"] == "failed"
    assert states(done)["k baseline-private"] == "skipped", "the sum answers for it"
    assert kernlens("check", "array.bin", "--baseline", "none.bin").status == 1
    assert kernlens("check", "none.bin", "--baseline", "array.bin").status == 0


def test_the_overview_shows_parts_where_a_kernel_has_them(kernlens: Kernlens, folder: None) -> None:
    heading = next(line for line in kernlens("inspect", "array.bin").out.splitlines() if "GRF count" in line)
    assert heading.split("spill bytes")[1].split()[:2] == ["private", "scratch"]
    for name in ("none.bin", "slot.bin"):
        assert " private" not in kernlens("inspect", name).out
    (listed,) = kernlens("inspect", "array.bin", "--json").document["programs"][0]["kernels"]
    assert (listed["private_bytes"], listed["stack_bytes"], listed["scratch_bytes"]) == (4_480_000, 0, 4_480_000)
