"""The multiprocessors of NVIDIA's GPUs: what limits the thread blocks that run on one beside one another.

Source: NVIDIA's "CUDA C++ Programming Guide", "Compute Capabilities", with the numbers as libcu++ has them
(``cuda/__device/arch_traits.h``), and the rules of ``cuda_occupancy.h`` of CUDA 13.0: registers are given to warps, 256 at a
time, by each of four partitions; shared memory in units of 128 bytes, with 1 KB more for each block from Ampere on.
"""

from __future__ import annotations

from kernlens.dataclass import NamedTuple
from kernlens.isa.nvidia.sass_devices import architecture_number
from kernlens.model.device import Device
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.occupancy import Core, LocalMemory, RegisterFile

_KB = 1 << 10
_SOURCE = "NVIDIA's CUDA Programming Guide and cuda_occupancy.h"
_WARP = 32
#: Registers of a partition, partitions of a multiprocessor, and registers of a warp are a multiple of the last.
_PARTITION, _PARTITIONS, _GRANULE = 16384, 4, 256
#: The most that a thread may have.
_MOST_REGISTERS = 255
_LARGEST_BLOCK = 1024
_AMPERE = 80


class _Row(NamedTuple):
    """A column of the guide's table: warps, blocks and kilobytes of shared memory of a multiprocessor; all that the driver
    leaves of the memory may be one block's. ``barriers`` limit blocks from Hopper on."""

    warps: int
    blocks: int
    shared: int
    barriers: int | None = None


_ROWS = {
    70: _Row(64, 32, 96),
    75: _Row(32, 16, 64),
    80: _Row(64, 32, 164),
    86: _Row(48, 16, 100),
    87: _Row(48, 16, 164),
    88: _Row(48, 16, 100),
    89: _Row(48, 24, 100),
    90: _Row(64, 32, 228, 64),
    100: _Row(64, 32, 228, 64),
    103: _Row(64, 32, 228, 64),
    110: _Row(48, 24, 228, 24),
    120: _Row(48, 24, 100, 24),
    121: _Row(48, 24, 100, 24),
}


def core_of(device: Device, resources: KernelResources, largest: int | None, launch_bytes: int) -> Core | str:
    """Return the multiprocessor that runs a kernel, with the shared memory that a launch adds, or why it is not known."""
    number = architecture_number(device)
    row, registers = _ROWS.get(number), resources.register_files.get("registers")
    if row is None:
        return f"the limits of a multiprocessor of {device.name} are in none of NVIDIA's tables that kernlens has"
    if registers is None:
        return "the binary does not state the kernel's registers"
    reserved = _KB if number >= _AMPERE else 0
    size = row.shared * _KB
    shared = resources.stated.get("shared_bytes", 0) + launch_bytes
    return Core(
        "multiprocessor",
        "warps",
        slots=row.warps,
        width=_WARP,
        groups=row.blocks,
        largest=min(largest or _LARGEST_BLOCK, _LARGEST_BLOCK),
        files=(RegisterFile("register", registers, _steps(row.warps)),),
        local=LocalMemory("shared memory", shared, size, size - reserved, (), _granule(number), reserved),
        barriers=row.barriers // resources.barriers if row.barriers and resources.barriers else None,
        source=_SOURCE,
    )


def _granule(number: int) -> int:
    return 128 if number >= _AMPERE else 256


def _steps(warps: int) -> tuple[tuple[int, int], ...]:
    """Return the most registers of a thread for each number of warps that partitions run, the most warps first."""
    most = range(warps // _PARTITIONS, 0, -1)
    by_warps = [(_PARTITION // count // _GRANULE * _GRANULE // _WARP, count * _PARTITIONS) for count in most]
    return tuple((min(registers, _MOST_REGISTERS), count) for registers, count in by_warps)
