"""cl_codeplay_program_snapshot on pyopencl's objects: every check of the reference's tests, on every platform.

Each platform's checks run in one process (``live_scripts/snapshots.py``), as drivers are chosen when they are loaded;
what was delivered is then read back by the stages' own tools.
"""

from __future__ import annotations

import base64
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernlens.errors import NotFoundError
from kernlens.model.stages import CPU_RUNTIME, IGC_2, POCL
from kernlens.pipeline.cpu_runtime import runtime_library
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.toolchain.simulation import simulated_driver
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.integration.drivers.live_fixtures import run_script
from tests.whole import each_run

SOURCE = """\
float powers(float x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x * i;
    return sum;
}
kernel void first(global float *values, int n) { values[get_global_id(0)] = powers(values[get_global_id(0)], n); }
kernel void second(global float *values) { values[get_global_id(0)] += 1.0f; }
"""

INTEL_STAGES = [stage.name for stage in IGC_2.stages]
PLATFORMS = {
    "pocl": (POCL.platform, [stage.name for stage in POCL.stages]),
    "intel-cpu": (CPU_RUNTIME.platform, [stage.name for stage in CPU_RUNTIME.stages]),
    f"{SYSTEM}/skl": ("Intel(R) OpenCL HD Graphics", INTEL_STAGES),
    f"{SYSTEM}/dg2": ("Intel(R) OpenCL HD Graphics", INTEL_STAGES),
    f"{NEWEST}/bmg": ("Intel(R) OpenCL Graphics", INTEL_STAGES),
}

EXPECTED_CODES = {
    "list: no program": "CL_INVALID_PROGRAM",
    "list: no program first": "CL_INVALID_PROGRAM",
    "list: no device": "CL_INVALID_DEVICE",
    "list: a number as device": "CL_INVALID_DEVICE",
    "list: count 0": "CL_INVALID_VALUE",
    "list: foreign device": "CL_INVALID_DEVICE",
    "no program": "CL_INVALID_PROGRAM",
    "context as program": "CL_INVALID_PROGRAM",
    "no device": "CL_INVALID_DEVICE",
    "foreign device": "CL_INVALID_DEVICE",
    "no stage": "CL_INVALID_ARG_VALUE",
    "unknown stage": "CL_INVALID_ARG_VALUE",
    "unknown format": "CL_INVALID_ARG_VALUE",
    "no callback": "CL_INVALID_ARG_VALUE",
    "legal": "CL_SUCCESS",
    "after the build": "CL_INVALID_PROGRAM_EXECUTABLE",
    "after the build, unknown stage": "CL_INVALID_ARG_VALUE",
    "raw handle": "CL_SUCCESS",
}


#: One device of each generation of Intel's GPU compiler.
EACH_RUN = ("pocl", "intel-cpu", f"{SYSTEM}/dg2", f"{NEWEST}/bmg")


@pytest.fixture(scope="module", params=each_run(*EACH_RUN, others=PLATFORMS))
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """(platform's name here, what the script told)."""
    name = request.param
    if name.startswith(NEWEST):
        request.getfixturevalue("newest_root")
    source = tmp_path_factory.mktemp("snapshots") / "program.cl"
    source.write_text(SOURCE)
    return name, run_script(environment_of(name), "snapshots", PLATFORMS[name][0], str(source))


def environment_of(name: str) -> DriverEnvironment:
    if name == "pocl":
        return DriverEnvironment("pocl")
    if name == "intel-cpu":
        try:
            library = runtime_library()
        except NotFoundError as error:
            pytest.skip(str(error))
        if library is None:
            pytest.skip("Intel's CPU runtime is not installed: pip install intel-opencl-rt intel-cmplr-lib-rt")
        return DriverEnvironment(name, {"OCL_ICD_VENDORS": str(library), "LD_LIBRARY_PATH": str(library.parent)})
    toolchain, device = name.split("/")
    return simulated_driver(device, toolchain)


def test_the_layer_lists_the_stages_of_each_platform(told: tuple[str, Any]) -> None:
    name, answers = told
    stages = PLATFORMS[name][1]
    assert answers["stages"] == stages
    assert answers["two"] == stages[:2]
    assert answers["more than there are"] == answers["list after the build"] == stages


def test_each_error_under_its_code_and_in_order(told: tuple[str, Any]) -> None:
    codes = told[1]["codes"]
    assert {what: EXPECTED_CODES[what] for what in codes} == codes
    assert len(codes) >= len(EXPECTED_CODES) - 2  # a foreign device takes a second platform


def test_the_latest_request_counts_and_the_build_works(told: tuple[str, Any]) -> None:
    assert told[1]["latest"] == ["second"]
    assert told[1]["kernel works"] in ("first", "second")
    assert told[1]["failing build"] == "raised"


def test_a_snapshot_that_cannot_be_made_leaves_the_build_alone(told: tuple[str, Any]) -> None:
    built, *reason = told[1]["full folder"]
    assert built in ("first", "second")
    assert len(reason) == 1
    assert "no snapshot of the stage" in reason[0]
    assert "point TMPDIR at one that is writable" in reason[0]


#: Forms that no tool of these packages reads, by their first bytes or a word that must stand in them.
MARKS = {
    ".cl": b"kernel void first",
    ".ll": b"define",
    ".visaasm": b".kernel",
    ".isa": b"CISA",
    ".visa.ll": b"visa id:",
    ".asm": b"",
    ".dat": b"",
    ".elf": b"\x7fELF",
    ".cos": b"Kernel Patch Lists",
    ".kernbin": b"",
    ".zeinfo": b"kernels:",
    ".progbin": b"",
    ".bc": b"BC\xc0\xde",
    ".o": b"\x7fELF",
    ".so": b"\x7fELF",
    ".s": b".ltext",
    ".bin": b"\x7fELF",
    ".spv": b"\x03\x02\x23\x07",
    ".spvasm": b"OpEntryPoint",
}


def test_every_stage_is_delivered_in_both_formats(told: tuple[str, Any], tmp_path: Path) -> None:
    name, answers = told
    for stage, forms in answers["snapshots"].items():
        for form, result in forms.items():
            assert result, f"{name} {stage} {form}"
            for item in result:
                content = base64.b64decode(item["content"])
                assert content
                assert MARKS[item["ending"]] in content, f"{name} {stage} {form} {item['ending']}"
                # The CPU runtime's LLVM is newer than any that Debian 12 has a tool of.
                if (name, stage) != ("intel-cpu", "llvm"):
                    read_back(tmp_path, item["ending"], content)
        kernels = {snapshot["kernel"] for snapshot in forms["text"]}
        assert kernels in ({""}, {"first", "second"}), f"{name} {stage}"


def read_back(folder: Path, ending: str, content: bytes) -> None:
    """The stage's own tool must take it."""
    path = folder / f"snapshot{ending}"
    path.write_bytes(content)
    tools = {
        ".spv": ["spirv-val", "--target-env", "spv1.4", str(path)],
        ".spvasm": ["spirv-as", "--target-env", "spv1.4", "--preserve-numeric-ids", str(path), "-o", str(folder / "x")],
        ".bc": ["llvm-dis-15", str(path), "-o", str(folder / "x.ll")],
        ".o": ["readelf", "--all", str(path)],
        ".so": ["readelf", "--all", str(path)],
        ".elf": ["readelf", "--all", str(path)],
    }
    command = tools.get(ending)
    if command is None:
        return
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{command[0]}: {done.stderr[:500]}"


@pytest.mark.parametrize("name", each_run(*EACH_RUN[2:], others=[name for name in PLATFORMS if "/" in name]))
def test_the_applications_build_keeps_the_stage(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A second build raises in the script; other threads could build too, so with one the second build is asked for."""
    if name.startswith(NEWEST):
        request.getfixturevalue("newest_root")
    source = tmp_path / "program.cl"
    source.write_text(SOURCE)
    came = run_script(environment_of(name), "application_build", PLATFORMS[name][0], str(source))
    kernels = ["first", "second"]
    resources = [[".zeinfo", ""]] if name.startswith(NEWEST) else [[".cos", kernel] for kernel in kernels]
    assert came.pop("binaries differ") == []
    assert came.pop("another thread") == []
    assert came.pop("visa, binary") == [
        [".visaasm" if name.startswith(NEWEST) else ".isa", kernel] for kernel in kernels
    ]
    assert came == {
        "source": [[".cl", ""]],
        "spirv": [[".spvasm", ""]],
        **{stage: [[".ll", ""]] for stage in INTEL_STAGES if stage.startswith("llvm-")},
        "visa": [[".visaasm", kernel] for kernel in kernels],
        "visa-llvm-map": [[".visa.ll", kernel] for kernel in kernels],
        "gen-assembly": [[".asm", kernel] for kernel in kernels],
        "debug": [],  # without -g
        "resources": resources,
        "program": [[".progbin", ""]],
    }


def test_the_users_settings_stay(tmp_path: Path) -> None:
    """IGC 1 reads its variables at the first compile: what a request then puts back must be what it has read."""
    source = tmp_path / "program.cl"
    source.write_text(SOURCE)
    environment = simulated_driver("dg2")
    user = replace(environment, variables={**environment.variables, "IGC_VISAOptions": "-noschedule"})
    platform = PLATFORMS[f"{SYSTEM}/dg2"][0]
    plain = run_script(user, "user_settings", platform, str(source), "none")
    assert run_script(user, "user_settings", platform, str(source), "request") == plain
    assert run_script(environment, "user_settings", platform, str(source), "none") != plain  # the option does something


def test_from_opencl_reads_a_program_of_pocl(tmp_path: Path) -> None:
    source = tmp_path / "program.cl"
    source.write_text(SOURCE)
    answers = run_script(environment_of("pocl"), "other_platform", PLATFORMS["pocl"][0], str(source))
    assert re.fullmatch(r"answer: \[<Program '.*' format=poclbin device=x86-64 kernels=2>\]", answers["after"])


def test_from_opencl_says_what_other_platforms_have(tmp_path: Path) -> None:
    source = tmp_path / "program.cl"
    source.write_text(SOURCE)
    answers = run_script(environment_of("intel-cpu"), "other_platform", PLATFORMS["intel-cpu"][0], str(source))
    start = f"the program is one of {answers['platform']} for {answers['device']}, whose machine code kernlens does not read"
    assert answers["after"].startswith(start)
    # What the message offers is there.
    assert (
        re.findall(r"gives its (.*?), and kernlens\.opencl\.(\w+)", answers["after"])[0][1]
        == "request_program_snapshot"
    )
    for part in ("source", "options", "binary"):
        assert part in answers["after"].split("gives its ")[1].split(", and")[0]
    assert answers["source"] == SOURCE
    assert answers["binary"] > 0
    assert answers["stages"] == PLATFORMS["intel-cpu"][1]
    assert answers["sizes"]
    assert answers["before"] == (
        f"the program holds no machine code of an Intel GPU: {answers['device']}: the program is not built for this device"
    )
