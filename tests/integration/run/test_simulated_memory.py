"""What an application reads back from a simulated device over OpenCL is zero, so that two captures of it are equal."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.integration.capture.capture_fixtures import FLAGS, HERE, MAIN, Done, captured, folder
from tests.integration.layers.opencl_layer_fixtures import pocl

__all__ = ["folder"]

#: What is read, mapped, allocated and copied is zero; what the application has mapped already, its own storage of a buffer, and
#: shared virtual memory that it has written stay. Nothing around what is read is changed.
ZEROS = (
    "read 0 around 0\nbox 0 around 0\ndense box 0 around 0\nmap 0\nmap again 4096\nmap later 4096\n"
    "map of the application's 16384\nimage 0 around 0\ndense image 0 around 0\n"
    + 8 * "row of an image 0\n"
    + "rows 0 around 0\n"
    + 3 * "row 0\n"
    + "shared virtual 0\ncopy of shared virtual 0 around 0\nmap of shared virtual 16384\nhost 0\nshared 0\ncopy 0 around 0\n"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reads over memory that is filled with chance, and builds a program with a hash of what it reads."""
    path = tmp_path_factory.mktemp("memory") / "memory"
    subprocess.run(["gcc", *FLAGS, "-o", str(path), str(HERE / "opencl_memory.c"), "-lOpenCL"], check=True, timeout=60)
    return path


@pytest.mark.parametrize(("device", "toolchain"), [("dg2", SYSTEM), ("skl", SYSTEM), ("bmg", NEWEST)])
def test_two_captures_are_equal(
    program: Path, device: str, toolchain: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if toolchain == NEWEST:
        request.getfixturevalue("newest_root")
    simulated = ("--simulate", device, "--toolchain", toolchain)
    # The driver alone leaves some of it as it was.
    assert run("run", *simulated, "--", str(program)).stdout != ZEROS
    recorded = []
    for name in ("first", "second"):
        recording = tmp_path / f"{name}.klens"
        done = run("capture", *simulated, "-o", str(recording), "--", str(program))
        assert done.stdout == ZEROS
        (build,) = Done(done.returncode, done.stdout, done.stderr, recording).builds
        recorded.append((build.options, build.binary, [source.text for source in build.sources]))
    assert (recorded[0][0] or "").startswith("-DSEED=")
    assert recorded[0] == recorded[1]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MAIN, *words], env={**os.environ}, capture_output=True, text=True, timeout=600, check=True)


def test_other_devices_results_stay(program: Path, folder: Path, tmp_path: Path) -> None:
    """Those of a platform that computes, where Intel's driver is told to simulate."""
    without = pocl(tmp_path / "cache")
    simulates = {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1", "KERNLENS_CAPTURE_ZEROS": "1"}
    under = replace(without, environment={**without.environment, **simulates})
    done = captured(under, folder, tmp_path, str(program), "buffers")
    assert done.status == 0
    assert done.out == (
        "read 4096 around 0\nbox 256 around 0\ndense box 256 around 0\nmap 4096\nmap again 4096\nmap later 4096\n"
        "map of the application's 16384\n"
    )
