"""The OpenCL layer's stages are those of ``model/stages.py``: the layer itself is asked, through its extension.

``tests/unit/rules/test_stage_table.py`` compares the list with the text of the layer's tables, and with docs/stages.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.model.stages import CPU_RUNTIME, IGC_1, IGC_2, POCL, CompilerKind
from tests.integration.layers.opencl_layer_fixtures import Platform, passed, place, platform, work
from tests.whole import before_release

__all__ = ["place", "platform", "work"]

TABLES = {"pocl": POCL, "cpu": CPU_RUNTIME, "dg2": IGC_1, "bmg": IGC_2}


@pytest.mark.parametrize(
    ("platform", "compiler"),
    [
        # Of PoCL's stages others test each (test_opencl_layer.py, test_program_snapshots.py); IGC's are asked for on bmg.
        pytest.param(*pair, id=pair[0], marks=[before_release] if pair[0] in ("pocl", "dg2") else [])
        for pair in TABLES.items()
    ],
    indirect=["platform"],
)
def test_the_layer_lists_and_delivers_what_the_table_says(
    platform: Platform, place: Path, compiler: CompilerKind
) -> None:
    """Names, order, the endings of both forms (of a stage of one form that one, whatever is asked for), and the scope."""
    result = platform.run(place, "table", NEO_CACHE_PERSISTENT="0")
    passed(result)
    told = [tuple(line.split()[1:]) for line in result.stdout.splitlines() if line.startswith("stage ")]
    assert told == [
        (stage.name, stage.binary or stage.text, stage.text or stage.binary, stage.scope) for stage in compiler.stages
    ]
