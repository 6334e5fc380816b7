"""CTNI debug data: one small ELF with DWARF per kernel, beside a patch-token program.

Source: ``program_debug_data.h`` of intel-graphics-compiler (``SProgramDebugDataHeaderIGC``, 28 bytes;
``SKernelDebugDataHeaderIGC``, 12 bytes; then the name, padded to 4, the vISA debug information, the GenISA debug
information). Two things differ from that text in all files seen: Size and GPUPointerSizeInBytes are 0, and the ELF with
the machine code's line table stands in the *vISA* part while the GenISA part is empty.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from kernlens.errors import FormatError
from kernlens.formats.elf import header as elf_header
from kernlens.model.binary import EMPTY, c_text
from kernlens.model.device import DeviceId

FORMAT = "debug-data"
MAGIC = b"CTNI"

_PROGRAM_HEADER = struct.Struct("<4s6I")
_KERNEL_HEADER = struct.Struct("<3I")


@dataclass(frozen=True, slots=True)
class KernelDebug:
    """A kernel's debug information. ``visa`` and ``gen_isa`` are the two parts as the format names them.

    Either may be empty. ``elf`` is the part that is an ELF (machine 182, DWARF for the machine code), empty if there is
    none; ``elf_offset`` is its first byte in the debug data.
    """

    name: str
    visa: memoryview = field(repr=False)
    gen_isa: memoryview = field(repr=False)
    elf: memoryview = field(repr=False)
    elf_offset: int


@dataclass(frozen=True, slots=True)
class DebugData:
    """Debug data of a program. ``declared_size`` and ``pointer_size`` are the header's, 0 in all files seen."""

    version: int
    device: DeviceId
    declared_size: int
    pointer_size: int
    kernels: tuple[KernelDebug, ...]
    size: int

    def kernel(self, name: str) -> KernelDebug | None:
        """The first kernel of this name, or None."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        return None


def read_debug_data(data: memoryview) -> DebugData:
    """Read CTNI debug data; ``size`` of the result is its end. Raises FormatError if it is cut off."""
    end = len(data)
    if data[:4] != MAGIC:
        raise _error("this is not CTNI debug data: it does not begin with CTNI", 0)
    if end < _PROGRAM_HEADER.size:
        raise _error(f"{end} bytes are too few for the header of {_PROGRAM_HEADER.size}: it is cut off", 0)
    _magic, version, declared_size, render_core, stepping, pointer_size, count = _PROGRAM_HEADER.unpack_from(data)
    kernels = []
    at = _PROGRAM_HEADER.size
    for index in range(count):
        if end - at < _KERNEL_HEADER.size:
            raise _error(f"header {index + 1} of {count} kernels is cut off: {end - at} bytes are left", at)
        name_size, visa_size, gen_isa_size = _KERNEL_HEADER.unpack_from(data, at)
        name_at = at + _KERNEL_HEADER.size
        visa_at = name_at + name_size
        gen_isa_at = visa_at + visa_size
        next_at = gen_isa_at + gen_isa_size
        if next_at > end:
            raise _error(f"kernel {index + 1} of {count} would end at {next_at:#x}, the data ends at {end:#x}", at)
        name = c_text(data[name_at:visa_at])
        visa, gen_isa = data[visa_at:gen_isa_at], data[gen_isa_at:next_at]
        elf, elf_offset = _elf(visa, visa_at, gen_isa, gen_isa_at)
        kernels.append(KernelDebug(name, visa, gen_isa, elf, elf_offset))
        at = next_at
    device = DeviceId(render_core=render_core, stepping=stepping)
    return DebugData(version, device, declared_size, pointer_size, tuple(kernels), at)


def _elf(visa: memoryview, visa_at: int, gen_isa: memoryview, gen_isa_at: int) -> tuple[memoryview, int]:
    """The part that is an ELF, and its place; the machine code's own part first."""
    if elf_header.is_elf(gen_isa):
        return gen_isa, gen_isa_at
    if elf_header.is_elf(visa):
        return visa, visa_at
    return EMPTY, visa_at


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format=FORMAT, offset=offset)
