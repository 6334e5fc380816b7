"""The compute units of AMD's GPUs: what limits the wavefronts that run on one beside one another.

Source: LLVM's rules, ``AMDGPUBaseInfo.cpp`` (``IsaInfo``) and ``AMDGPUSubtarget.cpp`` of LLVM 22. Since gfx10 a work-group runs
on a pair of compute units ("work-group processor"), unless it was compiled for one (``-mcumode``).
"""

from __future__ import annotations

import re
from math import prod

from kernlens.dataclass import NamedTuple, replace
from kernlens.isa.amd.gpu_devices import wavefront_sizes
from kernlens.model.device import Device
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.occupancy import Core, LocalMemory, RegisterFile, occupancy_of

_KB = 1 << 10
_SOURCE = "LLVM's rules for AMD's GPUs"
_LARGEST = 1024


class _Family(NamedTuple):
    """Processors with the same compute units: the most ``waves`` of a SIMD, the vector registers of a SIMD's lane, how many of
    them a wavefront of 64 lanes gets at a time (one of 32 twice as many), the most that it has, and bytes of local memory."""

    names: re.Pattern[str]
    waves: int
    registers: int
    granule: int
    most: int = 256
    local: int = 64 * _KB


_FAMILIES = (
    _Family(re.compile(r"gfx7\d\d|gfx8\d\d|gfx900|gfx902|gfx904|gfx906|gfx908|gfx909|gfx90c"), 10, 256, 4),
    _Family(re.compile(r"gfx90a|gfx94[012]"), 8, 512, 8, 512),
    _Family(re.compile(r"gfx950"), 8, 512, 8, 512, 160 * _KB),
    _Family(re.compile(r"gfx101\d"), 20, 512, 4),
    _Family(re.compile(r"gfx103\d|gfx110[23]|gfx115[023]"), 16, 512, 8),
    _Family(re.compile(r"gfx110[01]|gfx1151|gfx120[01]"), 16, 768, 12),
)
#: The most scalar registers of a wavefront, and the wavefronts of a SIMD, before and from gfx8 on. Since gfx10 they limit none.
_OLD_SCALARS = ((48, 10), (56, 9), (64, 8), (72, 7), (80, 6), (1 << 10, 5))
_SCALARS = ((80, 10), (88, 9), (100, 8), (1 << 10, 7))
_WITH_PAIRS = re.compile(r"gfx1\d\d\d")


def core_of(device: Device, resources: KernelResources, largest: int | None, launch_bytes: int) -> Core | str:
    """Return the compute unit that runs a kernel, or the pair of them, with the local memory that a launch adds, or why it is
    not known."""
    family = next((family for family in _FAMILIES if family.names.fullmatch(device.name)), None)
    vectors, scalars = (resources.register_files.get(name) for name in ("VGPR", "SGPR"))
    if family is None:
        return f"LLVM's rules for the wavefronts of {device.name} are not known to kernlens"
    if vectors is None or scalars is None or largest is None:
        return "the binary does not state the kernel's registers and its largest work-group"
    has_pairs = _WITH_PAIRS.fullmatch(device.name) is not None
    is_pair = has_pairs and resources.is_of_pair
    simds = _simds(device, resources)
    width = resources.stated.get("wave_size", wavefront_sizes(device.name)[0])
    files = [RegisterFile("VGPR", vectors, _vector_steps(family, simds, 2 if width == 32 else 1))]
    if not has_pairs:
        table = _OLD_SCALARS if device.name.startswith("gfx7") else _SCALARS
        steps = tuple((most, min(waves, family.waves) * simds) for most, waves in table)
        files.append(RegisterFile("SGPR", scalars, steps))
    slots = family.waves * simds
    local = resources.stated.get("lds_bytes", 0) + launch_bytes
    return Core(
        "work-group processor" if is_pair else "compute unit",
        "wavefronts",
        slots=slots,
        width=width,
        groups=slots,
        largest=min(largest, _LARGEST),
        files=tuple(files),
        local=LocalMemory("LDS", local, family.local * (2 if is_pair else 1), family.local),
        barriers=32 if is_pair else 16,
        source=_SOURCE,
        is_alone_free=True,
    )


def waves_of_simd(device: Device, resources: KernelResources) -> int | None:
    """Return the most wavefronts of a SIMD, as LLVM's compilers state them ("Occupancy"): with the work-groups that the source
    requires, else with the largest, or small ones if more of these fit. Of registers LLVM does not ask whether whole
    work-groups fit. None where the unit is not known."""
    core = core_of(device, resources, resources.stated.get("max_work_group"), 0)
    if isinstance(core, str):
        return None
    simds = _simds(device, resources)
    required = resources.required_work_group_size
    resident = _most_resident(replace(core, files=()), prod(required) if required else None)
    by_registers = min(file.threads // simds for file in core.files)
    return max(1, min(-(-resident // simds), by_registers))


def _most_resident(core: Core, required: int | None) -> int:
    """Return the most wavefronts by the rule of ``getOccupancyWithWorkGroupSizes``, which tries the smallest and the largest
    work-group, and larger ones than the smallest of which as many fit."""
    large = occupancy_of(core, required or core.largest)
    small = occupancy_of(core, 1)
    if required or large.threads >= small.threads or not small.groups:
        return large.threads
    more = min((core.slots - small.threads) // small.groups, -(-core.largest // core.width) - 1)
    return small.threads + small.groups * more


def _simds(device: Device, resources: KernelResources) -> int:
    """Return the SIMDs that the wavefronts of a work-group share: a unit of gfx10 and later has two."""
    return 2 if _WITH_PAIRS.fullmatch(device.name) and not resources.is_of_pair else 4


def _vector_steps(family: _Family, simds: int, factor: int) -> tuple[tuple[int, int], ...]:
    """Return the most vector registers for each number of wavefronts, the most wavefronts first."""
    total, granule = family.registers * factor, family.granule * factor
    most = ((total // waves // granule * granule, waves) for waves in range(family.waves, 0, -1))
    return tuple((min(registers, family.most), waves * simds) for registers, waves in most)
