"""Level Zero through ctypes: drivers, devices, modules, kernels, linking.

What lies here imports nothing but the standard library, ``kernlens.errors``, ``kernlens.model`` and, to read a
module's own binary, ``kernlens.formats``: it runs in a toolchain's root that holds a bare Python.
"""

from __future__ import annotations

from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.runtime.level_zero.drivers import Context, Driver, LiveDevice, drivers, first_device
from kernlens.runtime.level_zero.handle_owner import BufferTooSmallError, HandleError
from kernlens.runtime.level_zero.live_kernel import KernelProperties, LiveKernel
from kernlens.runtime.level_zero.live_module import GlobalPointer, LiveModule, build_spirv, load_native
from kernlens.runtime.level_zero.module_build import live_build
from kernlens.runtime.level_zero.module_links import (
    DynamicLink,
    ModuleLinkage,
    StaticInput,
    dynamic_link,
    inspect_linkage,
    static_link,
)
from kernlens.runtime.level_zero.result_codes import LevelZeroError, RefusedCallError

__all__ = [
    "PSEUDO_KERNEL",
    "BufferTooSmallError",
    "Context",
    "Driver",
    "DynamicLink",
    "GlobalPointer",
    "HandleError",
    "KernelProperties",
    "LevelZeroError",
    "LiveDevice",
    "LiveKernel",
    "LiveModule",
    "ModuleLinkage",
    "RefusedCallError",
    "StaticInput",
    "build_spirv",
    "drivers",
    "dynamic_link",
    "first_device",
    "inspect_linkage",
    "live_build",
    "load_native",
    "static_link",
]
