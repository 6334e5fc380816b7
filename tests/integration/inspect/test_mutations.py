"""Damaged inputs end in a KernlensError, never in a crash or a hang; ``tests/corpus/mutate.py`` runs the long campaign."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from kernlens.verbs.compile import build, plan
from tests.corpus.build import Built
from tests.corpus.mutate import Tally, campaign, mutate, run, seeds_of
from tests.whole import WHOLE

COUNT = 1500 if WHOLE else 500


@pytest.fixture(scope="module")
def seeds(corpus_sample: list[Built], darktable_kernels: Path, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    recording = tmp_path_factory.mktemp("mutations") / "sharpen.klens"
    for _, build_ in build(plan([darktable_kernels / "sharpen.cl"], ["skl", "dg2"]).jobs, recording=recording):
        assert build_.ok
    small = [built.binary for built in corpus_sample if built.binary.stat().st_size < 100_000]
    assert small
    return seeds_of([*small, recording])


def test_damaged_inputs_raise_only_kernlens_errors_within_a_second(seeds: list[bytes]) -> None:
    tally = campaign(seeds, COUNT, seed=int(os.environ.get("KERNLENS_MUTATION_SEED", "1")), workers=os.cpu_count() or 1)
    assert tally.failures == []
    assert sum(tally.counts.values()) == COUNT
    # Inputs that all fail at the first byte would test nothing.
    assert tally.counts["opened"] > COUNT // 10
    assert tally.counts["FormatError"] > COUNT // 10


def test_an_escaping_exception_is_noticed(seeds: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(content: bytes, folder: Path) -> None:
        raise IndexError(len(content))

    monkeypatch.setattr("tests.corpus.mutate.exercise", broken)
    tally: Tally = run(seeds, 3, seed=1)
    assert len(tally.failures) == 3


def test_the_same_seed_makes_the_same_input(seeds: list[bytes]) -> None:
    assert mutate(seeds, random.Random("1/2")) == mutate(seeds, random.Random("1/2"))
