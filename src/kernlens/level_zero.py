"""Live Level Zero objects: modules and kernels, their machine code, and links by the driver.

In this process, where a driver that crashes takes the application with it::

    from kernlens.level_zero import Context, LiveKernel, build_spirv, dynamic_link, first_device

    device = first_device()
    context = Context(device.driver)
    library = build_spirv(context, device, library_spirv, "-library-compilation", "library")
    kernels = build_spirv(context, device, kernels_spirv, "", "kernels")
    print(dynamic_link([kernels, library]).resolutions)
    print(len(LiveKernel.create(kernels, "blur").binary()))  # zeIntelKernelGetBinaryExp, if the driver has it

or in a child process, on a device that need not exist::

    from kernlens.level_zero import IsolatedDriver, simulated_driver

    with IsolatedDriver(simulated_driver("dg2")) as driver:
        driver.build_spirv("kernels", kernels_spirv)
        kernel = driver.kernel("kernels", "smooth")

``kernlens.from_level_zero(module)`` makes the same Program of a LiveModule as ``kernlens.load`` does of a file.
``PSEUDO_KERNEL`` is the name under which drivers list a module's functions that are no kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlens.arguments import checked
from kernlens.model.build import Build
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import ReportedKernel
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import DriverDiedError, IsolatedDriver
from kernlens.runtime.level_zero.drivers import Context, Driver, LiveDevice, drivers, first_device
from kernlens.runtime.level_zero.handle_owner import BufferTooSmallError, HandleError
from kernlens.runtime.level_zero.live_kernel import KernelProperties, LiveKernel
from kernlens.runtime.level_zero.live_module import GlobalPointer, LiveModule, build_spirv, load_native
from kernlens.runtime.level_zero.module_build import live_build
from kernlens.runtime.level_zero.module_links import (
    DynamicLink,
    ModuleLinkage,
    Resolution,
    StaticInput,
    dynamic_link,
    inspect_linkage,
    static_link,
)
from kernlens.runtime.level_zero.result_codes import LevelZeroError, RefusedCallError
from kernlens.toolchain.simulation import simulated_driver

__all__ = [
    "PSEUDO_KERNEL", "BufferTooSmallError", "Build", "Context", "Driver", "DriverDiedError", "DriverEnvironment",
    "DynamicLink", "GlobalPointer", "HandleError", "IsolatedDriver", "KernelProperties", "LevelZeroError",
    "LiveDevice", "LiveKernel", "LiveModule", "ModuleLinkage", "RefusedCallError", "ReportedKernel", "Resolution",
    "StaticInput", "build_spirv", "drivers", "dynamic_link", "first_device", "inspect_linkage", "live_build",
    "load_native", "simulated_driver", "static_link",
]  # fmt: skip

if not TYPE_CHECKING:  # The other functions tell wrong arguments themselves.
    build_spirv, live_build, load_native, static_link = (
        checked(function, __name__) for function in (build_spirv, live_build, load_native, static_link)
    )
