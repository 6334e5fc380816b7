"""A misspelt cost is answered with the nearest names."""

from __future__ import annotations

import pickle

import pytest

from kernlens.analysis.costs import costs_of
from kernlens.errors import UnknownCostError


def test_a_misspelt_cost_names_the_nearest() -> None:
    costs = costs_of([])
    assert costs["instructions"] == 0
    assert costs.get("spils") is None
    with pytest.raises(KeyError) as raised:
        _ = costs["spill_store"]
    assert str(raised.value) == "there is no cost 'spill_store' of this code; did you mean spill_stores?"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    with pytest.raises(UnknownCostError, match="there are instructions, float_instructions"):
        _ = costs["zzz"]
