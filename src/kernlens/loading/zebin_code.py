"""The sources of the parts of a zebin's kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, cast

from kernlens.isa.devices import has_nop_behind
from kernlens.loading.kept_debug import ZebinDebug
from kernlens.loading.kernel_parts import DebugCode
from kernlens.model.device import Device, DeviceId
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel, KernelArgument
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.stated_code import StatedCode

if TYPE_CHECKING:
    from kernlens.formats.zebin.zebin_file import Zebin, ZebinKernel
    from kernlens.loading.spliced_kernels import SplicedKernel
    from kernlens.model.code_function import CodeFunction
    from kernlens.model.source_map import SourceMap


class ZebinCode(DebugCode):
    """A kernel of a zebin."""

    def __init__(
        self, zebin: Zebin, kernel: ZebinKernel, debug: ZebinDebug, device: Device | None, device_id: DeviceId
    ) -> None:
        super().__init__(kernel.code, debug, kernel.name, device, device_id)
        self._debug: ZebinDebug = debug
        #: Yields the kernels of a name in the other builds of its recording.
        self.namesakes: Callable[[str], Iterable[ZebinCode]] = lambda _: ()
        self._zebin = zebin
        self._kernel = kernel

    def heap(self) -> memoryview:
        return self._kernel.heap

    def function_symbols(self) -> Mapping[int, str | None]:
        return self._kernel.functions

    def stated_code(self) -> StatedCode:
        own, sites = self._kernel, self._zebin.sites(self._kernel)
        has_nop = has_nop_behind(self._device)
        return StatedCode(
            own.described, sites, has_nop=has_nop, ends_differ=has_nop and self.program_kernels.ends_differ
        )

    def spliced(self, kernel: Kernel) -> SplicedKernel | None:
        """Return what the kernel was spliced from; None if it was not, or that is not at hand."""
        if not self.is_shifted() or not kernel.code_change:
            return None
        known = vars(kernel)  # Whoever drops the kernel drops it.
        if "spliced" not in known:
            from kernlens.loading.spliced_kernels import spliced_kernel

            before = ((Kernel(self.name, code), code.sites()) for code in self.namesakes(self.name))
            known["spliced"] = spliced_kernel(kernel, self.sites(), self._debug.spirv, before)
        return cast("SplicedKernel | None", known["spliced"])

    def sites(self) -> list[int]:
        """Return the offsets in its code that the driver fills in."""
        return [site for site, _ in self._zebin.sites(self._kernel)]

    def change_reason(self, kernel: Kernel) -> str | None:
        if spliced := self.spliced(kernel):
            return spliced.before.line_table_reason
        from kernlens.loading.spliced_kernels import spliced_words

        return f"{super().change_reason(kernel)}{spliced_words(self.code(), self._debug.spirv)}"

    def source_map(self, kernel: Kernel) -> SourceMap | None:
        spliced = self.spliced(kernel)
        return spliced.source_map() if spliced else super().source_map(kernel)

    def functions(self, kernel: Kernel) -> tuple[CodeFunction, ...]:
        spliced = self.spliced(kernel)
        return spliced.functions if spliced else super().functions(kernel)

    def lines_need_instructions(self) -> bool:
        return self._debug.absent_lines(self.name) is None

    def set_up_bytes(self, kernel: Kernel) -> int:
        # Behind the loads the newest compiler sets the thread up, and the stack if there is one. The row that it marks as
        # the prologue's end is the first that is not of the kernel's declaration.
        # No thread begins in the pseudo-kernel, which holds the functions that kernels share.
        return kernel.line_table.prologue_end if kernel.line_table and kernel.name != PSEUDO_KERNEL else 0

    def resources(self) -> KernelResources:
        return self._zebin.resources(self._kernel)

    def arguments(self) -> tuple[KernelArgument, ...]:
        entry = self._zebin.ze_info.kernels.get(self._kernel.name) if self._zebin.ze_info else None
        return entry.arguments if entry else ()
