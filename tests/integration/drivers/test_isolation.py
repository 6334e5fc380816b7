"""Real drivers that exit, crash, hang, or are not there: each a clear error, and the caller lives."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from kernlens.errors import ToolError
from kernlens.level_zero import LevelZeroError, RefusedCallError
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import LEVEL_ZERO, OPENCL, DriverDiedError, IsolatedDriver
from kernlens.toolchain.simulation import simulated_driver
from kernlens.toolchain.toolchains import NEWEST
from tests.integration.drivers.live_fixtures import BOTH, LIBRARY, driver_environment, modules

__all__ = ["driver_environment", "modules"]

on_both_drivers = pytest.mark.parametrize("driver_environment", BOTH, indirect=True)
CALLS = {LEVEL_ZERO: "zeModuleCreate", OPENCL: "clBuildProgram"}


@on_both_drivers
@pytest.mark.parametrize("api", CALLS)
def test_driver_that_exits(driver_environment: DriverEnvironment, api: str, modules: dict[str, bytes]) -> None:
    """SPIR-V that asks for instructions of an unknown set makes both compilers end the process."""
    damaged = modules["plain"].replace(b"OpenCL.std", b"OpenCL.xyz")
    assert damaged != modules["plain"]
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("first", modules["plain"], api=api)
        with pytest.raises(DriverDiedError, match="ended the process with exit status") as caught:
            driver.build_spirv("damaged.spv", damaged, api=api)
        error = caught.value
        assert (error.call, error.device, error.input) == (CALLS[api], driver_environment.device, "damaged.spv")
        assert error.status == (7 if "UseAubStream" in driver_environment.variables else 1)
        assert "InvalidBuiltinSetName" in error.log
        # A new worker answers the next request.
        driver.build_spirv("second", modules["plain"], api=api)
        assert driver.live_builds("second", api)[0].kernels


@on_both_drivers
def test_garbage_is_refused_before_the_call(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        for garbage in (b"garbage!" * 10, b"", modules["plain"][:-2], overrun(modules["plain"])):
            with pytest.raises(RefusedCallError, match=r"zeModuleCreate was not called on .* for garbage"):
                driver.build_spirv("garbage", garbage)
        assert driver.build_spirv("plain", modules["plain"])["kernel_names"]


@pytest.mark.parametrize("driver_environment", ["system/skl"], indirect=True)
def test_driver_that_crashes(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    """The old driver's crash on libraries, where nothing refuses it: OpenCL takes the flag as well."""
    with IsolatedDriver(driver_environment) as driver:
        with pytest.raises(DriverDiedError, match=r"crashed \(SIGSEGV\) in clBuildProgram on skl for items") as caught:
            driver.build_spirv("items", modules["items"], LIBRARY, OPENCL)
        assert caught.value.status == -signal.SIGSEGV
        driver.build_spirv("items", modules["items"], "", OPENCL)


@pytest.mark.parametrize("driver_environment", [f"{NEWEST}/bmg"], indirect=True)
def test_driver_that_hangs(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment, time_limit=5) as driver:
        with pytest.raises(DriverDiedError, match=r"did not come back from clBuildProgram within 5 s .* for overrun"):
            driver.build_spirv("overrun", overrun(modules["plain"]), api=OPENCL)
        driver.build_spirv("plain", modules["plain"], api=OPENCL)


def overrun(spirv: bytes) -> bytes:
    """``spirv`` with its first function parameter turned into a bit-field insertion that is longer than the module."""
    words = list(struct.unpack(f"<{len(spirv) // 4}I", spirv))
    at = 5
    while words[at] & 0xFFFF != 55:
        at += words[at] >> 16
    words[at] = 0x9018_0000 | 201
    return struct.pack(f"<{len(words)}I", *words)


def test_no_driver() -> None:
    with (
        IsolatedDriver(DriverEnvironment("none", {"ZE_ENABLE_ALT_DRIVERS": "/nowhere/libze.so"})) as driver,
        pytest.raises(LevelZeroError, match=r"zeInit returned ZE_RESULT_ERROR_UNINITIALIZED.*/nowhere/libze.so"),
    ):
        driver.devices()


def test_driver_without_a_device() -> None:
    """The real driver, not simulated, on a machine without Intel's hardware."""
    if list(Path("/dev/dri").glob("renderD*")):
        pytest.skip("this machine has a graphics device")
    with (
        IsolatedDriver(DriverEnvironment("none")) as driver,
        pytest.raises(LevelZeroError, match=r"UNINITIALIZED.*or simulate a device"),
    ):
        driver.devices()


@pytest.mark.usefixtures("user_namespaces")
def test_no_loader(newest_root: Path) -> None:
    """A root that has Python and no Level Zero loader: an empty folder in place of its libraries."""
    usual = simulated_driver("bmg", NEWEST)
    bare = DriverEnvironment("bmg", usual.variables, ("unshare", "-rm", "sh", "-c", HIDE_LOADER, *usual.python))
    library = next(newest_root.glob("usr/lib/*/libze_loader.so.1")).resolve()
    system = Path("/usr/lib/x86_64-linux-gnu/libze_loader.so.1").resolve()
    hidden = DriverEnvironment("bmg", {**bare.variables, "HIDDEN": f"{library} {system}"}, bare.python)
    with (
        IsolatedDriver(hidden) as driver,
        pytest.raises(ToolError, match=r"libze_loader\.so\.1 cannot be opened.*libze1"),
    ):
        driver.devices()


#: Covers the loaders with empty files, in a mount namespace of its own.
HIDE_LOADER = 'for file in $HIDDEN; do mount --bind /dev/null "$file"; done; exec "$0" "$@"'
#: The root as the whole file system; its driver wants /proc, and nothing made device nodes in it, as its packages are only
#: unpacked.
CONFINE = (
    'mkdir -p "$0/proc" "$0/dev" && mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"'
)


def test_confined_to_a_root_with_a_bare_python(newest_root: Path, modules: dict[str, bytes]) -> None:
    """The root's own Python, which has the standard library and nothing else, sees only the root's files."""
    variables = simulated_driver("bmg", NEWEST).variables
    # Those that name the root's files from outside; within, its loaders find the drivers by themselves.
    inside = {name: value for name, value in variables.items() if str(newest_root) not in (value or "")}
    python = ("unshare", "-m", "sh", "-c", CONFINE, str(newest_root), "/usr/bin/python3")
    if os.geteuid() != 0:
        python = ("unshare", "-rm", *python[2:])
    try:
        subprocess.run([*python, "-c", ""], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a root as the whole file system: {error}")
    confined = DriverEnvironment("bmg", inside, python, root=newest_root)
    with IsolatedDriver(confined) as driver, IsolatedDriver(simulated_driver("bmg", NEWEST)) as usual:
        for each in (driver, usual):
            each.build_spirv("exporter", modules["exporter"], LIBRARY)
            each.build_spirv("importer", modules["importer"])
            assert each.dynamic_link(["importer", "exporter"]).linked
            each.build_spirv("plain", modules["plain"], api=OPENCL)
        for name, api in (("importer", LEVEL_ZERO), ("plain", OPENCL)):
            assert driver.live_builds(name, api)[0].kernels == usual.live_builds(name, api)[0].kernels
        assert driver.live_builds("importer")[0].log == usual.live_builds("importer")[0].log
    assert not list((newest_root / "tmp").glob("kernlens-????????"))


@on_both_drivers
def test_nothing_is_written(driver_environment: DriverEnvironment, modules: dict[str, bytes], tmp_path: Path) -> None:
    """Simulation would dump its command stream into the working folder."""
    before = set(Path.cwd().iterdir())
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("plain", modules["plain"])
        driver.live_builds("plain")
    assert set(Path.cwd().iterdir()) == before
