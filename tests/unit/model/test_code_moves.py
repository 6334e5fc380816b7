"""Where the places of old code are in new code."""

from __future__ import annotations

import pytest

from kernlens.model.code_moves import CodeMoves

#: Four instructions of 16, 8, 16 and 16 bytes.
OLD = [0, 16, 24, 40, 56]


def moves(new: list[int], origins: list[int | None]) -> CodeMoves:
    return CodeMoves(OLD, new, origins)


@pytest.mark.parametrize(
    ("new", "origins", "expected"),
    [
        (OLD, [0, 1, 2, 3], {0: 0, 16: 16, 24: 24, 40: 40, 56: 56}),
        # One inserted before the second: it is of what stands before it.
        ([0, 16, 32, 40, 56, 72], [0, None, 1, 2, 3], {0: 0, 16: 32, 24: 40, 40: 56, 56: 72, 60: 76}),
        # One before the first: the start stays the start.
        ([0, 16, 32, 40, 56, 72], [None, 0, 1, 2, 3], {0: 0, 16: 32}),
        # The second deleted: its place is that of the next.
        ([0, 16, 32, 48], [0, 2, 3], {16: 16, 24: 16, 40: 32, 56: 48}),
        # The last two swapped: of two orders, one is kept.
        ([0, 16, 24, 40, 56], [0, 1, 3, 2], {0: 0, 16: 16, 56: 56}),
        ([0], [], {0: 0, 16: 0, 56: 0}),
    ],
)
def test_boundaries_move_with_the_code(new: list[int], origins: list[int | None], expected: dict[int, int]) -> None:
    edited = moves(new, origins)
    assert {offset: edited.boundary(offset) for offset in expected} == expected
    places = [edited.boundary(offset) for offset in range(60)]
    assert places == sorted(places)


def test_still_code() -> None:
    assert moves(OLD, [0, 1, 2, 3]).is_still
    assert not moves(OLD, [0, 1, 2, None]).is_still
    assert not moves([0, 16, 32, 48, 64], [0, 1, 2, 3]).is_still


def test_rows_are_told_by_offsets_old_and_new() -> None:
    edited = moves(OLD, [0, 1, 1, 3])
    assert [edited.row_of(offset) for offset in (-1, 0, 15, 16, 23, 55, 56)] == [None, 0, 0, 1, 1, 3, None]
    assert edited.new_row_of == {0: 0, 1: 1, 3: 3}
