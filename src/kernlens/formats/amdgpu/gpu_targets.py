"""The target of a code object: the processor that its header names, and the features that it was built for.

Source: LLVM's "User Guide for AMDGPU Backend", "ELF Code Object", "Header" (``EF_AMDGPU_MACH_AMDGCN_*``,
``EF_AMDGPU_FEATURE_*``) and "Target ID".
"""

from __future__ import annotations

from kernlens.dataclass import dataclass

#: ``EF_AMDGPU_MACH``: the processor, the lowest byte of ``e_flags``; below 0x20 are those before GCN, which have no HSA.
_MACH = 0xFF
_MACHINES = {
    0x20: "gfx600", 0x21: "gfx601", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703", 0x26: "gfx704",
    0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x2B: "gfx810", 0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904",
    0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012",
    0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3A: "gfx602", 0x3B: "gfx705", 0x3C: "gfx805",
    0x3D: "gfx1035", 0x3E: "gfx1034", 0x3F: "gfx90a", 0x40: "gfx940", 0x41: "gfx1100", 0x42: "gfx1013", 0x43: "gfx1150",
    0x44: "gfx1103", 0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102", 0x48: "gfx1200", 0x49: "gfx1250", 0x4A: "gfx1151",
    0x4B: "gfx941", 0x4C: "gfx942", 0x4E: "gfx1201", 0x4F: "gfx950", 0x51: "gfx9-generic", 0x52: "gfx10-1-generic",
    0x53: "gfx10-3-generic", 0x54: "gfx11-generic", 0x55: "gfx1152", 0x58: "gfx1153", 0x59: "gfx12-generic",
    0x5F: "gfx9-4-generic",
}  # fmt: skip
#: By ABI version: code object 3 has a bit for each feature, later ones two: 2 is off, 3 is on, else it does not matter.
_OF_VERSION_3 = {"xnack": 0x100, "sramecc": 0x200}
_SHIFTS = {"xnack": 8, "sramecc": 10}
_SETTINGS = {2: False, 3: True}


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """A processor, ``gfx90a``, and the features that the code needs on (True) or off (False); others do not matter."""

    processor: str
    features: tuple[tuple[str, bool], ...] = ()

    def __str__(self) -> str:
        """Return the target as compilers are told it: ``gfx90a:sramecc+:xnack-``."""
        return ":".join([self.processor, *(f"{name}{'+' if on else '-'}" for name, on in sorted(self.features))])


def target_of(flags: int, abi_version: int) -> GpuTarget | None:
    """Return the target that a header's ``e_flags`` state; None for a processor that is not in the table."""
    processor = _MACHINES.get(flags & _MACH)
    if processor is None:
        return None
    if abi_version <= 1:
        settings = {name: True for name, bit in _OF_VERSION_3.items() if flags & bit}
    else:
        values = {name: flags >> shift & 3 for name, shift in _SHIFTS.items()}
        settings = {name: _SETTINGS[value] for name, value in values.items() if value in _SETTINGS}
    return GpuTarget(processor, tuple(sorted(settings.items())))
