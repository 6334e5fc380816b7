"""A worker's requests about Level Zero, which make modules and then refer to them by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from kernlens.errors import NotFoundError
from kernlens.model.build import Build
from kernlens.runtime.level_zero import module_links
from kernlens.runtime.level_zero.drivers import Context, LiveDevice, drivers, first_device
from kernlens.runtime.level_zero.live_kernel import LiveKernel
from kernlens.runtime.level_zero.live_module import LiveModule, build_spirv, load_native
from kernlens.runtime.level_zero.loader import open_loader
from kernlens.runtime.level_zero.module_build import live_build, reported_kernel, version_text


class LevelZeroRequests:
    """The requests about Level Zero: each method answers one with plain data, on the first device, which is the simulated
    one; ``build`` on a device of its own."""

    def __init__(self, on_call: Callable[[str], None]) -> None:
        self._on_call = on_call
        self._modules: dict[str, LiveModule] = {}

    @cached_property
    def _device(self) -> LiveDevice:
        self._on_call("zeInit")
        open_loader().on_call = self._on_call
        return first_device()

    @cached_property
    def _context(self) -> Context:
        return Context(self._device.driver)

    def devices(self) -> list[Mapping[str, Any]]:
        """List every device of every driver."""
        self._on_call("zeInit")
        return [
            {
                "name": device.name,
                "type": device.type,
                "pci_id": device.pci_id,
                "ip": None if device.ip is None else str(device.ip),
                "driver_version": version_text(driver.version),
                "extensions": sorted(driver.extensions),
            }
            for driver in drivers()
            for device in driver.devices
        ]

    def build_spirv(
        self, name: str, spirv: bytes, flags: str = "", constants: Sequence[tuple[int, int]] = ()
    ) -> Mapping[str, Any]:
        """Make module ``name`` from SPIR-V."""
        return self._keep(build_spirv(self._context, self._device, spirv, flags, name, constants))

    def load_native(self, name: str, binary: bytes, flags: str = "") -> Mapping[str, Any]:
        """Make module ``name`` from a native binary."""
        return self._keep(load_native(self._context, self._device, binary, flags, name))

    def static_link(self, name: str, inputs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Make module ``name`` from several SPIR-V modules."""
        modules = [module_links.StaticInput(**item) for item in inputs]
        return self._keep(module_links.static_link(self._context, self._device, modules, name))

    def static_link_natives(self, name: str, inputs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Make module ``name`` from several native binaries."""
        natives = [module_links.NativeInput(**item) for item in inputs]
        return self._keep(module_links.static_link_natives(self._context, self._device, natives, name))

    def dynamic_link(self, names: Sequence[str]) -> object:
        """Link the modules of these names with each other."""
        return module_links.dynamic_link([self._module(name) for name in names])

    def inspect_linkage(self, names: Sequence[str]) -> object:
        """Return the exports and imports of the modules of these names."""
        return module_links.inspect_linkage([self._module(name) for name in names])

    def function_pointer(self, module: str, name: str) -> int:
        """Return the device address of an exported function or a kernel."""
        return self._module(module).function_pointer(name)

    def global_pointer(self, module: str, name: str) -> object:
        """Return where an exported variable lies on the device."""
        return self._module(module).global_pointer(name)

    def kernel(self, module: str, name: str) -> object:
        """Return a kernel's machine code and properties."""
        with LiveKernel.create(self._module(module), name) as kernel:
            return reported_kernel(kernel)

    def live_builds(self, name: str) -> list[object]:
        """Return all that module ``name`` holds."""
        return [live_build(self._module(name))]

    def build(self, device_name: str, modules: Sequence[Mapping[str, Any]], linked: bool) -> Build:
        """Make a module from SPIR-V for the first device of that name; if it is ``linked``, of several in one call. Each is
        what StaticInput holds, whose flags the driver gets as they are.

        Raises NotFoundError if there is no such device, LevelZeroError or RefusedCallError if it does not build.
        """
        self._on_call("zeInit")
        open_loader().on_call = self._on_call
        devices = [device for driver in drivers() for device in driver.devices]
        device = next((device for device in devices if device.name.strip() == device_name), None)
        if device is None:
            names = ", ".join(dict.fromkeys(device.name for device in devices)) or "none"
            raise NotFoundError(f"there is no Level Zero device {device_name!r}; there are: {names}")
        context = Context(device.driver)
        inputs = [module_links.StaticInput(**module) for module in modules]
        if linked:
            module = module_links.static_link(context, device, inputs, as_given=True)
        else:
            (only,) = inputs
            module = build_spirv(context, device, only.spirv, only.flags, constants=only.constants)
        return live_build(module, kernels=())

    def _keep(self, module: LiveModule) -> Mapping[str, Any]:
        self._modules[module.name] = module
        return {
            "log": module.build_log,
            "has_imports": module.has_imports,
            "kernel_names": module.kernel_names,
            "has_pseudo_kernel": module.has_pseudo_kernel,
        }

    def _module(self, name: str) -> LiveModule:
        module = self._modules.get(name)
        if module is None:
            raise NotFoundError(f"the worker has no module {name!r}; it has: {', '.join(self._modules) or 'none'}")
        return module
