"""Registers and liveness of compiled kernels, against iga64's texts and a slow reference (``tests/corpus/slow_liveness.py``,
which takes 200 kernels)."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import liveness_of
from kernlens.model.effects import mask, registers_in
from kernlens.model.register_links import BEFORE_THE_CODE
from tests.corpus.build import Built
from tests.corpus.register_readers import readers_of
from tests.corpus.slow_liveness import difference, sample

#: The reference takes a second for a kernel of this many instructions.
LONGEST = 300


def test_liveness_equals_the_reference(corpus_sample: Sequence[Built]) -> None:
    kernels = list(sample(corpus_sample, 12, LONGEST))
    assert len(kernels) >= 5
    assert [result for kernel, size in kernels if (result := difference(kernel, size))] == []


def test_links_are_those_of_single_instructions(corpus_sample: Sequence[Built]) -> None:
    """All of a kernel's links are told at once; each instruction's writers and readers, looked for by themselves, are these."""
    kernel, size = next(sample(corpus_sample, 1, LONGEST))
    liveness = liveness_of(kernel.instructions)
    assert liveness is not None
    uses, sources = [], []
    for row, effect in enumerate(liveness.effects.effects):
        links = kernel.register_links(row)
        uses += links.uses
        sources += links.sources
        assert links.uses == by_register(readers_of(liveness, row), size)
        assert links.sources == by_register(definitions_of(liveness, row, mask(effect.reads)), size)
    assert uses
    assert len(uses) == sum(writer != BEFORE_THE_CODE for _, writer in sources)


def by_register(result: dict[int, int], size: int) -> list[tuple[int, int]]:
    return sorted((register, row) for row, places in result.items() for register in registers_in(places, size))
