"""Nothing of a capture can be seen: queries answer as without it (``queries.py``, of which this is a sample)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.capture.queries import CONSTANTS, make, trial
from tests.integration.drivers.live_fixtures import compile_spirv
from tests.whole import before_release

#: Interfaces and drivers, and the ways to capture that are tried on each.
SAMPLE = [
    ("opencl", "dg2", ("lines", "replace")),
    ("opencl", "pocl", ("lines", "time", "launch")),
    ("level-zero", "dg2", ("lines",)),
    pytest.param("opencl", "pocl", ("options",), marks=before_release),
    pytest.param("opencl", "bmg", ("lines", "options", "stages", "replace"), marks=before_release),
    pytest.param("level-zero", "bmg", ("lines", "options"), marks=before_release),
]


@pytest.mark.parametrize(("interface", "driver", "ways"), SAMPLE)
def test_queries_answer_as_without_kernlens(
    interface: str, driver: str, ways: tuple[str, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if driver == "bmg":
        request.getfixturevalue("newest_root")
    compile_spirv(CONSTANTS, tmp_path / "constants.cl")
    for way, compared in trial(make(tmp_path, interface, driver), ways, 17, 3000).items():
        assert not compared.differences, (way, compared.differences[:10])
        assert compared.same > 2000, (way, compared)
        assert sum(compared.unstable.values()) < 150, (way, compared.unstable)
