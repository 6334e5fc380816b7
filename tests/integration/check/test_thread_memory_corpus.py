"""A sample of ``tests.corpus.thread_memory``: no kernel of real programs with memory of its thread passes a limit of 0."""

from __future__ import annotations

from pathlib import Path

from kernlens.isa.intel.iga_library import search_also
from tests.corpus.build import Built
from tests.corpus.thread_memory import Counts, check_thread_memory


def counted(built: list[Built]) -> Counts:
    counts = Counts()
    for each in built:
        counts.add(check_thread_memory(each))
    return counts


def test_patch_tokens(corpus_sample: list[Built], corpus_others: list[Built]) -> None:
    counts = counted([*corpus_sample, *corpus_others])
    assert counts.wrong == []
    assert (
        min(counts.kernels[name] for name in ("with none", "messages to scratch", "private memory size in the dump"))
        > 0
    )


def test_zebins_with_memory_of_their_thread_exceed_a_limit_of_0(newest_sample: list[Built], newest_root: Path) -> None:
    search_also(lambda: {"newest": str(newest_root)})
    counts = counted(newest_sample)
    assert counts.wrong == []
    assert min(counts.kernels["with any"], counts.kernels["private memory"]) > 0
