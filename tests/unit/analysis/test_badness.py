"""Which kernels of a comparison stand first."""

from __future__ import annotations

from typing import Any, cast

from kernlens.analysis.comparison.kernel_changes import FigureChange, KernelChange, by_badness
from kernlens.model.figures import figure_named


def change(**figures: tuple[int, int]) -> KernelChange:
    changes = tuple(FigureChange(figure_named(key), *values) for key, values in figures.items())
    return KernelChange(cast("Any", None), changes, is_same_code=False)


def test_shares_rank_what_all_kernels_have_and_bytes_what_few_have() -> None:
    long, short = change(instructions=(5000, 5100)), change(instructions=(10, 20))
    little, much = change(spill_bytes=(0, 64), instructions=(10, 90)), change(spill_bytes=(640, 1280))
    better = change(instructions=(20, 10))
    assert by_badness([better, long, little, short, much]) == [much, little, short, long, better]
