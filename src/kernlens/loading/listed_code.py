"""The parts of kernels whose decoders give listings, and their programs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING
from zlib import crc32

from kernlens.dataclass import dataclass, field
from kernlens.errors import ToolError, UnsupportedError
from kernlens.loading.analysed_code import AnalysedCode
from kernlens.loading.kept_debug import LinesDebug
from kernlens.loading.kernel_parts import DebugCode
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.spills import SPILL_COSTS
from kernlens.model.stated_code import StatedCode

if TYPE_CHECKING:
    from kernlens.model.allowance import Allowance
    from kernlens.model.build import Build
    from kernlens.model.device import Device
    from kernlens.model.instruction import Instructions
    from kernlens.model.kernel import Kernel, KernelArgument
    from kernlens.model.line_table import LineTable
    from kernlens.model.waits import Waits


@dataclass(frozen=True, slots=True)
class ListedKernel:
    """A kernel as the reader of its container has it; offsets are from the start of its ``code``, which has no padding.

    ``find_instructions`` decodes the code and raises UnsupportedError where nothing that can is installed. ``find_lines``
    gives its part of the line table, None where there is none, and then ``line_reason`` says why; the table is not
    decoded for that. ``functions`` are those in its code that stayed calls, by their symbols: offset -> name; None where
    the binary has no symbols. ``instruction_bytes`` is the size of each instruction, 0 if they differ. ``find_waits`` gives
    what is known of its waits, and raises UnsupportedError where nothing is; without it ``waits_reason`` says why.
    ``spills_nothing``: the compiler states so. Else
    its spills are not known: a listing does not tell an access that saves a register from another of the same memory.
    ``begins_own`` is that of ``SourceMap``. ``is_described``: its line table ends where its code does. ``is_entry``: it is no
    function that kernels call.
    """

    name: str
    code: memoryview
    find_instructions: Callable[[], Instructions] = field(repr=False)
    resources: KernelResources = field(default_factory=KernelResources)
    arguments: tuple[KernelArgument, ...] = ()
    find_lines: Callable[[], LineTable | None] = field(default=lambda: None, repr=False)
    line_reason: str | None = None
    functions: Mapping[int, str | None] | None = None
    instruction_bytes: int = 0
    find_waits: Callable[[Instructions], Waits] | None = field(default=None, repr=False)
    spills_nothing: bool = False
    waits_reason: str = ""
    begins_own: bool = True
    is_described: bool = False
    is_entry: bool = True


class ListedDebug(LinesDebug):
    """The line tables of such kernels, and what else their build kept."""

    def __init__(self, kernels: Iterable[ListedKernel], build: Build, allowance: Allowance) -> None:
        super().__init__(build, allowance)
        self._kernels = {kernel.name: kernel for kernel in kernels}

    def line_table(self, name: str) -> LineTable | None:
        return self._kernels[name].find_lines()

    def line_table_reason(self, name: str) -> str | None:
        return self._kernels[name].line_reason


class ListedCode(DebugCode):
    """A kernel whose decoder gives a listing. What only packed records tell is None, with a reason."""

    def __init__(self, kernel: ListedKernel, debug: ListedDebug, device: Device | None) -> None:
        super().__init__(kernel.code, debug, kernel.name, device, None)
        self._kernel = kernel
        self._looked_up: Waits | str | None = None

    def begins_own(self) -> bool:
        return self._kernel.begins_own

    def stages_by(self) -> str:
        return ""

    def stated_code(self) -> StatedCode | None:
        return StatedCode() if self._kernel.is_described else None

    def held_instructions(self, kernel: Kernel) -> None:
        """Return nothing: of a listing, the ends alone are compared."""

    def is_entry(self) -> bool:
        return self._kernel.is_entry

    def instructions(self) -> Instructions:
        return self._kernel.find_instructions()

    def is_decoded_with_others(self) -> bool:
        return False

    def lines_need_instructions(self) -> bool:
        return False

    def instruction_count(self, kernel: Kernel) -> int:
        size = self._kernel.instruction_bytes
        return len(self._kernel.code) // size if size else len(kernel.instructions)

    def trailer(self) -> None:
        return None

    def operations(self, kernel: Kernel) -> bytes:
        byte_of = {opcode: crc32(opcode.encode()) & 0xFF for opcode in set(kernel.instructions.opcodes)}
        return bytes(map(byte_of.__getitem__, kernel.instructions.opcodes))

    def resources(self) -> KernelResources:
        return self._kernel.resources

    launch_limits = AnalysedCode.launch_limits

    def arguments(self) -> tuple[KernelArgument, ...]:
        return self._kernel.arguments

    def function_symbols(self) -> Mapping[int, str | None] | None:
        return self._kernel.functions

    def may_call(self) -> bool:
        return bool(self._kernel.functions)

    def may_call_by_address(self) -> bool:
        return self.may_call()

    def costs(self, kernel: Kernel) -> Mapping[str, int]:
        from kernlens.analysis.costs import Costs

        costs = super().costs(kernel)
        if self._kernel.spills_nothing:
            return costs
        return Costs((key, cost) for key, cost in costs.items() if key not in SPILL_COSTS)

    def advice_reason(self) -> str | None:
        return f"there is no advice on {self._isa}: the rules read what instructions of Intel's GPUs do"

    def waits(self, kernel: Kernel) -> Waits | None:
        answer = self._waits_or_reason(kernel)
        return None if isinstance(answer, str) else answer

    def waits_reason(self, kernel: Kernel) -> str | None:
        answer = self._waits_or_reason(kernel)
        return answer if isinstance(answer, str) else None

    def simulates_waits(self) -> bool:
        return self._kernel.find_waits is not None

    def _waits_or_reason(self, kernel: Kernel) -> Waits | str:
        """Return the waits, or why they are not known; they are looked for once."""
        find = self._kernel.find_waits
        if find is None:
            return self._kernel.waits_reason or f"waits are unknown: kernlens has no cycles for {self._isa}"
        if self._looked_up is None:
            instructions = kernel.instructions
            try:
                self._looked_up = find(instructions)
            except (UnsupportedError, ToolError) as error:
                self._looked_up = f"waits are unknown: {error}"
        return self._looked_up

    @property
    def _isa(self) -> str:
        return f"{self._device.isa} code" if self._device is not None else "code of an unknown device"

    def _prologue(self, kernel: Kernel) -> int:
        return bisect_left(kernel.instructions.offsets, kernel.resources.prologue_bytes or 0)
