"""The sources of a kernel's parts, for each kind of binary."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kernlens import __version__
from kernlens.dataclass import replace
from kernlens.errors import FormatError, UnsupportedError
from kernlens.isa.intel import raw_code
from kernlens.loading.analysed_code import AnalysedCode
from kernlens.loading.kept_debug import LinesDebug
from kernlens.loading.program_kernels import ProgramKernels
from kernlens.model.compiler import UNKNOWN_COMPILER, Compiler
from kernlens.model.device import Device, DeviceId
from kernlens.model.kernel import Kernel, KernelArgument
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.stated_code import StatedCode

if TYPE_CHECKING:
    from kernlens.loading.stage_maps import Beside
    from kernlens.model.code_function import CodeFunction
    from kernlens.model.hash_trailer import HashTrailer
    from kernlens.model.instruction import Instructions
    from kernlens.model.intel_instructions import IntelInstructions
    from kernlens.model.launch_limits import LaunchLimits
    from kernlens.model.line_table import DebugFunction, LineTable
    from kernlens.model.source_map import SourceMap
    from kernlens.model.spilled_value import SpilledValue
    from kernlens.model.waits import Waits


class Code(AnalysedCode):
    """A kernel of which only the machine code is known; the other kinds add what they know."""

    #: True for binaries that only drivers of up to 2024 load.
    is_for_older_drivers = False
    #: The kernels of the program that it is of; none for code alone.
    program_kernels = ProgramKernels()

    def __init__(self, content: memoryview, device: Device | None, device_id: DeviceId | None = None) -> None:
        self._content = content
        self._device = device
        self._device_id = device_id

    def code(self) -> memoryview:
        return self._content

    def heap(self) -> memoryview:
        return self._content

    def resources(self) -> KernelResources:
        return KernelResources()

    def launch_limits(self, kernel: Kernel) -> LaunchLimits:
        from kernlens.isa.intel.launch_rules import launch_limits
        from kernlens.loading.analysed_code import with_core

        facts = self.program_kernels.facts
        limits = launch_limits(self._device, kernel.resources, facts, is_older=self.is_for_older_drivers)
        return with_core(limits, self._device, kernel)

    def arguments(self) -> tuple[KernelArgument, ...]:
        return ()

    def line_table(self) -> LineTable | None:
        return None

    def line_table_reason(self, kernel: Kernel) -> str | None:
        return self.raw_reason()

    @staticmethod
    def raw_reason() -> str:
        from kernlens.loading.absent_lines import ADVICE

        return f"raw instructions hold no line table; {ADVICE} and open the whole binary"

    def code_change(self, kernel: Kernel) -> str | None:
        return None

    def instructions(self) -> Instructions:
        from kernlens.isa.intel.decode import decode
        from kernlens.toolchain.registered import register_roots

        if self._device is None:
            raise UnsupportedError(
                f"kernlens does not support the device of this binary ({self._device_id}); "
                "choose the device to decode it for with --device D (kernlens devices lists them)"
            )
        register_roots()
        return decode(self._device, self.code(), self.compiler(), self.trailer())

    def compiler(self) -> Compiler:
        return UNKNOWN_COMPILER

    def source_map(self, kernel: Kernel) -> SourceMap | None:
        from kernlens.analysis.correlate import correlate

        table = kernel.line_table
        if table is None:
            return None
        instructions = kernel.instructions
        joined = correlate(
            instructions.offsets,
            table,
            self._prologue(kernel),
            instructions.stops,
            kernel.functions,
            begins_own=self.begins_own(),
            is_shifted=self.is_shifted(),
            stages_by=self.stages_by(),
        )
        beside = self.beside()
        if beside is None:
            return joined
        from kernlens.loading.stated_places import with_stated_places

        return with_stated_places(joined, kernel.name, instructions, beside)

    def begins_own(self) -> bool:
        """Return whether the first instruction of a row of the line table certainly has the row's place (``SourceMap``)."""
        return True

    def is_shifted(self) -> bool:
        """Return whether the rows of the line table may stand over other instructions than their own."""
        return False

    def stages_by(self) -> str:
        """Return the command that keeps the stages which tell the lines of instructions; "" if no stages do."""
        return f"kernlens stages SRC --device {self._device.name if self._device else 'D'} -o FILE"

    def function_symbols(self) -> Mapping[int, str | None] | None:
        """Return where symbols place functions in the code; None where there are no symbols."""
        return None

    def instruction_count(self, kernel: Kernel) -> int:
        return raw_code.instruction_count(kernel.code)

    def trailer(self) -> HashTrailer | None:
        return raw_code.trailer_of(self.code())

    def operations(self, kernel: Kernel) -> bytes:
        return raw_code.operations(kernel.code)

    def is_decoded_with_others(self) -> bool:
        return True

    def lines_need_instructions(self) -> bool:
        return False

    def advice_reason(self) -> str | None:
        return None

    def is_entry(self) -> bool:
        return True

    def may_call(self) -> bool:
        return raw_code.may_call(self.code())

    def may_call_by_address(self) -> bool:
        return raw_code.may_call_by_address(self.code())

    def functions(self, kernel: Kernel) -> tuple[CodeFunction, ...]:
        from kernlens.analysis.correlate import functions_of

        instructions, symbols = kernel.instructions, self.function_symbols() or {}
        stated: Sequence[DebugFunction] = ()
        try:
            if kernel.code_change:  # Calls still tell where functions begin, but not their names.
                symbols = {}
            elif kernel.line_table:
                stated = kernel.line_table.functions
        except FormatError:
            pass  # Who asks for lines is told. Instructions need none, and their functions then have no names.
        return functions_of(
            instructions.offsets, len(kernel.code), instructions.called, {0: kernel.name, **symbols}, stated
        )

    def waits(self, kernel: Kernel) -> Waits | None:
        from kernlens.analysis.flow.static_cycles import block_starts, waits_of
        from kernlens.isa.intel.latencies import timings_of
        from kernlens.model.intel_instructions import packed_of

        instructions = packed_of(kernel.instructions)
        assert self._device is not None, "the kernel asks for waits_reason first"
        assert instructions is not None, "the kernel asks for waits_reason first"
        timings = timings_of(instructions, self._device)
        prologue = kernel.resources.prologue_bytes or self.payload_load_bytes()
        starts = block_starts(instructions, prologue, self.function_symbols() or ())
        return waits_of(instructions, timings, starts)

    def waits_reason(self, kernel: Kernel) -> str | None:
        from kernlens.isa.intel.latencies import unknown_reason

        return unknown_reason(self._device)

    def simulates_waits(self) -> bool:
        return False

    def spilled_values(self, kernel: Kernel) -> tuple[SpilledValue, ...] | None:
        beside = self.beside()
        if beside is None or not beside.snapshots:
            return None
        from kernlens.loading.spilled_values import spilled_values

        return spilled_values(kernel.name, kernel.line_table, beside)

    def page(self, kernel: Kernel) -> str | None:
        """Return the page that a notebook shows of the kernel; of bare instructions there is no more than the listing."""
        return None

    def beside(self) -> Beside | None:
        """Return the stages of the compile, if any were kept."""
        return None

    def _prologue(self, kernel: Kernel) -> int:
        """Return the number of instructions that load the kernel's payload and set the thread up."""
        from kernlens.formats.patch_tokens.kernel_tokens import FIRST_CORE_WITH_PROLOGUE
        from kernlens.isa.devices import render_core
        from kernlens.model.intel_instructions import packed_of

        stated = kernel.resources.prologue_bytes
        if stated is not None:
            return bisect_left(kernel.instructions.offsets, stated and max(stated, self.set_up_bytes(kernel)))
        core, packed = render_core(self._device), packed_of(kernel.instructions)
        if core is None or core < FIRST_CORE_WITH_PROLOGUE or packed is None:
            return 0
        return packed.set_up_end(self.payload_load_bytes())

    def set_up_bytes(self, kernel: Kernel) -> int:
        """Return the size of the start of the code that loads the payload and sets the thread up, if the line table says it."""
        return 0

    def payload_load_bytes(self) -> int:
        """Return the size of the start of the code that loads each thread's payload, if nothing states all of the prologue."""
        return 0


class DebugCode(Code):
    """A kernel whose debug data and stages are known too: of debug data alone, whose ELF holds the code, that is all."""

    def __init__(
        self,
        content: memoryview,
        debug: LinesDebug,
        name: str,
        device: Device | None,
        device_id: DeviceId | None,
    ) -> None:
        super().__init__(content, device, device_id)
        self._debug = debug
        self.name = name

    def compiler(self) -> Compiler:
        return self._debug.compiler

    def line_table(self) -> LineTable | None:
        table, folder = self._debug.readable_table(self.name), self._debug.folder
        if table is not None and self.is_shifted():  # What it says of inlined calls and variables is shifted too.
            table = replace(table, find_inlined=tuple, find_variables=None)
        return table.named_below(folder) if table is not None and folder else table

    def is_shifted(self) -> bool:
        return self.name in self._debug.assembly_kernels

    def may_call(self) -> bool:
        return self.is_shifted() or super().may_call()

    def variables_reason(self, kernel: Kernel) -> str:
        from kernlens.loading.absent_lines import ASSEMBLY

        return (
            f"{ASSEMBLY}, and its variables in other places" if self.is_shifted() else super().variables_reason(kernel)
        )

    def line_table_reason(self, kernel: Kernel) -> str | None:
        from kernlens.loading.absent_lines import ASSEMBLY, EMPTY_TABLE, GENERATED, GENERATOR

        if reason := self._debug.absent_lines(self.name):
            return reason
        try:
            table = kernel.table_as_held
            if unreadable := self._debug.unreadable.get(self.name):
                return unreadable
            if table is not None and not table.has_lines:
                return GENERATED if any(file.path == GENERATOR for file in table.files) else EMPTY_TABLE
            if kernel.code_change:
                return self.change_reason(kernel)
            return ASSEMBLY if self.is_shifted() and not self._debug.tells_lines(self.name) else None
        except FormatError:
            return None  # Who asks for the lines is told.

    def change_reason(self, kernel: Kernel) -> str | None:
        """Return why the code, which was changed, has no lines; None if it has some all the same."""
        from kernlens.loading.absent_lines import CHANGED

        return f"{CHANGED}: {kernel.code_change}"

    def code_change(self, kernel: Kernel) -> str | None:
        stated = self.stated_code()
        if stated is None:
            return None
        from kernlens.analysis.changed_code import change_of

        table = kernel.table_as_held
        # Generators of code (nGEN) leave a table that only ends, anywhere.
        table = table if table is not None and table.has_lines else None
        return change_of(kernel.code, stated, table, lambda: self.held_instructions(kernel))

    def held_instructions(self, kernel: Kernel) -> IntelInstructions | None:
        """Return the instructions that are held against what the binary states, None where nothing decodes them."""
        from kernlens.model.intel_instructions import packed_of

        try:
            # They are not kept: who only lists kernels has no use for them.
            return packed_of(vars(kernel).get("instructions") or self.instructions())
        except UnsupportedError:
            return None

    def stated_code(self) -> StatedCode | None:
        """Return what the binary states of the code, None where nothing is held against it."""
        return None

    def beside(self) -> Beside | None:
        return self._debug.beside

    def page(self, kernel: Kernel) -> str | None:
        if self._debug.make_program is None:
            return None
        from kernlens.report.explore.single_file import notebook_page
        from kernlens.report.shared_paths import SharedPaths

        program = self._debug.make_program(kernel, self._debug)
        files = [source.path for source in program.sources]
        return notebook_page(program, __version__, SharedPaths(files, os.getcwd(), os.path.expanduser("~")))
