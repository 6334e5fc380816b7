"""Live ranges of compiled kernels, against the definitions of what is live at single rows."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.live_ranges import live_ranges
from kernlens.analysis.flow.liveness import liveness_of
from kernlens.analysis.flow.register_uses import RegisterUse, register_uses
from kernlens.model.effects import registers_in
from kernlens.model.register_links import BEFORE_THE_CODE
from tests.corpus.build import Built
from tests.corpus.slow_liveness import sample

LONGEST = 1000
ROWS = 60


def test_ranges_hold_what_is_live_and_who_wrote_it(corpus_sample: Sequence[Built]) -> None:
    kernels = list(sample(corpus_sample, 12, LONGEST))
    assert len(kernels) >= 5
    several = 0
    for kernel, size in kernels:
        liveness = liveness_of(kernel.instructions)
        assert liveness is not None
        uses = list(register_uses(kernel.instructions))
        known = live_ranges(kernel.instructions, uses)
        assert known is not None
        held: list[dict[int, set[int]]] = [{} for _ in kernel.instructions]
        for register, rows, value in known.ranges:
            for row in rows:
                held[row].setdefault(register, set()).add(value)
        assert [len(registers) for registers in held] == list(liveness.counts)
        groups = _together(uses)
        several += len(groups) - len(set(groups.values()))
        number_of: dict[int, int] = {}
        for row in random.Random(kernel.name).sample(range(len(held)), min(ROWS, len(held))):
            expected: dict[int, set[int]] = {}
            for writer, places in definitions_of(liveness, row).items():
                for register in registers_in(places, size):
                    group = groups.get((writer, register), hash((writer, register)))
                    expected.setdefault(register, set()).add(group)
            assert {register: len(values) for register, values in held[row].items()} == {
                register: len(values) for register, values in expected.items()
            }
            # One to one over all rows, where a register holds one value.
            for register, values in held[row].items():
                if len(values) == 1:
                    (value,), (group,) = values, expected[register]
                    assert number_of.setdefault(value, group) == group
        for reader, register, writer, _ in uses:
            value = known.values[writer, register]
            assert value in held[reader][register]
            assert writer == BEFORE_THE_CODE or value in held[writer][register]
    assert several > 0


def _together(uses: Sequence[RegisterUse]) -> dict[tuple[int, int], int]:
    """Return the number of each write's value, by repeated joining: writes of which a row reads the same byte."""
    groups = {(use.writer, use.register): number for number, use in enumerate(uses)}
    readers: dict[tuple[int, int], list[RegisterUse]] = {}
    for use in uses:
        readers.setdefault((use.reader, use.register), []).append(use)
    has_changed = True
    while has_changed:
        has_changed = False
        for (_, register), each in readers.items():
            for left in each:
                for right in each:
                    first, second = groups[left.writer, register], groups[right.writer, register]
                    if left.read & right.read and first != second:
                        groups[left.writer, register] = groups[right.writer, register] = min(first, second)
                        has_changed = True
    return groups
