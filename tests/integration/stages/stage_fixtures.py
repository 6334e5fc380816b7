"""A small source with an inlined function and a loop, for tests of stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.model.stage_map import StageMap

SMALL = """\
float powers(float x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x * i;
    return sum;
}
kernel void scale(global float *values, int n)
{
    if (n > 3)
        values[get_global_id(0)] = powers(values[get_global_id(0)], n);
}
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    source = tmp_path / "scale.cl"
    source.write_text(SMALL)
    return source


def placed_count(stage_map: StageMap) -> int:
    """Return the number of instructions that have a source line."""
    return sum(place is not None for place in stage_map.places)
