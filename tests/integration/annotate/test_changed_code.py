"""Code that was changed after the compile: no line of it is false, and no code of a compiler is called changed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kernlens.isa.intel.iga_library import search_also
from tests.corpus.build import Built
from tests.corpus.changed_code import KINDS, alarms, changed


def _check(built: Sequence[Built], count: int) -> None:
    paths = [item.binary for item in built]
    kernels, false = alarms(paths)
    assert kernels
    assert false == []
    outcomes = changed(paths, count, random.Random(5))
    assert [line for outcome in outcomes.values() for line in outcome.false] == []
    totals = {kind: sum(outcome.changed[kind] for outcome in outcomes.values()) for kind in KINDS}
    assert min(totals.values()) > 0
    followed = outcomes.pop("everything")
    assert followed.right, "what follows as a whole keeps its lines"
    assert sum(outcome.with_lines["behind"] for outcome in outcomes.values()), "code behind the end changes nothing"
    for kind in ("splice", "pad", "cut"):
        assert not any(outcome.with_lines[kind] for outcome in outcomes.values()), kind


def test_patch_tokens(corpus_sample: list[Built]) -> None:
    _check(corpus_sample, 60)


def test_zebins(newest_sample: list[Built], newest_root: object) -> None:
    search_also(lambda: {"newest": str(newest_root)})
    _check(newest_sample, 60)
