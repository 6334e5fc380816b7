"""A second build in a worker, whose compiler keeps its stages: one Level Zero module for one device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlens.errors import NotFoundError
from kernlens.model.build import Build
from kernlens.runtime.level_zero.drivers import Context, LiveDevice, drivers
from kernlens.runtime.level_zero.live_module import build_spirv
from kernlens.runtime.level_zero.loader import open_loader
from kernlens.runtime.level_zero.module_build import live_build
from kernlens.runtime.level_zero.module_links import StaticInput, static_link


class SecondBuildRequests:
    """The request ``build``, which stands beside those of ``LevelZeroRequests``."""

    def __init__(self, on_call: Callable[[str], None]) -> None:
        self._on_call = on_call

    def build(self, device_name: str, modules: Sequence[Mapping[str, Any]], linked: bool) -> Build:
        """Make a module from SPIR-V for the first device of that name; if it is ``linked``, of several in one call. Each is
        what StaticInput holds, whose flags the driver gets as they are.

        Raises NotFoundError if there is no such device, LevelZeroError or RefusedCallError if it does not build.
        """
        self._on_call("zeInit")
        open_loader().on_call = self._on_call
        device = _device(device_name)
        context = Context(device.driver)
        inputs = [StaticInput(**module) for module in modules]
        if linked:
            module = static_link(context, device, inputs, as_given=True)
        else:
            (only,) = inputs
            module = build_spirv(context, device, only.spirv, only.flags, constants=only.constants)
        return live_build(module, kernels=())


def _device(name: str) -> LiveDevice:
    devices = [device for driver in drivers() for device in driver.devices]
    for device in devices:
        if device.name.strip() == name:
            return device
    names = ", ".join(dict.fromkeys(device.name for device in devices)) or "none"
    raise NotFoundError(f"there is no Level Zero device {name!r}; there are: {names}")
