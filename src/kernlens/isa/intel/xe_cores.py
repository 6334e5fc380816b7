"""The sub-slices and Xe-cores of Intel's GPUs, as Intel's occupancy calculator describes them.

Source: "Intel GPU Occupancy Calculator", ``Tools/GPU-Occupancy-Calculator`` of Intel's oneAPI samples (2026): its table of
devices and ``compute_ss_occupancy``. It halves the threads in the large register mode of Data Center Max; "oneAPI GPU
Optimization Guide", "Small Register Mode vs. Large Register Mode", and Intel's driver do so on all devices that have the mode
(``gfx_core_helper``: threads by GRF count). The calculator counts a barrier for each work-group; one with several takes as many
(``KernelHelper::getMaxWorkGroupCount`` of the driver). The engines of a core are the calculator's ``EU_Per_XeCore``.

A binary names no board. The bandwidth of memory is that of one board of each generation, by its specification (Intel ARK and
product briefs): bytes of a second by cores and by the highest clock. So is the number of cores.
"""

from __future__ import annotations

from kernlens.dataclass import NamedTuple
from kernlens.isa.intel.device_table import GEN9, GEN11, PLATFORM_TITLES, XE2, XE_HPC, XE_HPG, XE_LP
from kernlens.model.device import Device
from kernlens.model.kernel_resources import GRF, KernelResources
from kernlens.model.occupancy import Core, LocalMemory, RegisterFile

_KB = 1 << 10
_SOURCE = "Intel's GPU Occupancy Calculator"
#: The register modes: all threads, half of them.
_SMALL, _LARGE = 128, 256
_SIZES = (0, 1, 2, 4, 8, 16, 32, 64)
_FINE_SIZES = (0, 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128)


class _Board(NamedTuple):
    """A board: its name, the gigabytes that memory moves in a second, its cores, and its highest clock in GHz."""

    name: str
    bandwidth: float
    cores: int
    clock: float


class _Row(NamedTuple):
    """A row of the calculator: engines, hardware threads, kilobytes of SLM, the sizes of it for a work-group, barriers."""

    name: str
    engines: int
    threads: int
    slm: int
    sizes: tuple[int, ...]
    barriers: int
    has_large_mode: bool = True


_ROWS = {
    GEN9: _Row("sub-slice", 8, 56, 64, _SIZES, 32, has_large_mode=False),
    GEN11: _Row("sub-slice", 8, 56, 64, _SIZES, 32, has_large_mode=False),
    XE_LP: _Row("dual sub-slice", 16, 112, 64, _SIZES, 64, has_large_mode=False),
    XE_HPG: _Row("Xe-core", 16, 128, 128, _SIZES, 128),
    XE_HPC: _Row("Xe-core", 8, 64, 128, _FINE_SIZES, 64),
    XE2: _Row("Xe-core", 8, 64, 128, _FINE_SIZES, 64),
}
_BOARDS = {
    GEN9: _Board("HD Graphics 530", 34.1, 3, 1.15),
    GEN11: _Board("Iris Plus G7 (Core i7-1065G7)", 59.7, 8, 1.1),
    XE_LP: _Board("Iris Xe (Core i7-1185G7)", 68.3, 6, 1.35),
    XE_HPG: _Board("Arc A770", 560, 32, 2.1),
    XE_HPC: _Board("Data Center GPU Max 1550", 3276.8, 128, 1.6),
    XE2: _Board("Arc B580", 456, 20, 2.67),
}
#: Devices of these generations that the calculator does not list.
_UNLISTED = frozenset({"arl-h"})


def core_of(device: Device, resources: KernelResources, largest: int | None, launch_bytes: int) -> Core | str:
    """Return the core that runs a kernel whose largest work-group is ``largest``, with the SLM that a launch adds, or why it
    is not known."""
    platform = device.intel.iga_platform if device.intel is not None else 0
    row = _ROWS.get(platform)
    if row is None or device.name in _UNLISTED:
        return (
            f"Intel's occupancy calculator does not list {PLATFORM_TITLES.get(platform, device.name)} ({device.name})"
        )
    simd, registers, of_group = resources.simd, resources.grf_count, _of_group(row, resources, launch_bytes)
    if simd is None or registers is None or of_group is None or largest is None:
        return "the binary does not state the kernel's SIMD width, registers, SLM and barriers"
    local, barriers = of_group
    board = _BOARDS[platform]
    steps = ((_SMALL, row.threads), (_LARGE, row.threads // 2)) if row.has_large_mode else ((_SMALL, row.threads),)
    return Core(
        row.name,
        "hardware threads",
        slots=row.threads,
        width=simd,
        groups=row.threads,
        largest=largest,
        files=(RegisterFile(GRF, registers, steps),),
        local=local,
        barriers=barriers,
        source=_SOURCE,
        engines=row.engines,
        memory_bytes=board.bandwidth / (board.cores * board.clock),
        board=board.name,
        cores=board.cores,
    )


def _of_group(row: _Row, resources: KernelResources, launch_bytes: int) -> tuple[LocalMemory, int | None] | None:
    """Return the memory that work-groups take, and how many have their barriers; None where the binary does not state it."""
    declared, barriers = resources.slm_bytes, resources.barriers
    if declared is None or barriers is None:
        return None
    sizes = tuple(size * _KB for size in row.sizes)
    memory = LocalMemory("SLM", declared + launch_bytes, row.slm * _KB, sizes[-1], sizes)
    return memory, row.barriers // barriers if barriers else None
