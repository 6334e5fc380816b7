"""OpenCL programs of real drivers, through pyopencl and through bare handles; and the corpus, live."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from kernlens.model.build import Build
from kernlens.opencl import OpenCLError
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import OPENCL, IsolatedDriver
from kernlens.runtime.worker_answers import build_of, from_json
from kernlens.toolchain.simulation import simulated_driver
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.corpus.build import build
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import program
from tests.corpus.packages import CorpusError
from tests.integration.drivers.live_checks import (
    Tally,
    check_program,
    check_source,
    later_stepping,
    offline_environment,
)
from tests.integration.drivers.live_fixtures import ALL_DRIVERS, BOTH, NEWEST_DRIVERS, driver_environment, run_script
from tests.whole import each_run

__all__ = ["driver_environment"]

on_both_drivers = pytest.mark.parametrize("driver_environment", BOTH, indirect=True)

SOURCE = """\
kernel void scale(global float *restrict values, const float factor, read_only image2d_t image)
{
    const sampler_t nearest = CLK_FILTER_NEAREST;
    values[get_global_id(0)] *= factor * read_imagef(image, nearest, (int2)(0, 0)).x;
}
kernel void clear(global int *values) { values[get_global_id(0)] = 0; }
"""
DEBUG = "-gline-tables-only"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "program.cl"
    path.write_text(SOURCE)
    return path


def builds_of(answers: Any, key: str = "builds") -> list[Build]:
    return [build_of(build) for build in from_json(answers[key])]


@on_both_drivers
def test_pyopencl_program(driver_environment: DriverEnvironment, source: Path) -> None:
    answers = run_script(
        driver_environment, "pyopencl_program", "Intel", str(source), f"{DEBUG} -DN=3 -cl-kernel-arg-info"
    )
    (build,) = builds_of(answers)
    assert builds_of(answers, "raw") == [build]
    assert [build.binary] == [base64.b64decode(binary) for binary in answers["binaries"]]
    assert build.sources[0].text == answers["source"] == SOURCE
    assert sorted(kernel.name for kernel in build.kernels) == sorted(answers["names"]) == ["clear", "scale"]
    assert build.options is not None
    assert f"{DEBUG} -DN=3" in build.options
    assert build.debug
    assert build.spirv == b""
    assert "not made from SPIR-V" in build.missing["spirv"]
    assert build.toolchain is not None
    release = "26.27" if "UseAubStream" in driver_environment.variables else "22.43"
    assert build.toolchain.title.startswith(f"opencl driver {release}")

    scale = next(kernel for kernel in build.kernels if kernel.name == "scale")
    assert scale.origin == "CL_KERNEL_BINARY_PROGRAM_INTEL"
    assert [
        (argument.name, argument.type_name, argument.address_space, argument.access, argument.type_qualifier)
        for argument in scale.arguments
    ] == [
        ("values", "float*", "global", None, "restrict"),
        ("factor", "float", "private", None, None),
        ("image", "image2d_t", "global", "read_only", None),
    ]
    first = next(kernel for kernel in build.kernels if kernel.name == answers["names"][0])
    assert from_json(answers["kernel binary"]) == first.binary


@on_both_drivers
def test_what_is_no_program(driver_environment: DriverEnvironment, source: Path) -> None:
    errors = run_script(driver_environment, "pyopencl_program", "Intel", str(source), "")["errors"]
    expected = {
        "null": "OpenCLHandleError: the OpenCL program handle is null",
        "none": "OpenCLHandleError: an OpenCL program must be pyopencl's or an integer",
        "context": "OpenCLHandleError: this needs an OpenCL program, not pyopencl's Context",
        "unmapped": "OpenCLHandleError: the OpenCL program handle 0x8 is not an object of an installed platform",
        "beside": "OpenCLHandleError: the OpenCL program handle 0x",
    }
    assert {what: errors[what][: len(text)] for what, text in expected.items()} == expected
    assert errors["another object"].startswith("OpenCLError: clGetProgramInfo")


def test_pocl_gives_what_it_has(source: Path, tmp_path: Path) -> None:
    source.write_text("kernel void clear(global int *values) { values[get_global_id(0)] = 0; }\n")
    driver_environment = DriverEnvironment("cpu", {"POCL_CACHE_DIR": str(tmp_path)})
    answers = run_script(
        driver_environment, "pyopencl_program", "Portable Computing Language", str(source), "-cl-kernel-arg-info"
    )
    (build,) = builds_of(answers)
    assert build.sources[0].text == source.read_text()
    assert [build.binary] == [base64.b64decode(binary) for binary in answers["binaries"]]
    assert build.debug == b""
    assert "does not have the query (clGetProgramInfo(CL_PROGRAM_DEBUG_INFO_SIZES_INTEL)" in build.missing["debug"]
    (kernel,) = build.kernels
    assert (kernel.name, kernel.binary, kernel.code, kernel.origin) == ("clear", None, None, None)
    assert kernel.reason is not None
    assert "no query for a kernel's machine code" in kernel.reason
    assert "CL_KERNEL_BINARY_PROGRAM_INTEL" in answers["errors"]["kernel binary"]


@on_both_drivers
def test_two_devices_in_one_program(driver_environment: DriverEnvironment) -> None:
    from dataclasses import replace

    two = replace(driver_environment, variables={**driver_environment.variables, "CreateMultipleRootDevices": "2"})
    with IsolatedDriver(two) as driver:
        driver.build_source("program", SOURCE, DEBUG)
        builds = driver.live_builds("program", OPENCL)
    assert len(builds) == 2
    first, second = builds
    assert first.binary
    assert second.binary
    assert first.debug
    assert second.debug
    assert {kernel.origin for kernel in first.kernels} == {"CL_KERNEL_BINARY_PROGRAM_INTEL"}
    # Intel's query gives the first device's code only, so the second's is cut out of its program binary.
    assert {kernel.origin for kernel in second.kernels} == {"CL_PROGRAM_BINARIES"}
    assert all(kernel.binary and kernel.binary in second.binary for kernel in second.kernels)


@on_both_drivers
def test_programs_that_are_built_for_some_devices(driver_environment: DriverEnvironment, source: Path) -> None:
    """Both drivers answer packed sizes and write through the pointer of the device: into room for the largest."""
    from dataclasses import replace

    two = replace(driver_environment, variables={**driver_environment.variables, "CreateMultipleRootDevices": "2"})
    answers = run_script(two, "partly_built", str(source))
    first, second = answers["both"]
    assert min(first) > 0
    assert answers["first"][1] == answers["second"][0] == [0, 0, 0]
    # Names of files make a difference of some bytes between builds: temporary ones are long, and not always the same.
    for built, expected in ((answers["first"][0], first), (answers["second"][1], second)):
        assert built == pytest.approx(expected, rel=0.05)
        assert built[2] == 2
    assert sorted(answers["second names its kernels"]) == ["clear", "scale"]
    assert answers["second is missing"] == ["the program is not built for this device", None]
    assert answers["unbuilt source"] == [[0, 0, 0], [0, 0, 0]]
    assert answers["unbuilt binary"] == [[0, 0, 0]]


@on_both_drivers
def test_binaries_and_errors(driver_environment: DriverEnvironment) -> None:
    with IsolatedDriver(driver_environment) as driver:
        driver.build_source("program", SOURCE)
        (produced,) = driver.live_builds("program", OPENCL)
        assert produced.binary
        driver.request(OPENCL, "load_binary", name="again", binary=produced.binary)
        (again,) = driver.live_builds("again", OPENCL)
        assert [kernel.binary for kernel in again.kernels] == [kernel.binary for kernel in produced.kernels]
        assert again.sources == ()
        assert again.missing["sources"].startswith("the program was not made from source")
        with pytest.raises(OpenCLError, match=r"clCreateProgramWithBinary.*INVALID_BINARY.*for bad"):
            driver.request(OPENCL, "load_binary", input="bad", name="bad", binary=b"garbage!" * 10)
        with pytest.raises(OpenCLError, match=r"clBuildProgram returned CL_BUILD_PROGRAM_FAILURE.*error:") as caught:
            driver.build_source("bad", "kernel void oops(")
        assert "error:" in caught.value.log


@pytest.mark.parametrize(
    "driver_environment",
    each_run(f"{SYSTEM}/dg2", f"{NEWEST}/bmg", others=ALL_DRIVERS),
    indirect=True,
)
def test_live_objects_agree_with_files_and_the_offline_compiler(
    driver_environment: DriverEnvironment, request: pytest.FixtureRequest
) -> None:
    """Both interfaces agree with each other, with the program's own binary, and with the offline compiler's file."""
    is_newest = request.node.callspec.id in NEWEST_DRIVERS
    compiler = newest(request.getfixturevalue("newest_root")) if is_newest else DEBIAN
    # 26.27 does not compile images for pvc.
    images = [] if is_newest and driver_environment.device == "pvc" else ["darktable/nlmeans", "darktable/sharpen"]
    programs = [program(name) for name in [*images, "piglit/calls", "silx/medfilt"]]
    try:
        built, failed = build(programs, (driver_environment.device,), compiler=compiler)
    except CorpusError as error:
        pytest.skip(f"the corpus: {error}")
    assert not failed
    tally = Tally()
    toolchain = NEWEST if is_newest else SYSTEM
    for check, where in (
        (check_program, later_stepping(driver_environment)),
        (check_source, offline_environment(driver_environment.device, toolchain)),
    ):
        with IsolatedDriver(where) as driver:
            for each in built:
                tally.add(check(driver, each))
    assert tally.differences == []
    assert tally.refused == []
    assert tally.compared["kernel binary"] >= 12
    assert tally.compared["kernel of both interfaces"] >= 4
    assert tally.compared["lines of ocloc's file"] >= 4


def test_no_such_platform() -> None:
    from kernlens.errors import NotFoundError

    with IsolatedDriver(simulated_driver("dg2")) as driver:
        devices = driver.devices(OPENCL)
        assert any("Intel" in device["platform"] for device in devices)
    with (
        IsolatedDriver(DriverEnvironment("none", {"OCL_ICD_VENDORS": "/nowhere"})) as driver,
        pytest.raises(
            NotFoundError, match="no OpenCL platform 'Intel' with a device is installed here; there are: none"
        ),
    ):
        driver.build_source("program", SOURCE)
