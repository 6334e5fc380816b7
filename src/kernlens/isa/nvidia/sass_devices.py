"""The table of NVIDIA's GPUs, by the architecture that compilers name (``sm_90``).

Source: NVIDIA's list of compute capabilities ("CUDA GPUs"). Of the products of an architecture the best known stand here.
"""

from __future__ import annotations

import re

from kernlens.model.device import Device

VENDOR, ISA = "NVIDIA", "sass"
#: Architecture, products, further names; oldest first.
_ARCHITECTURES = (
    ("sm_70", "V100, Titan V", ("volta",)),
    ("sm_72", "Jetson AGX Xavier", ("xavier",)),
    ("sm_75", "T4, RTX 20 series", ("turing",)),
    ("sm_80", "A100, A30", ("ampere",)),
    ("sm_86", "A10, A40, RTX 30 series", ()),
    ("sm_87", "Jetson AGX Orin", ("orin",)),
    ("sm_88", "Ampere for embedded systems", ()),
    ("sm_89", "L4, L40, RTX 40 series", ("ada",)),
    ("sm_90", "H100, H200, GH200", ("hopper", "h100", "h200")),
    ("sm_100", "B100, B200, GB200", ("blackwell", "b200")),
    ("sm_101", "Jetson AGX Thor, as compilers before CUDA 13 call it", ()),
    ("sm_103", "B300, GB300", ("b300",)),
    ("sm_110", "Jetson AGX Thor", ("thor",)),
    ("sm_120", "RTX 50 series, RTX PRO Blackwell", ()),
    ("sm_121", "DGX Spark (GB10)", ("gb10",)),
)
#: Every known GPU of NVIDIA's whose instructions are decoded.
NVIDIA_DEVICES = tuple(Device(name, title, VENDOR, ISA, aliases=aliases) for name, title, aliases in _ARCHITECTURES)
_BY_NAME = {name: device for device in NVIDIA_DEVICES for name in (device.name, *device.aliases)}
_NAME = re.compile(r"sm[-_](\d{2,3})[a-z]?")


def nvidia_device(name: str) -> Device | None:
    """Return the GPU of this name, whatever features stand behind it (``sm_90a``, ``sm-90``); None if there is none."""
    match = _NAME.fullmatch(name)
    return _BY_NAME.get(f"sm_{match[1]}" if match else name)


def named_architecture(name: str) -> Device | None:
    """Return the GPU of this name, or the device of an architecture that is not in the table; None if it names none."""
    match = _NAME.fullmatch(name)
    return nvidia_device(name) or (architecture_device(f"sm_{match[1]}") if match else None)


def architecture_device(architecture: str) -> Device:
    """Return the device of the architecture that a file names; one without a title if it is not in the table."""
    return nvidia_device(architecture) or Device(architecture, "", VENDOR, ISA)


def architecture_number(device: Device) -> int:
    """Return the number of a device of NVIDIA's: 90 of sm_90."""
    return int(device.name.removeprefix("sm_"))
