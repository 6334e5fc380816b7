"""Every check of ``tests/corpus/checks.py`` on a sample of real programs; ``python -m tests.corpus.verify`` runs all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernlens.isa.library import add_search_path
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from tests.corpus.build import Built
from tests.corpus.checks import CHECKS, Outcome, check_texts, load

each_check = pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())


def outcome_over(sample: list[Built], check: Callable[[Built], Outcome]) -> Outcome:
    total = Outcome("all")
    for built in sample:
        total.add(check(built))
    return total


@each_check
def test_darktable_on_all_five_products(corpus_sample: list[Built], check: Callable[[Built], Outcome]) -> None:
    outcome = outcome_over(corpus_sample, check)
    assert outcome.differences == []
    assert outcome.compared > 1000


@each_check
def test_other_packages(corpus_others: list[Built], check: Callable[[Built], Outcome]) -> None:
    outcome = outcome_over(corpus_others, check)
    assert outcome.differences == []
    assert outcome.compared > 1000


@each_check
def test_zebins_of_the_newest_compiler(
    newest_sample: list[Built], newest_root: Path, check: Callable[[Built], Outcome]
) -> None:
    add_search_path(str(newest_root))
    outcome = outcome_over(
        newest_sample, (lambda built: check_texts(built, newest_root)) if check is check_texts else check
    )
    assert outcome.differences == []
    assert outcome.compared > 1000


def test_each_kernel_of_a_zebin_has_its_own_lines(newest_sample: list[Built]) -> None:
    """The trap: without relocation every kernel reads the first one's table."""
    for built in newest_sample:
        kernels = [kernel for name, kernel in load(built).kernels.items() if name != PSEUDO_KERNEL]
        tables = [kernel.line_table for kernel in kernels if kernel.line_table is not None]
        assert [table.offsets[-1] for table in tables] == [kernel.code_size for kernel in kernels], built.name
        assert len({(*table.offsets, *table.lines) for table in tables}) == len(kernels) > 1, built.name


def test_a_join_that_is_one_row_late_is_seen(corpus_sample: list[Built], monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks themselves can fail."""
    from kernlens.model.source_map import SourceMap

    right = SourceMap.place
    monkeypatch.setattr(SourceMap, "place", lambda self, index: right(self, max(index - 1, 0)))
    outcome = CHECKS["join agrees with readelf's rows"](corpus_sample[0])
    assert outcome.differences
    outcome = CHECKS["join agrees with IGC's dump"](corpus_sample[0])
    assert outcome.differences
