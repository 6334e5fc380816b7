"""Launches of darktable's kernels in the interpreter, held against the counters of an H100.

``tests/data/behaviour/darktable.json`` has the launches, ``darktable.csv`` the units of 32 bytes and the wavefronts of each
line from Nsight Compute's source page. On the GPU each program was built as OpenCL and run; its PTX ran again through CUDA,
gave the same bytes in all buffers, and was profiled.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kernlens.model.behaviour import Behaviour
from kernlens.verbs.observe.observe import observe
from tests.integration.observe.test_hardware_counters import DATA, pytestmark  # noqa: F401
from tests.whole import each_run

LAUNCHES: dict[str, dict[str, Any]] = {
    launch["launch"]: launch for launch in json.loads((DATA / "darktable.json").read_text())
}


def counters(launch: str, table: str = "darktable.csv") -> dict[int, tuple[int, int]]:
    """Each line's units of global memory and wavefronts of local memory on the GPU."""
    with (DATA / table).open() as file:
        return {
            int(row["line"]): (int(row["units"]), int(row["wavefronts"]))
            for row in csv.DictReader(file)
            if row["launch"] == launch
        }


def counted(observed: Behaviour) -> dict[int, tuple[int, int]]:
    """The same, as the interpreter counts."""
    return {
        line.place.line: (line.units, line.wavefronts or 0) for line in observed.lines if line.units or line.wavefronts
    }


def run(launch: Mapping[str, Any], kernels: Path) -> Behaviour:
    return observe(
        kernels / launch["file"],
        kernel=launch["kernel"],
        size=launch["size"],
        group=launch["group"],
        arguments=launch["arguments"],
        device="h100",
        seconds=300,
        options=f"-I{kernels}",
    )


@pytest.mark.parametrize(
    "name", each_run("dwt_row", "rcd_3_1", "gauss_t4", "pixelmax", others=sorted(set(LAUNCHES) - {"blur_line"}))
)
def test_lines_have_the_counters_of_a_gpu(name: str, darktable_kernels: Path) -> None:
    observed = run(LAUNCHES[name], darktable_kernels)
    assert observed.groups_done == observed.groups
    assert counted(observed) == counters(name)


def test_a_statement_of_many_lines_has_the_counters_of_a_gpu_in_all(darktable_kernels: Path) -> None:
    observed = run(LAUNCHES["blur_line"], darktable_kernels)
    expected = counters("blur_line")
    # The GPU's compiler gives the accesses of lines 265 to 268, one statement, to two of them.
    assert sum(line.units for line in observed.lines) == sum(units for units, _ in expected.values())
    units = {line.place.line: line.units for line in observed.lines}
    assert all(units[line] == expected[line][0] for line in (257, 258, 260, 276))
