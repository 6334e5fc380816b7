"""Registers and liveness of compiled kernels, against iga64's texts and a slow reference (``tests/corpus/slow_liveness.py``,
which takes 200 kernels)."""

from __future__ import annotations

from collections.abc import Sequence

from tests.corpus.build import Built
from tests.corpus.slow_liveness import difference, sample

#: The reference takes a second for a kernel of this many instructions.
LONGEST = 300


def test_liveness_equals_the_reference(corpus_sample: Sequence[Built]) -> None:
    kernels = list(sample(corpus_sample, 12, LONGEST))
    assert len(kernels) >= 5
    assert [found for kernel, size in kernels if (found := difference(kernel, size))] == []


def test_links_go_both_ways(corpus_sample: Sequence[Built]) -> None:
    """Who reads what an instruction writes has it from there."""
    kernel, _ = next(sample(corpus_sample, 1, LONGEST))
    count = len(kernel.instructions)
    uses = {(row, number, to) for row in range(count) for number, to in kernel.register_links(row).uses}
    sources = {
        (by, number, row) for row in range(count) for number, by in kernel.register_links(row).sources if by >= 0
    }
    assert uses == sources
    assert uses
