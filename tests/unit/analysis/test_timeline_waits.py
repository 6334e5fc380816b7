"""Waits by timelines that are written out here."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kernlens.analysis.flow.timeline_waits import waits_of_timelines
from kernlens.errors import UnsupportedError
from kernlens.model.listed_instructions import ListedInstructions
from kernlens.model.waits import WRITTEN, Step, Wait, Waits


def waits(texts: Sequence[str], steps: Sequence[Step], firsts: Sequence[int] = (0,)) -> Waits:
    count = len(texts)
    instructions = ListedInstructions(
        range(0, 4 * count, 4), [4] * count, [text.split(" ")[0] for text in texts], list(texts)
    )
    ends = [*firsts[1:], count]
    blocks = [steps[first:end] for first, end in zip(firsts, ends, strict=True)]
    return waits_of_timelines(instructions, firsts, blocks, "a model", "of nothing")


def test_a_row_waits_for_the_one_that_ends_when_it_issues() -> None:
    answer = waits(
        ["global_load_dword v2, v[0:1], off", "v_mov_b32 v3, v4", "s_waitcnt vmcnt(0)", "v_add_f32 v2, v2, v3"],
        [Step(0, 80, 1, True), Step(1, 2, 1, False), Step(80, 81, 1, False), Step(81, 82, 1, False)],
    )
    assert answer.starts.tolist() == [0, 1, 80, 81]
    assert list(answer.issue) == [1, 1, 1, 1]
    assert dict(answer.waits) == {2: Wait(2, 0, 78, WRITTEN)}
    assert (answer.issue_cycles, answer.wait_cycles, answer.wait_share) == (4, 78, 96)
    assert answer.origin == "a model's estimate, of nothing, loops once"


@pytest.mark.parametrize(
    ("waiter", "producer"),
    [("v_add_f32 v9, v2, v8", 0), ("v_add_f32 v9, v6, v8", 1), ("s_waitcnt lgkmcnt(0)", 0), ("s_nop 0", 1)],
)
def test_of_two_that_end_together_its_own_is_meant(waiter: str, producer: int) -> None:
    answer = waits(
        ["ds_read_b64 v[2:3], v0", "v_rcp_f32 v6, v7", waiter],
        [Step(0, 9, 1, True), Step(1, 9, 1, False), Step(9, 10, 1, False)],
    )
    assert dict(answer.waits) == {2: Wait(2, producer, 7, WRITTEN)}


def test_a_row_waits_for_its_turn_to_write() -> None:
    answer = waits(["v_mad_u64_u32 v[0:1], s3", "s_add_i32 s5, s5, -1"], [Step(0, 8, 1, False), Step(6, 8, 1, False)])
    assert dict(answer.waits) == {1: Wait(1, 0, 5, WRITTEN)}


def test_what_nobody_is_waited_for_is_issue() -> None:
    """Two operations of the first take one cycle each, and the third row finds the pipe taken for four."""
    answer = waits(
        ["v_add_co_u32 v1, vcc, v0", "v_mfma a", "v_mfma b"],
        [Step(0, 5, 2, False), Step(2, 20, 1, False), Step(6, 24, 1, False)],
    )
    assert (list(answer.issue), dict(answer.waits)) == ([2, 4, 1], {})


def test_each_block_begins_again() -> None:
    answer = waits(
        ["s_load_dword s0, s[2:3]", "s_branch 4", "s_add_i32 s0, s0, 1"],
        [Step(0, 5, 1, True), Step(1, 6, 1, False), Step(0, 1, 1, False)],
        [0, 2],
    )
    assert (answer.starts.tolist(), dict(answer.waits), list(answer.blocks)) == ([0, 1, 0], {}, [0, 2])


@pytest.mark.parametrize("issued", [300, -3])
def test_cycles_that_cannot_be_are_refused(issued: int) -> None:
    with pytest.raises(UnsupportedError, match=f"lets an instruction issue for {issued} cycles"):
        waits(["s_nop 0", "s_nop 0"], [Step(0, 1, 1, False), Step(issued, 1000, 1, False)])
