"""Which variables a simulated device needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.toolchain import simulation
from kernlens.toolchain.simulation import simulated_devices, simulated_driver, simulated_environment
from kernlens.toolchain.toolchains import Toolchain

OLDER = Toolchain("system", None, None, "22.43.24595", None)
NEWER = Toolchain("newest", Path("/nowhere"), None, "26.27.39122", None)
UNKNOWN = Toolchain("odd", Path("/nowhere"), None, None, None)


@pytest.fixture(autouse=True)
def _no_registered_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path))
    monkeypatch.delenv("KERNLENS_NEWEST_ROOT", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_older_driver_writes_to_nowhere() -> None:
    assert simulated_environment("dg2", OLDER) == {
        "NEOReadDebugKeys": "1",
        "EnableTimestampWaitForQueues": "0",
        "SetCommandStreamReceiver": "1",
        "AUBDumpSubCaptureMode": "2",
        "AUBDumpCaptureFileName": "/dev/null",
        "ProductFamilyOverride": "dg2",
        "HardwareInfoOverride": "8x4x16",
    }


def test_newer_driver_has_a_null_device() -> None:
    assert simulated_environment("bmg", NEWER) == {
        "NEOReadDebugKeys": "1",
        "EnableTimestampWaitForQueues": "0",
        "SetCommandStreamReceiver": "5",
        "UseAubStream": "0",
        "UseExternalAllocatorForSshAndDsh": "0",
        "UseBindlessMode": "0",
        "ProductFamilyOverride": "bmg",
        "HardwareInfoOverride": "5x4x8",
    }


def test_each_driver_simulates_its_devices() -> None:
    assert simulated_devices(OLDER) == ("skl", "icllp", "tgllp", "dg2", "pvc")
    assert simulated_devices(NEWER) == ("tgllp", "dg2", "mtl", "pvc", "bmg", "lnl", "ptl")
    assert simulated_devices(UNKNOWN) == ()


def test_a_device_that_is_not_simulated() -> None:
    with pytest.raises(NotFoundError, match="does not simulate 'bmg', which is newer"):
        simulated_environment("bmg", OLDER)


@pytest.mark.parametrize("device", ["bmg", "b580", "battlemage", "0xe20b"])
def test_every_name_of_a_device_finds_the_driver_that_simulates_it(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "find_toolchains", lambda: (OLDER, NEWER))
    with pytest.raises(NotFoundError, match=f"does not simulate '{device}', but that of newest does: add --toolchain"):
        simulated_environment(device, OLDER)


def test_a_toolchain_without_a_known_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlens.toolchain.packages._packages", lambda: ("intel-opencl-icd",))
    with pytest.raises(UnsupportedError, match="apt install intel-opencl-icd"):
        simulated_environment("dg2", UNKNOWN)


def test_the_level_zero_loader_is_led_to_the_driver_of_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader looks in the system's folders alone: on Debian 13 it finds none there."""
    folder = tmp_path / "usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True)
    (folder / "ld-linux-x86-64.so.2").write_text("")
    chosen = Toolchain("newest", tmp_path, None, "26.27.39122", None)
    monkeypatch.setattr("kernlens.toolchain.simulation.toolchain", lambda name: chosen)
    assert "ZE_ENABLE_ALT_DRIVERS" not in simulated_driver("bmg").variables
    driver = folder / "libze_intel_gpu.so.1"
    driver.write_text("")
    assert simulated_driver("bmg").variables["ZE_ENABLE_ALT_DRIVERS"] == str(driver)
