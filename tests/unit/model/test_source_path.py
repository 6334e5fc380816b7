"""Paths of source files: the same file by another spelling."""

from __future__ import annotations

import pytest

from kernlens.model.source_path import end_alike, pieces_of


@pytest.mark.parametrize(
    ("path", "pieces"),
    [
        ("/home/me/project/../headers/far.h", ["home", "me", "headers", "far.h"]),
        ("../headers/./far.h", ["headers", "far.h"]),
        ("C:\\a\\..\\far.h", ["C:", "far.h"]),
        ("..", []),
        ("", []),
    ],
)
def test_a_folder_that_is_left_again_counts_for_nothing(path: str, pieces: list[str]) -> None:
    """A header of -I ../headers is called by it in line tables, and lies in headers."""
    assert pieces_of(path) == pieces
    assert end_alike(path, "far.h") == ("far.h" in pieces)
