"""Launches of silx's kernels in the interpreter, held against the counters of an H100.

``tests/data/behaviour/silx.json`` has the launches, ``silx.csv`` the units of 32 bytes and the wavefronts of each line,
measured as those of darktable's. They were chosen before the first of them ran.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernlens.verbs.observe.observe import observe
from tests.corpus.packages import CorpusError, fetch
from tests.integration.observe.test_darktable_counters import counted, counters
from tests.integration.observe.test_hardware_counters import DATA, pytestmark  # noqa: F401
from tests.whole import each_run

LAUNCHES: dict[str, dict[str, Any]] = {
    launch["launch"]: launch for launch in json.loads((DATA / "silx.json").read_text())
}
TWO_FIRST = "the GPU's compiler loads the first two values at once, on the line of the other branch"
#: Launch and line -> why the GPU counts something else.
EXPLAINED = {
    ("maxmin1", 111): TWO_FIRST,
    ("maxmin1", 115): TWO_FIRST,
    ("maxmin2", 148): TWO_FIRST,
    ("maxmin2", 152): TWO_FIRST,
    ("maxmin2", 169): TWO_FIRST,
    ("maxmin2", 173): TWO_FIRST,
}


@pytest.fixture(scope="module")
def silx_kernels() -> Path:
    """The folder of silx's kernels in Debian's package."""
    try:
        return fetch(["python3-silx"]) / "python3-silx/usr/lib/python3/dist-packages/silx/resources/opencl"
    except CorpusError as error:
        pytest.skip(f"silx's kernels: {error}")


@pytest.mark.parametrize(
    "name", each_run("conv_x", "sort_book", "divergence", "gradient", "sino_mult", "maxmin1", others=sorted(LAUNCHES))
)
def test_lines_have_the_counters_of_a_gpu(name: str, silx_kernels: Path) -> None:
    launch = LAUNCHES[name]
    observed = observe(
        silx_kernels / launch["file"],
        kernel=launch["kernel"],
        size=launch["size"],
        group=launch["group"],
        arguments=launch["arguments"],
        device="h100",
        seconds=300,
        options=launch["options"],
    )
    assert observed.groups_done == observed.groups
    here, expected = counted(observed), counters(name, "silx.csv")
    differing = {line for line in here.keys() | expected.keys() if here.get(line) != expected.get(line)}
    assert differing == {line for launch_name, line in EXPLAINED if launch_name == name}
