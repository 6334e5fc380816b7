"""What AMD's buffer instructions access: scratch where the descriptor is certainly the private segment's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kernlens.analysis.costs import costs_of
from kernlens.formats.amdgpu.code_object import read_code_object
from kernlens.isa.amd.gcn_scratch import kinds_of
from tests.writers.code_objects import END, code_object, kernel, metadata

PROLOG = ("s_add_u32 s0, s0, s11", "s_addc_u32 s1, s1, 0")
STORE = "buffer_store_dword v0, off, s[0:3], 0 offset:4"


def names(texts: Sequence[str], *, has_private_descriptor: bool = True, entry: int = 0) -> list[str]:
    """The memories that the buffer instructions access."""
    opcodes = [text.split(" ")[0] for text in texts]
    kinds = kinds_of(opcodes, texts, 64, has_private_descriptor=has_private_descriptor, entry=entry)
    return [kind.name for text, kind in zip(texts, kinds, strict=True) if text.startswith("buffer_")]


def test_the_private_segment_s_descriptor() -> None:
    assert names((*PROLOG, STORE, "buffer_load_dword v0, v1, s[4:7], 0 offen")) == ["scratch", "global"]
    assert names((*PROLOG, STORE), has_private_descriptor=False) == ["global"]


def test_a_copy_of_it() -> None:
    copies = (
        "s_mov_b64 s[22:23], s[2:3]",
        "s_mov_b64 s[20:21], s[0:1]",
        "s_add_u32 s20, s20, s11",
        "s_addc_u32 s21, s21, 0",
    )
    other = STORE.replace("s[0:3]", "s[20:23]")
    assert names((*copies, other)) == ["scratch"]
    # What the first registers hold afterwards does not matter if the copies are made once, before all branches.
    loaded = "s_load_dwordx2 s[0:1], s[6:7], 0x0"
    assert names((*copies, loaded, other), entry=6) == ["scratch"]
    assert names((*copies, loaded, other), entry=1) == ["global"]
    assert names((loaded, *copies, other), entry=6) == ["global"]


@pytest.mark.parametrize(
    "text",
    [
        "s_load_dwordx4 s[0:3], s[6:7], 0x0", "s_mov_b32 s3, 0x31014000", "v_readlane_b32 s2, v40, 1", "s_movreld_b32 s4, s5",
        "v_cmp_eq_u32_e64 s[0:1], v0, v1", "v_add_co_u32 v4, s[2:3], s4, v0", "s_and_saveexec_b64 s[0:1], vcc",
        "s_add_u32 s0, s4, s11", "s_add_u32 s1, s1, s11", "s_mov_b64 s[0:1], s[2:3]",
    ],
)  # fmt: skip
def test_another_value_in_its_registers_makes_it_uncertain(text: str) -> None:
    assert names((*PROLOG, STORE, text)) == ["global"]


@pytest.mark.parametrize("text", ["s_cmp_lg_u32 s0, s1", "v_add_u32_e32 v0, s0, v1", "s_add_u32 s4, s0, s1"])
def test_its_registers_may_be_read(text: str) -> None:
    assert names((*PROLOG, text, STORE)) == ["scratch"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("buffer_load_dword v0, s[4:7], 0 offen lds", {"global_loads": 1, "slm_stores": 1, "slm_store_bytes": 256}),
        ("global_load_lds_dwordx4 v[0:1], off", {"global_loads": 1, "slm_stores": 1, "slm_store_bytes": 1024}),
        ("global_load_dword v0, v[0:1], off", {"global_loads": 1, "slm_stores": 0}),
        ("ds_read_addtid_b32 v0", {"slm_loads": 1, "slm_load_bytes": 256}),
        ("s_scratch_load_dword s0, s[4:5], 0x0", {"scratch_loads": 1, "scratch_load_bytes": 4}),
        ("image_bvh_intersect_ray v[0:3], v[0:10], s[0:3]", {"image_loads": 1, "dynamic_messages": 1}),
    ],
)
def test_other_memories(text: str, expected: dict[str, int]) -> None:
    costs = costs_of(kinds_of([text.split(" ")[0]], [text], 64))
    assert {key: costs[key] for key in expected} == expected


def test_what_a_kernel_s_descriptor_says() -> None:
    stated = metadata([kernel("k")])
    for properties, expected in ((0, False), (1, True), (8, False)):
        (read,) = read_code_object(memoryview(code_object({"k": END}, stated, properties=properties))).kernels
        assert read.has_private_descriptor == expected
