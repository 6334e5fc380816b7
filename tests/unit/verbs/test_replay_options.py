"""The options that a Level Zero module was built with, as OpenCL takes them when a launch of it is replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.model.build import Build, HeldParts
from kernlens.verbs.replay.program_of_launch import programs_of


@pytest.mark.parametrize(
    ("recorded", "options"),
    [
        ("-ze-opt-level=2 -ze-opt-disable -DX=1", "-cl-opt-disable -DX=1"),
        ("-ze-opt-large-register-file", "-cl-intel-256-GRF-per-thread"),
        ("-cl-fast-relaxed-math", "-cl-fast-relaxed-math"),
    ],
)
def test_options_of_level_zero_become_those_of_opencl(recorded: str, options: str, tmp_path: Path) -> None:
    build = Build(name="p", options=recorded, parts=HeldParts(spirv=b"spirv"))
    _, (program,) = programs_of(build, None, str(tmp_path), is_binary=False)
    assert (program["options"], program["spirv"]) == (options, b"spirv")
