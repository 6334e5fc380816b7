"""CTNI debug data: one small ELF with DWARF per kernel, beside a patch-token program.

Source: ``program_debug_data.h`` of intel-graphics-compiler: the program's header, then for each kernel its header, its
name, padded to 4 bytes, the vISA debug information and the GenISA debug information. In all files seen, two things
differ from that text: Size and GPUPointerSizeInBytes are 0, and the ELF with the machine code's line table is the
*vISA* part while the GenISA part is empty.
"""

from __future__ import annotations

import struct
from functools import cached_property

from kernlens.dataclass import NamedTuple, dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.elf import header as elf_header
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.binary import EMPTY, c_text
from kernlens.model.device import DeviceId

FORMAT = "debug-data"
MAGIC = b"CTNI"

_PROGRAM_LAYOUT = struct.Struct("<4s6I")
_KERNEL_LAYOUT = struct.Struct("<3I")


class _ProgramHeader(NamedTuple):
    """The program's header, ``SProgramDebugDataHeaderIGC``, 28 bytes. ``device`` is a render core (GFXCORE_FAMILY)."""

    magic: bytes
    version: int
    size: int
    device: int
    stepping_id: int
    gpu_pointer_size_in_bytes: int
    number_of_kernels: int


class _KernelHeader(NamedTuple):
    """A kernel's header, ``SKernelDebugDataHeaderIGC``, 12 bytes: the sizes in bytes of what follows it."""

    kernel_name_size: int
    size_visa_dbg_in_bytes: int
    size_gen_isa_dbg_in_bytes: int


@dataclass(frozen=True, slots=True)
class KernelDebug:
    """A kernel's debug information. ``visa`` and ``gen_isa`` are the two parts as the format names them.

    Either may be empty. ``elf`` is the part that is an ELF (machine 182, DWARF for the machine code), empty if neither
    is; ``elf_offset`` is that of its first byte in the debug data.
    """

    name: str
    visa: memoryview = field(repr=False)
    gen_isa: memoryview = field(repr=False)
    elf: memoryview = field(repr=False)
    elf_offset: int


@dataclass(frozen=True)
class DebugData:
    """Debug data of a program. ``declared_size`` and ``pointer_size`` are the header's, 0 in all files seen; ``size`` is
    where the data ends."""

    version: int
    device: DeviceId
    declared_size: int
    pointer_size: int
    kernels: tuple[KernelDebug, ...]
    size: int

    def kernel(self, name: str) -> KernelDebug | None:
        """Return the first kernel of this name, None if there is none."""
        return self._first_of_name.get(name)

    @cached_property
    def _first_of_name(self) -> dict[str, KernelDebug]:
        return {kernel.name: kernel for kernel in reversed(self.kernels)}


def read_debug_data(data: memoryview, allowance: Allowance | None = None) -> DebugData:
    """Read CTNI debug data. ``allowance`` is that of the whole input (None: this is it). Raises FormatError for other data
    and if it is cut off, TooManyError if the kernels are too many for the allowance."""
    end = len(data)
    if data[:4] != MAGIC:
        raise _error("this is not CTNI debug data: it does not begin with CTNI", 0)
    if end < _PROGRAM_LAYOUT.size:
        raise _error(f"{end} bytes are too few for the header of {_PROGRAM_LAYOUT.size}: it is cut off", 0)
    header = _ProgramHeader._make(_PROGRAM_LAYOUT.unpack_from(data))
    count = header.number_of_kernels
    offset = _PROGRAM_LAYOUT.size
    possible = min(count, (end - offset) // _KERNEL_LAYOUT.size)
    (allowance or Allowance(end)).count(possible, "kernels", format=FORMAT, weight=KERNEL_WEIGHT)
    kernels = []
    for number in range(1, count + 1):
        if end - offset < _KERNEL_LAYOUT.size:
            raise _error(f"header {number} of {count} kernels is cut off: {end - offset} bytes are left", offset)
        sizes = _KernelHeader._make(_KERNEL_LAYOUT.unpack_from(data, offset))
        name_start = offset + _KERNEL_LAYOUT.size
        visa_start = name_start + sizes.kernel_name_size
        gen_isa_start = visa_start + sizes.size_visa_dbg_in_bytes
        kernel_end = gen_isa_start + sizes.size_gen_isa_dbg_in_bytes
        if kernel_end > end:
            raise _error(f"kernel {number} of {count} would end at {kernel_end:#x}, the data ends at {end:#x}", offset)
        name = c_text(data[name_start:visa_start])
        visa, gen_isa = data[visa_start:gen_isa_start], data[gen_isa_start:kernel_end]
        elf, elf_offset = _elf_of_parts(visa, visa_start, gen_isa, gen_isa_start)
        kernels.append(KernelDebug(name, visa, gen_isa, elf, elf_offset))
        offset = kernel_end
    return DebugData(
        version=header.version,
        device=DeviceId(render_core=header.device, stepping=header.stepping_id),
        declared_size=header.size,
        pointer_size=header.gpu_pointer_size_in_bytes,
        kernels=tuple(kernels),
        size=offset,
    )


def _elf_of_parts(visa: memoryview, visa_start: int, gen_isa: memoryview, gen_isa_start: int) -> tuple[memoryview, int]:
    """Return the part that is an ELF, the GenISA part if both are, and its offset."""
    if elf_header.is_elf(gen_isa):
        return gen_isa, gen_isa_start
    if elf_header.is_elf(visa):
        return visa, visa_start
    return EMPTY, visa_start


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format=FORMAT, offset=offset)
