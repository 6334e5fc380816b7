"""The sources of the parts of a patch-token program's kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernlens.loading.kept_debug import ProgramDebug
from kernlens.loading.kernel_parts import DebugCode
from kernlens.model.device import Device, DeviceId
from kernlens.model.kernel import KernelArgument
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.stated_code import StatedCode

if TYPE_CHECKING:
    from kernlens.formats.patch_tokens.program_binary import PatchTokenKernel


class PatchTokenCode(DebugCode):
    """A kernel of a patch-token program."""

    is_for_older_drivers = True

    def __init__(
        self, kernel: PatchTokenKernel, debug: ProgramDebug, device: Device | None, device_id: DeviceId
    ) -> None:
        super().__init__(kernel.code, debug, kernel.name, device, device_id)
        self._kernel = kernel

    def heap(self) -> memoryview:
        return self._kernel.heap

    def stated_code(self) -> StatedCode:
        return StatedCode(copy=self._debug.code_copy(self.name))

    def function_symbols(self) -> Mapping[int, str | None] | None:
        functions = (symbol for symbol in self._kernel.symbols if symbol.type == "func" and symbol.kind == "export")
        return {symbol.value: symbol.name for symbol in functions} or None

    def resources(self) -> KernelResources:
        return self._kernel.resources()

    def arguments(self) -> tuple[KernelArgument, ...]:
        return self._kernel.arguments()

    def payload_load_bytes(self) -> int:
        return self._kernel.payload_load_bytes()
