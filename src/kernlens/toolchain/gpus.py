"""The GPUs of this machine, of any vendor, as Linux knows them, and the drivers that run them.

Source: the kernel's sysfs-pci(5) and sysfs-class-drm: ``class`` 0x03... is a display controller, ``driver`` a link to the
driver that has it, ``drm/renderD*`` the node that programs open. GPUs that are no PCI devices have a node alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.isa.devices import known_device

_SYSTEM, _NODES = Path("/sys"), Path("/dev/dri")
_VENDORS = {0x8086: "Intel", 0x1002: "AMD", 0x10DE: "NVIDIA", 0x1AF4: "virtio", 0x15AD: "VMware", 0x1234: "QEMU"}
#: The drivers of Intel's GPUs.
INTEL_DRIVERS = ("i915", "xe")
#: NVIDIA's own driver, whose machine code kernlens finds.
NVIDIA_DRIVERS = ("nvidia",)
#: Drivers of screens: they compute nothing.
_SCREENS = frozenset(
    ("ast", "bochs", "bochs-drm", "cirrus", "hyperv_drm", "mgag200", "qxl", "simpledrm", "simple-framebuffer", "vboxvideo")
)  # fmt: skip
_PLATFORM_VENDORS = {"panfrost": "Arm", "panthor": "Arm", "lima": "Arm", "msm": "Qualcomm", "v3d": "Broadcom"}


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: its vendor, its PCI device id (None if it is no PCI device), the driver's name, None if none has it, and the
    node below /dev/dri that programs open; ``is_open`` tells whether this user may."""

    vendor: str
    device_id: int | None
    driver: str | None
    node: str | None
    is_open: bool

    @property
    def is_screen(self) -> bool:
        """True if it only shows pictures."""
        return self.driver in _SCREENS

    def __str__(self) -> str:
        device = f" 0x{self.device_id:04x}" if self.device_id is not None else ""
        driver = f"driver {self.driver}" if self.driver else "without a driver"
        return f"{self.vendor}{device}, {driver}{f', {self.node}' if self.node else ''}"


def find_gpus(system: Path = _SYSTEM, nodes: Path = _NODES) -> list[Gpu]:
    """Return the GPUs in the order of their addresses; none where Linux does not tell."""
    return [_gpu(folder, nodes) for folder in sorted(set(_folders(system)))]


def devices_here(system: Path = _SYSTEM) -> list[str]:
    """Return the names of this machine's GPUs that machine code can be decoded of: Intel's, which the table of devices has."""
    ids = [gpu.device_id for gpu in find_gpus(system) if gpu.vendor == _VENDORS[0x8086]]
    known = [known_device(f"0x{number:04x}") for number in ids if number is not None]
    return list(dict.fromkeys(each.name for each in known if each is not None))


def _folders(system: Path) -> Iterator[Path]:
    for device in _inside(system / "bus/pci/devices"):
        if _number(device / "class") >> 16 == 0x03:
            yield device.resolve()
    for node in _inside(system / "class/drm"):
        if node.name.startswith(("card", "renderD")) and "-" not in node.name and (node / "device").exists():
            yield (node / "device").resolve()


def _gpu(folder: Path, nodes: Path) -> Gpu:
    driver = (folder / "driver").resolve().name if (folder / "driver").exists() else None
    node = next((nodes / each.name for each in _inside(folder / "drm") if each.name.startswith("renderD")), None)
    is_pci = (folder / "vendor").exists()
    vendor = _VENDORS.get(_number(folder / "vendor"), f"vendor 0x{_number(folder / 'vendor'):04x}")
    return Gpu(
        vendor if is_pci else _PLATFORM_VENDORS.get(driver or "", "a GPU of the chip"),
        _number(folder / "device") if is_pci else None,
        driver,
        str(node) if node is not None and node.exists() else None,
        node is not None and os.access(node, os.R_OK | os.W_OK),
    )


def _inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _number(path: Path) -> int:
    """Return the hexadecimal number in a file; 0 if there is none."""
    try:
        return int(path.read_text("ascii").strip(), 16)
    except (OSError, ValueError):
        return 0
