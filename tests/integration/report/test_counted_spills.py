"""What the index of an explore document says of spills where the binary does not state their bytes."""

from __future__ import annotations

from pathlib import Path

import kernlens
from kernlens.report.explore.explore_document import explore_document

KERNELS = Path(__file__).parents[3] / "examples" / "kernels"
COUNTED = ("spill_stores", "fill_loads", "spill_store_bytes")


def test_spills_are_counted_where_the_bytes_are_not_stated() -> None:
    programs = kernlens.compile([KERNELS / "window.cl", KERNELS / "blur.cl"], "dg2", toolchain="system")
    for program in programs:
        ((name, kernel),) = program.kernels.items()
        columns = explore_document([program]).index["programs"][0]["kernels"]
        if name == "window":
            assert columns["spill_bytes"] == [None]
            assert {key: columns[key] for key in COUNTED} == {key: [kernel.costs[key]] for key in COUNTED}
            assert kernel.costs["spill_stores"] > 0
        else:
            assert columns["spill_bytes"] == [0]
            assert not columns.keys() & set(COUNTED)
