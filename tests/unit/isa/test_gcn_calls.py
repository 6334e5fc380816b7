"""Where AMD's calls go."""

from __future__ import annotations

import pytest

from kernlens.isa.amd.gcn_calls import callees

CALL = "s_swappc_b64 s[30:31], s[6:7]"
COMPUTED = ["s_getpc_b64 s[6:7]", "s_add_u32 s6, s6, 0xfffffeb0", "s_addc_u32 s7, s7, -1"]


def targets(*texts: str) -> list[int | None]:
    return callees(texts, range(0x4C, 0x4C + 8 * len(texts), 8))


def test_a_distance_from_the_code_s_own_place() -> None:
    assert targets(*COMPUTED, CALL, "v_mov_b32_e32 v2, v0", CALL) == [-0x100, -0x100]
    newer = ["s_getpc_b64 s[6:7]", "s_add_co_u32 s6, s6, 0x40", "s_add_co_ci_u32 s7, s7, 0", CALL]
    assert targets(*newer) == [0x4C + 4 + 0x40]


@pytest.mark.parametrize("text", ["s_mov_b32 s6, 0", "s_load_dwordx2 s[6:7], s[6:7], 0x0", "v_readlane_b32 s7, v40, 1"])
def test_another_value_is_not_told(text: str) -> None:
    assert targets(*COMPUTED, text, CALL) == [None]
    assert targets(CALL) == [None]
    assert targets(*COMPUTED[:2], CALL) == [None]
