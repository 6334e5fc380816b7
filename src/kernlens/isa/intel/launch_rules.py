"""The limits of launches on Intel's GPUs, by the rules of Intel's driver.

Source: compute-runtime, releases 22.43 and 26.27: ``device_caps.cpp`` (the device's largest work-group),
``gfx_core_helper*`` (what the register file leaves of it, scratch space), ``kernel_helpers.cpp``, ``kernel.cpp`` and
``kernel_imp.cpp`` (which kernels are not created), ``hw_info_*.cpp`` (threads and shared local memory). 26.27 no longer loads
patch tokens: the older rules are for these, the newer for zebins. ``python -m tests.corpus.launch_limits`` holds the answers
against both drivers.
"""

from __future__ import annotations

from typing import NamedTuple

from kernlens.isa.intel.device_table import (
    GEN8,
    GEN9,
    GEN11,
    PLATFORM_TITLES,
    XE2,
    XE3,
    XE_HP,
    XE_HPC,
    XE_HPG,
    XE_LP,
)
from kernlens.model.device import Device
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.launch_limits import Creation, LaunchLimits

_KB, _MB, _GB = 1 << 10, 1 << 20, 1 << 30
_WIDTHS = (8, 16, 32)
#: Registers of a thread that takes the place of two.
_LARGE = 256


class _Generation(NamedTuple):
    """Facts that the devices of a generation share: the largest ``group`` of work-items, which does not depend on how many
    of its units a product has, the ``narrowest`` SIMD width, bytes of shared local memory, the most scratch space of a
    thread, and whether pairs of units run in step, so that work-groups should have an even number of threads."""

    group: int
    narrowest: int
    slm: int
    scratch: int | None = None
    is_fused: bool = False


_GENERATIONS = {
    GEN8: _Generation(256, 8, 64 * _KB),
    GEN9: _Generation(256, 8, 64 * _KB),
    GEN11: _Generation(256, 8, 64 * _KB),
    XE_LP: _Generation(512, 8, 64 * _KB, 2 * _MB, is_fused=True),
    XE_HP: _Generation(1024, 8, 64 * _KB, 256 * _KB),
    XE_HPG: _Generation(1024, 8, 64 * _KB, 256 * _KB, is_fused=True),
    XE_HPC: _Generation(1024, 16, 128 * _KB, 256 * _KB),
    XE2: _Generation(1024, 16, 128 * _KB, 256 * _KB),
    XE3: _Generation(1024, 16, 128 * _KB, 256 * _KB),
}
#: Threads of a work-group on Xe3, by the registers of each; else 64, and 32 for SIMD32.
_XE3_THREADS = {512: 16, 256: 32}
_XE3_NARROW_THREADS = {192: 40, 160: 48}


class _Memory(NamedTuple):
    """The hardware threads and the memory of a device's products: the fewest and the most of each."""

    threads: tuple[int, int]
    bytes: tuple[int, int | None]


#: Devices with memory of their own. Source: the public specifications of the products.
_MEMORIES = {
    "dg2": _Memory((2048, 4096), (8 * _GB, 16 * _GB)),
    "dg2-g11": _Memory((768, 1024), (4 * _GB, 6 * _GB)),
    "dg2-g12": _Memory((1536, 2048), (4 * _GB, 8 * _GB)),
    "pvc": _Memory((3584, 8192), (48 * _GB, 128 * _GB)),
    "bmg": _Memory((1024, 1280), (10 * _GB, 24 * _GB)),
}
#: Any other: no more threads than the largest, and a part of the host's memory, of which this much is taken for granted.
_SHARED = _Memory((0, 2048), (1 * _GB, None))
#: The older driver's OpenCL creates no kernel with more private memory, all threads together.
_LARGEST_PRIVATE = (1 << 32) - 1


class LargestSlm(NamedTuple):
    """The kernel of a program that declares the most shared local memory, and how much."""

    kernel: str = ""
    bytes: int = 0


def launch_limits(
    device: Device | None, resources: KernelResources, of_program: LargestSlm | None = None, *, is_older: bool
) -> LaunchLimits:
    """Return the limits of a kernel's launches on the device; ``of_program`` is the kernel of its program for which a driver
    may refuse all (default: itself), ``is_older``: by the rules of drivers that load patch tokens."""
    required = (resources.required_work_group_size, resources.required_sub_group_size)
    generation = (
        _GENERATIONS.get(device.intel.iga_platform) if device is not None and device.intel is not None else None
    )
    simd, registers = resources.simd, resources.grf_count
    reason = ""
    if device is None or device.intel is None:
        reason = "the binary does not tell its device"
    elif generation is None:
        title = PLATFORM_TITLES.get(device.intel.iga_platform, device.name)
        reason = f"kernlens has not compared the limits of {title} with a driver's"
    elif simd is None or registers is None:
        reason = "the binary does not state the kernel's SIMD width and registers"
    elif simd == 1:
        reason = "the limits of kernels for one lane depend on the product's configuration"
    elif simd not in _WIDTHS:
        reason = f"no device runs kernels of SIMD{simd}"
    if reason or device is None or generation is None or simd is None or registers is None:
        unknown = Creation(None, reason)
        return LaunchLimits(None, None, None, *required, unknown, unknown, reason)
    platform = device.intel.iga_platform if device.intel is not None else 0
    largest = _largest_group(platform, generation.group, simd, registers, is_older=is_older)
    # The older driver's Level Zero does not know of large register files.
    of_level_zero = generation.group if is_older else largest
    pairs = 2 if generation.is_fused and not resources.is_unfused else 1
    level_zero = opencl = _of_program(generation, of_program or _own(resources))
    if level_zero.is_created:
        level_zero = _level_zero(device, generation, resources, of_level_zero, is_older=is_older)
        opencl = _opencl(device, generation, resources, simd, is_older=is_older)
    return LaunchLimits(
        largest,
        of_level_zero // simd,
        None if platform == XE_HP else simd * pairs,
        *required,
        level_zero,
        opencl,
    )


def _largest_group(platform: int, group: int, simd: int, registers: int, *, is_older: bool) -> int:
    """Return the largest work-group: a thread with the large register file leaves room for half as many."""
    if registers == _LARGE and simd != 32 and (is_older or platform >= XE_HP):
        group //= 2
    threads = group // simd
    if platform == XE2:
        threads = min(threads, 64 if simd == 16 and registers != _LARGE else 32)
    elif platform == XE3:
        wide = 32 if simd == 32 else _XE3_NARROW_THREADS.get(registers, 64)
        threads = min(threads, _XE3_THREADS.get(registers, wide))
    return threads * simd


def _own(resources: KernelResources) -> LargestSlm:
    return LargestSlm("it", resources.slm_bytes or 0)


def _of_program(generation: _Generation, largest: LargestSlm) -> Creation:
    """Return the answer to the loading of the program: clBuildProgram and zeModuleCreate refuse it for one kernel."""
    if largest.bytes <= generation.slm:
        return Creation(True)
    words = f"{largest.kernel} declares {largest.bytes:,} bytes of SLM, and the device has {generation.slm:,}"
    return Creation(False, words, is_of_program=True)


def _level_zero(
    device: Device, generation: _Generation, resources: KernelResources, group: int, *, is_older: bool
) -> Creation:
    common = _common(device, generation, resources, is_older=is_older)
    x, y, z = resources.required_work_group_size or (0, 0, 0)
    if common.is_created is not False and x * y * z > group:
        return Creation(False, f"it requires work-groups of {x * y * z:,} work-items, and {group:,} are the most")
    return common


def _opencl(
    device: Device, generation: _Generation, resources: KernelResources, simd: int, *, is_older: bool
) -> Creation:
    if simd < generation.narrowest:
        return Creation(False, f"SIMD{simd} is narrower than the device's SIMD{generation.narrowest}")
    private = resources.thread_private_bytes or 0
    fewest, most = _MEMORIES.get(device.name, _SHARED).threads
    if is_older and private * fewest > _LARGEST_PRIVATE:
        return Creation(False, f"{_amount(private)} are more than 4 GiB on the device")
    if is_older and private * most > _LARGEST_PRIVATE:
        return Creation(None, f"{_amount(private)} may be more than 4 GiB on the device, as its products differ")
    return _common(device, generation, resources, is_older=is_older)


def _common(device: Device, generation: _Generation, resources: KernelResources, *, is_older: bool) -> Creation:
    """Return the answer of both APIs, as far as it is the same."""
    scratch, private = resources.largest_scratch_bytes, resources.thread_private_bytes
    if resources.slm_bytes is None or scratch is None or private is None:
        return Creation(None, "the binary does not state all of the kernel's memory")
    if not is_older and generation.scratch is not None and scratch > generation.scratch:
        return Creation(
            False, f"it needs {scratch:,} bytes of scratch space per thread, at most {generation.scratch:,}"
        )
    memory = _MEMORIES.get(device.name, _SHARED)
    per_thread = max(private, scratch)
    if memory.bytes[1] is not None and per_thread * memory.threads[0] > memory.bytes[1]:
        # The older driver does not check it: it asks for the memory, and may end the process.
        return Creation(None if is_older else False, f"{_amount(per_thread)} are more than the memory of the device")
    if per_thread * memory.threads[1] > memory.bytes[0]:
        return Creation(
            None, f"{_amount(per_thread)} may be more than the memory of the device, as its products differ"
        )
    return Creation(True)


def _amount(size: int) -> str:
    return f"{size:,} bytes of private memory for each hardware thread"
