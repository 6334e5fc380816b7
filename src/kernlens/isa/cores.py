"""The core that runs a kernel, of any vendor's device: what its occupancy is computed from."""

from __future__ import annotations

from kernlens.model.device import Device
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.occupancy import Core


def core_of(
    device: Device | None, resources: KernelResources, largest: int | None, launch_bytes: int | None
) -> Core | str:
    """Return the core with what the kernel takes of it, or why it is not known. ``largest`` is the largest work-group, None
    where the binary does not tell it; ``launch_bytes`` is the local memory that a launch adds, None where nothing tells it."""
    if device is None:
        return "the binary does not tell its device"
    if device.intel is not None:
        from kernlens.isa.intel import xe_cores

        return xe_cores.core_of(device, resources, largest, launch_bytes or 0)
    from kernlens.isa.amd import compute_units, gpu_devices
    from kernlens.isa.nvidia import multiprocessors, sass_devices

    if device.isa == gpu_devices.ISA:
        return compute_units.core_of(device, resources, largest, launch_bytes or 0)
    if device.isa == sass_devices.ISA:
        return multiprocessors.core_of(device, resources, largest, launch_bytes or 0)
    return f"{device.name} has no cores of a GPU"
