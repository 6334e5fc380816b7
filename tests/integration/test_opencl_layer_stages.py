"""The OpenCL layer's stages are those of the Python tables: the layer itself is asked, through its extension, on real drivers.

``tests/unit/test_stage_table.py`` compares the Python tables with docs/stages.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.model.stage import Stage
from kernlens.pipeline.cpu_runtime import STAGES as CPU_RUNTIME
from kernlens.pipeline.igc import IGC_1, IGC_2
from kernlens.pipeline.pocl import STAGES as POCL
from tests.integration.opencl_layer_fixtures import Platform, passed, place, platform, work

__all__ = ["place", "platform", "work"]

TABLES = {"pocl": POCL, "cpu": CPU_RUNTIME, "dg2": IGC_1, "bmg": IGC_2}


@pytest.mark.parametrize(
    ("platform", "table"), [pytest.param(*pair, id=pair[0]) for pair in TABLES.items()], indirect=["platform"]
)
def test_the_layer_lists_and_delivers_what_the_table_says(
    platform: Platform, place: Path, table: tuple[Stage, ...]
) -> None:
    """Names, order, the endings of both forms (of a stage of one form that one, whatever is asked for), and the scope."""
    result = platform.run(place, "table", NEO_CACHE_PERSISTENT="0")
    passed(result)
    told = [tuple(line.split()[1:]) for line in result.stdout.splitlines() if line.startswith("stage ")]
    assert told == [
        (stage.name, stage.binary or stage.text, stage.text or stage.binary, stage.scope) for stage in table
    ]
