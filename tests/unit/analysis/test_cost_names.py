"""A misspelt cost is answered with the nearest names."""

from __future__ import annotations

import pickle

import pytest

from kernlens.analysis.costs import costs_of
from kernlens.errors import AmbiguousKernelError, UnknownColumnError, UnknownCostError
from kernlens.model.columns import Table


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


def test_a_misspelt_column_or_attribute_names_the_nearest() -> None:
    table = Table.of_rows({"kernel": str, "global_loads": int}, [("k", 3)])
    (row,) = table
    for mapping, name in ((table.columns, "global_load"), (table, "globalloads"), (row, "global_load")):
        with pytest.raises(UnknownColumnError, match="did you mean global_loads\\?"):
            _ = mapping[name]
    with pytest.raises(KeyError, match=r"columns by their names; list\(table\)\[0\] is a row"):
        _ = table.columns[0]  # type: ignore[index]
    with pytest.raises(AttributeError, match="Table has no attribute 'column'; did you mean columns\\?"):
        _ = table.column  # type: ignore[attr-defined]


def test_the_pattern_for_an_ambiguous_name_has_a_star_at_each_end() -> None:
    assert "('*banks_*')" in str(AmbiguousKernelError("banks_*", ["banks_a", "banks_b"]))
