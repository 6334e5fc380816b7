"""Live drivers for tests: where they run, small modules that link with each other, real programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernlens.runtime.driver_environment import DriverEnvironment, package_folder
from kernlens.toolchain.simulation import simulated_driver
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.integration.link.link_texts import TEXTS

SYSTEM_DEVICES = ("skl", "icllp", "tgllp", "dg2", "pvc")
NEWEST_DEVICES = ("dg2", "mtl", "pvc", "bmg", "lnl", "ptl")
SYSTEM_DRIVERS = tuple(f"{SYSTEM}/{device}" for device in SYSTEM_DEVICES)
NEWEST_DRIVERS = tuple(f"{NEWEST}/{device}" for device in NEWEST_DEVICES)
ALL_DRIVERS = SYSTEM_DRIVERS + NEWEST_DRIVERS

#: One driver of each generation, for what does not depend on the device.
BOTH = (f"{SYSTEM}/dg2", f"{NEWEST}/bmg")

LIBRARY = "-library-compilation"

MODULES = {
    **{name: TEXTS[name] for name in ("exporter", "variable", "initialiser")},
    "importer": """\
int helper(int x);
kernel void importing(global int *out) { out[get_global_id(0)] = helper(out[0]); }
""",
    "items": """\
int item(int x) { return x + (int)get_global_id(0); }
kernel void asking(global int *out) { out[0] = item(1); }
""",
    "plain": """\
kernel __attribute__((reqd_work_group_size(16, 2, 1))) void scale(global float *values, float factor)
{
    local float shared[64];
    shared[get_local_id(0)] = values[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    values[get_global_id(0)] = shared[15 - get_local_id(0)] * factor;
}
kernel void clear(global float *values) { values[get_global_id(0)] = 0.0f; }
""",
}


@pytest.fixture
def driver_environment(request: pytest.FixtureRequest) -> DriverEnvironment:
    """Return the driver that the test's parameter names as ``toolchain/device``."""
    toolchain, device = request.param.split("/")
    if toolchain == NEWEST:
        request.getfixturevalue("newest_root")
    return simulated_driver(device, toolchain)


def run_script(environment: DriverEnvironment, script: str, *arguments: str) -> Any:
    """Return what a script of ``live_scripts`` prints, run where ``environment``'s driver is; it must end with status 0."""
    path = Path(__file__).parent / "live_scripts" / f"{script}.py"
    done = subprocess.run(
        [*environment.python, str(path), *arguments],
        env=environment.full_environment(str(package_folder())),
        capture_output=True,
        timeout=300,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return ``MODULES`` as SPIR-V, through clang and llvm-spirv: what applications give to Level Zero."""
    folder = tmp_path_factory.mktemp("modules")
    return {name: compile_spirv(text, folder / f"{name}.cl") for name, text in MODULES.items()}


def compile_spirv(text: str, source: Path, *flags: str) -> bytes:
    """Compile OpenCL C to SPIR-V, unoptimised, with linkage decorations; ``flags`` are for clang's front end."""
    source.write_text(text)
    bitcode, spirv = source.with_suffix(".bc"), source.with_suffix(".spv")
    front_end = ["clang-15", "-cc1", "-triple", "spir64-unknown-unknown", "-O0", "-cl-std=CL2.0"]
    front_end += ["-finclude-default-header", *flags, "-emit-llvm-bc", str(source), "-o", str(bitcode)]
    subprocess.run(front_end, check=True, timeout=120)
    subprocess.run(["llvm-spirv-15", str(bitcode), "-o", str(spirv)], check=True, timeout=120)
    return spirv.read_bytes()
