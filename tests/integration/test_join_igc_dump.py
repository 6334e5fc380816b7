"""The join of instructions with lines, held against the compiler's own listing of every kernel."""

from __future__ import annotations

from tests.corpus.build import Built
from tests.corpus.checks import Outcome, check_join, load


def agree(sample: list[Built], at_least: int) -> None:
    whole = Outcome("instructions")
    for built in sample:
        whole.add(check_join(built))
    assert not whole.differences
    assert whole.compared >= at_least


def test_patch_token_programs(corpus_sample: list[Built]) -> None:
    agree(corpus_sample, at_least=10_000)


def test_zebins(newest_sample: list[Built]) -> None:
    agree(newest_sample, at_least=10_000)


def test_programs_of_other_packages(corpus_others: list[Built]) -> None:
    agree(corpus_others, at_least=1000)


def test_the_prologue_is_where_the_hardware_loads_no_payload(corpus_sample: list[Built]) -> None:
    """skl to tgllp: none. dg2 and pvc: a send or load before the first line's work, and nothing of a statement."""
    for built in corpus_sample:
        for kernel in load(built).kernels.values():
            source_map = kernel.source_map
            assert source_map is not None
            assert (source_map.prologue > 0) == (built.device in ("dg2", "pvc")), f"{built.name} {kernel.name}"
            loads = [
                text for text in kernel.instructions.texts[: source_map.prologue] if "send" in text or "load" in text
            ]
            assert bool(loads) == (source_map.prologue > 0)
