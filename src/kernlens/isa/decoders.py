"""The decoders that are installed, by the device: libiga64 for Intel's GPUs, libLLVM for AMD's."""

from __future__ import annotations

from kernlens.isa.amd.gcn_decode import is_disassembled
from kernlens.isa.intel.iga_library import installed
from kernlens.model.device import Device


def is_decoded(device: Device) -> bool:
    """Return whether an installed library decodes code for the device."""
    if device.intel is None:
        return is_disassembled(device)
    return any(device.intel.iga_platform in library.platforms for library in installed())
