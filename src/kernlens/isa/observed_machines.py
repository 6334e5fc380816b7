"""GPUs as public statements describe how they move memory: the width of a sub-group, the unit of global memory, the banks of
local memory. All else stays unknown. docs/commands/observe.md names each source.
"""

from __future__ import annotations

import re

from kernlens.dataclass import replace
from kernlens.errors import UnsupportedError
from kernlens.isa.amd import gpu_devices
from kernlens.isa.nvidia import sass_devices
from kernlens.model.behaviour import ObservedMachine
from kernlens.model.device import Device

_NVIDIA = ObservedMachine(
    *(
        32,
        32,
        32,
        4,
        True,
        True,
        "NVIDIA's CUDA C++ Programming Guide and Best Practices Guide; wide accesses were measured",
    )
)
_INTEL = ObservedMachine(
    *(
        0,
        64,
        16,
        4,
        False,
        False,
        "Intel's oneAPI GPU Optimization Guide, and Developer Guide for Intel Processor Graphics",
    )
)
_AMD = ObservedMachine(64, 64, 0, 4, False, False, "LLVM's User Guide for AMDGPU Backend, and AMD's ROCm documentation")
#: The processors of AMD's whose lines are of 128 bytes: gfx94x, gfx950, and all from gfx10 on.
_LONG_LINES = re.compile(r"gfx9-?(?:4|5)\w*(?:-generic)?|gfx1\d[\w-]*")
_NARROW = re.compile(r"gfx1\d[\w-]*")


def machine_of(device: Device) -> ObservedMachine:
    """Return what is known of a device; its width is 0 where each kernel's compile decides. Raises UnsupportedError for a
    processor."""
    if device.isa == sass_devices.ISA:
        return _NVIDIA
    if device.isa == gpu_devices.ISA:
        width = 32 if _NARROW.fullmatch(device.name) else 64
        return replace(_AMD, width=width, unit=128 if _LONG_LINES.fullmatch(device.name) else 64)
    if device.intel is not None:
        return _INTEL
    raise UnsupportedError(f"how wide sub-groups of {device.name} are is not known; name no device, or --sub-group")
