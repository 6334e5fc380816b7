"""The limits of launches on Intel's GPUs, by the rules of Intel's driver.

Source: compute-runtime, releases 22.43 and 26.27: ``device_caps.cpp`` (the device's largest work-group),
``gfx_core_helper*`` (what the register file leaves of it, scratch space), ``kernel_helpers.cpp``, ``kernel.cpp`` and
``kernel_imp.cpp`` (which kernels are not created), ``hw_info_*.cpp`` (threads and shared local memory). 26.27 no longer loads
patch tokens: the older rules are for these, the newer for zebins. ``python -m tests.corpus.launch_limits`` holds the answers
against both drivers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kernlens.dataclass import NamedTuple
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


class ProgramFacts(NamedTuple):
    """Facts of a program for which a driver may refuse it or build it again: the ``kernel`` that declares the most shared local
    memory, and how many ``slm_bytes``; the first ``bindless`` kernel, "" if there is none; whether it holds SPIR-V."""

    kernel: str = ""
    slm_bytes: int = 0
    bindless: str = ""
    has_spirv: bool = True


def launch_limits(
    device: Device | None, resources: KernelResources, of_program: ProgramFacts | None = None, *, is_older: bool
) -> LaunchLimits:
    """Return the limits of a kernel's launches on the device; ``of_program`` are facts of its program (default: of a program
    with this kernel alone), ``is_older``: by the rules of drivers that load patch tokens."""
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
    program = of_program or program_facts([("it", resources)])
    level_zero = opencl = _of_program(generation, program)
    if level_zero.is_created:
        level_zero = _level_zero(device, generation, resources, of_level_zero, is_older=is_older)
        opencl = _opencl(device, generation, resources, simd, is_older=is_older)
    if program.bindless and not is_older:
        opencl = _rebuilt(program, opencl)
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


def program_facts(kernels: Iterable[tuple[str, KernelResources]], *, has_spirv: bool = True) -> ProgramFacts:
    """Return the facts of a program with these kernels."""
    listed = list(kernels)
    size, kernel = max(((resources.slm_bytes or 0, name) for name, resources in listed), default=(0, ""))
    bindless = next((name for name, resources in listed if resources.is_bindless), "")
    return ProgramFacts(kernel, size, bindless, has_spirv)


def _of_program(generation: _Generation, program: ProgramFacts) -> Creation:
    """Return the answer to the loading of the program: clBuildProgram and zeModuleCreate refuse it for one kernel."""
    if program.slm_bytes <= generation.slm:
        return Creation(True)
    words = f"{program.kernel} declares {program.slm_bytes:,} bytes of SLM, and the device has {generation.slm:,}"
    return Creation(False, words, is_of_program=True)


def _rebuilt(program: ProgramFacts, creation: Creation) -> Creation:
    """Return the answer of the newer OpenCL to a program with a bindless kernel, whose machine code it does not load."""
    if program.has_spirv:
        return replace(creation, is_rebuilt=True)
    words = f"{program.bindless} takes buffers or images by handles (bindless), and there is no SPIR-V to build again"
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
    (fewest, most), (smallest, largest) = memory
    if largest is not None and per_thread * fewest > largest:
        # The older driver does not check it: it asks for the memory, and may end the process.
        words = (
            f"{_amount(per_thread)}, of which there are {fewest:,} or more, exceed the {largest // _GB} GB of memory"
        )
        return Creation(None if is_older else False, f"{words} of the largest product, as published")
    if per_thread * most > smallest:
        words = f"{_amount(per_thread)}, of which there are up to {most:,}, may exceed the memory"
        size = (
            "host: 1 GB is taken as the least"
            if largest is None
            else f"product: {smallest // _GB} GB or more, as published"
        )
        return Creation(None, f"{words} of the {size}")
    return Creation(True)


def _amount(size: int) -> str:
    return f"{size:,} bytes of private memory for each hardware thread"
