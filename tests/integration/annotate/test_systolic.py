"""Systolic code of the newest compiler: texts, messages, registers and cycles against what libiga64 and IGC say
(``tests/corpus/systolic.py``, which takes more devices)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.isa.intel.iga_library import search_also
from tests.corpus.checks import load
from tests.corpus.systolic import OPTIONS, differences, programs_of


@pytest.mark.parametrize("device", ["dg2", "bmg"])
def test_products_of_matrices(device: str, newest_root: Path, tmp_path: Path) -> None:
    search_also(lambda: {"newest": str(newest_root)})
    built = list(programs_of(newest_root, [device], tmp_path))
    assert [load(each).kernels["product_i8"].resources.grf_count for each in built] == [128, 256]
    assert len(built) == len(OPTIONS)
    for each in built:
        counts, wrong = differences(each, newest_root)
        assert wrong == []
        assert counts["systolic_instructions"] >= 12
        assert counts["cycles" if device == "dg2" else "occupancies"] > 300
        assert counts["messages"] > 30
        # Two of each round; what is loaded into registers counts as loads.
        assert counts["global_prefetches"] == (0 if device == "dg2" else 2)
