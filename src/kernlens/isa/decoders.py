"""The decoders of instructions, by the device: libiga64 for Intel's GPUs, libLLVM for AMD's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kernlens.isa.amd.gcn_decode import decode_gcn, is_disassembled
from kernlens.isa.amd.gpu_devices import ISA
from kernlens.isa.intel.iga_library import installed
from kernlens.model.device import Device
from kernlens.model.listed_instructions import ListedInstructions


def is_decoded(device: Device) -> bool:
    """Return whether an installed library decodes code for the device."""
    if device.intel is None:
        return is_disassembled(device)
    return any(device.intel.iga_platform in library.platforms for library in installed())


def listing_decoder(device: Device) -> Callable[[memoryview], ListedInstructions] | None:
    """Return what decodes bare instructions of the device by a listing; None if packed records do."""
    return partial(decode_gcn, device.name) if device.isa == ISA else None
