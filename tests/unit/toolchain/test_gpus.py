"""GPUs of any vendor, found by what Linux says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.toolchain.gpus import Gpu, devices_here, find_gpus
from kernlens.verbs import doctor


def pci(system: Path, address: str, kind: int, vendor: int, device: int, driver: str = "", node: str = "") -> Path:
    """Make a PCI device as sysfs has it, its node in ``dev``."""
    folder = system / "devices" / address
    (folder / "drm" / (node or "card0")).mkdir(parents=True)
    for name, number in (("class", kind), ("vendor", vendor), ("device", device)):
        (folder / name).write_text(f"{number:#x}\n")
    if driver:
        (system / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(system / "drivers" / driver)
    (system / "bus/pci/devices").mkdir(parents=True, exist_ok=True)
    (system / "bus/pci/devices" / address).symlink_to(folder)
    if node:
        (system / "class/drm").mkdir(parents=True, exist_ok=True)
        (system / "class/drm" / node).mkdir()
        (system / "class/drm" / node / "device").symlink_to(folder)
        (system / "dev").mkdir(exist_ok=True)
        (system / "dev" / node).touch()
    return folder


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return the root of a machine with five devices, one of which shows no pictures."""
    pci(tmp_path, "0000:00:02.0", 0x030000, 0x8086, 0x56A0, "xe", "renderD128")
    pci(tmp_path, "0000:01:00.0", 0x030000, 0x1002, 0x744C, "amdgpu", "renderD129")
    pci(tmp_path, "0000:02:00.0", 0x030200, 0x10DE, 0x2684, "nvidia")
    pci(tmp_path, "0000:03:00.0", 0x030000, 0x1A03, 0x2000, "ast")
    pci(tmp_path, "0000:04:00.0", 0x020000, 0x8086, 0x1533, "igb")
    return tmp_path


def test_each_gpu_is_found_once(machine: Path) -> None:
    assert list(map(str, find_gpus(machine, machine / "dev"))) == [
        f"Intel 0x56a0, driver xe, {machine}/dev/renderD128",
        f"AMD 0x744c, driver amdgpu, {machine}/dev/renderD129",
        "NVIDIA 0x2684, driver nvidia",
        "vendor 0x1a03 0x2000, driver ast",
    ]


def test_intels_gpus_are_devices_to_compile_for(machine: Path) -> None:
    pci(machine, "0000:05:00.0", 0x030000, 0x8086, 0x1912, "i915", "renderD130")
    pci(machine, "0000:06:00.0", 0x030000, 0x8086, 0x56A0, "xe", "renderD131")
    pci(machine, "0000:07:00.0", 0x030000, 0x8086, 0xFFF0)
    assert devices_here(machine) == ["dg2", "skl"], "in the order of their addresses, each once"


def test_a_gpu_that_is_no_pci_device(tmp_path: Path) -> None:
    folder = tmp_path / "devices/gpu"
    (folder / "drm/renderD128").mkdir(parents=True)
    (tmp_path / "drivers/panfrost").mkdir(parents=True)
    (folder / "driver").symlink_to(tmp_path / "drivers/panfrost")
    (tmp_path / "class/drm/card0").mkdir(parents=True)
    (tmp_path / "class/drm/card0/device").symlink_to(folder)
    (tmp_path / "class/drm/card0-HDMI-A-1").mkdir()
    assert list(map(str, find_gpus(tmp_path, tmp_path / "dev"))) == ["Arm, driver panfrost"]


def test_a_machine_without_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_gpus(tmp_path, tmp_path) == []
    monkeypatch.setattr(doctor, "find_gpus", list)
    (check,) = doctor._gpus()
    assert check.finding.startswith("none on this machine: devices can be simulated")


def test_doctor_says_of_each_what_it_is_good_for(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = find_gpus(machine, machine / "dev")
    monkeypatch.setattr(doctor, "find_gpus", lambda: gpus)
    intel, amd, nvidia, screen = doctor._gpus()
    assert intel.finding.endswith(": kernlens reads the machine code that its driver builds")
    for other in (amd, nvidia):
        assert "kernlens capture records what applications build and launch on it" in other.finding
    assert "it shows pictures and runs no kernels" in screen.finding
    assert all(check.works and not check.needed for check in (intel, amd, nvidia, screen))


def test_a_gpu_that_the_user_may_not_open(machine: Path) -> None:
    node = machine / "dev/renderD128"
    check = doctor._gpu(Gpu("Intel", 0x56A0, "xe", str(node), is_open=False))
    assert not check.works
    assert check.fix == f'sudo usermod -aG {node.group()} "$USER", then log in again'
    without = doctor._gpu(Gpu("Intel", 0x56A0, None, None, is_open=False))
    assert "without a driver: programs cannot use it" in without.finding
