"""The programs of launches that are replayed: built once, unless they may have variables of their own."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.launch_replay import BuiltPrograms, _may_have_variables
from kernlens.runtime.opencl.program_building import opencl_devices
from kernlens.verbs.replay.replay import replay
from tests.writers.kept_launches import READ_WRITE, Keeper, record_launches
from tests.writers.spirv import instruction, module

pytestmark = pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")

ADD = "kernel void add(global int *out, int n) { out[get_global_id(0)] += n; }"
NOTHING: dict[str, Any] = {
    "text": None,
    "spirv": b"",
    "binary": b"",
    "parts": [],
    "constants": [],
    "options": "",
    "name": "k",
}


@pytest.fixture
def built() -> BuiltPrograms:
    return BuiltPrograms(next(each for each in opencl_devices() if "Portable" in each.platform))


def builds_of(built: BuiltPrograms, *programs: dict[str, Any]) -> int:
    """Ask for programs, twice each; return how many builds that took."""
    calls: list[str] = []
    built.context.library.on_call = calls.append
    for _ in range(2):
        for program in programs:
            try:
                built.of(program)
            except OpenCLError:
                assert "x y" in program["text"]
    return calls.count("clBuildProgram")


def test_a_program_is_built_once(built: BuiltPrograms) -> None:
    assert builds_of(built, {**NOTHING, "text": ADD}, {**NOTHING, "text": ADD, "options": "-DA"}) == 2
    # What does not build is not tried again.
    assert builds_of(built, {**NOTHING, "text": "x y"}) == 1
    assert builds_of(built, {**NOTHING, "text": ADD, "options": "-cl-std=CL2.0"}) == 2


@pytest.mark.parametrize(("storage_class", "may"), [(5, True), (4, False)])
def test_variables_of_spirv_are_found(storage_class: int, may: bool) -> None:
    variable = instruction(59, 1, 2, storage_class)
    assert _may_have_variables({**NOTHING, "spirv": module(variable)}) is may


def test_many_launches_leave_what_they_left(tmp_path: Path) -> None:
    keeper = Keeper(ADD)
    launches = [
        keeper.launch("add", [[struct.pack("<8i", *range(8)), READ_WRITE], struct.pack("<i", n)], [8])
        for n in range(12)
    ]
    path = record_launches(tmp_path / "a.klens", keeper.build, *launches)
    assert [each.is_equal for each in replay(path, all_launches=True, runs=1)] == [True] * 12
