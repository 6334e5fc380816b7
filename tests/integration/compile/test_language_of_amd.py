"""The version of OpenCL C that a refused compile for an AMD GPU names compiles the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernlens.toolchain.amd_clang import amd_devices_of
from kernlens.toolchain.toolchains import toolchain
from tests.integration.cli.test_cli import kernlens

SOURCE = "kernel void k(global int *a) { a[0] = get_enqueued_local_size(0) + sub_group_all(a[1]); }\n"


@pytest.mark.skipif("gfx1030" not in amd_devices_of(toolchain("system")), reason="no clang for AMD's GPUs")
def test_the_remedy_compiles(tmp_path: Path) -> None:
    source = tmp_path / "k.cl"
    source.write_text(SOURCE.replace(" + sub_group_all(a[1])", ""))
    words = ("compile", source, "--device", "gfx1030", "--toolchain", "system", "-o", tmp_path / "k.klens")
    refused = kernlens(*words)
    assert refused.returncode != 0
    options = re.search(r"try --build-options (\S+)", refused.stderr)
    assert options is not None
    source.write_text(SOURCE)
    assert kernlens(*words, "--build-options", options[1]).returncode == 0
    assert (
        "try --build-options -cl-std=CL2.0"
        in kernlens(*words, "--build-options", "-cl-std=CL3.0").stderr + refused.stderr
    )
