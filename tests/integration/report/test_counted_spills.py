"""What the index of an explore document says of spills where the binary does not state their bytes."""

from __future__ import annotations

from pathlib import Path

import kernlens
from kernlens.report.explore.explore_document import explore_document

KERNELS = Path(__file__).parents[3] / "examples" / "kernels"
COUNTED = {"spill_messages", "spill_store_bytes"}


def test_spills_are_counted_where_the_bytes_are_not_stated() -> None:
    programs = kernlens.compile([KERNELS / "window.cl", KERNELS / "blur.cl"], "dg2", toolchain="system")
    for program in programs:
        ((name, kernel),) = program.kernels.items()
        columns = explore_document([program]).index["programs"][0]["kernels"]
        if name == "window":
            assert columns["spill_bytes"] == [None]
            costs = kernel.costs
            assert columns["spill_messages"] == [costs["spill_stores"] + costs["fill_loads"]]
            assert columns["spill_store_bytes"] == [costs["spill_store_bytes"]]
            assert kernel.costs["spill_stores"] > 0
        else:
            assert columns["spill_bytes"] == [0]
            assert not columns.keys() & COUNTED
