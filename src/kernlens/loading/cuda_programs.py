"""Programs of NVIDIA's files: cubins, whose kernels hold machine code, and PTX, which is still to be compiled."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from kernlens.dataclass import replace
from kernlens.errors import ToolError, UnsupportedError
from kernlens.isa.nvidia.sass_devices import architecture_device, architecture_number, nvidia_device
from kernlens.loading.binary_programs import listed_program, stages_program
from kernlens.loading.context import ContainerParts, Context
from kernlens.loading.listed_code import ListedKernel
from kernlens.model.binary import EMPTY, Symbol
from kernlens.model.build import BuildToolchain
from kernlens.model.kernel import KernelArgument
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.stage import BINARY, TEXT, Snapshot
from kernlens.model.stages import NVIDIA, held

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernlens.formats.cubin.cubin_file import Cubin, CubinKernel
    from kernlens.formats.cubin.cubin_lines import CubinLines
    from kernlens.isa.nvidia.sass_listing import SassListing
    from kernlens.model.build import Build, BuildParts
    from kernlens.model.device import Device
    from kernlens.model.instruction import Instructions
    from kernlens.model.line_table import LineTable
    from kernlens.model.program import Program

#: The first architecture whose instructions have the same number of bytes each, and that.
_FIRST_DECODED, _INSTRUCTION = 70, 16
#: Bytes of code that a process lists at least, if there are as many, and kernels that it lists at most: as a start costs.
_LEAST_LISTED, _MOST_LISTED = 128 << 10, 2000
_HOW_LINES = (
    "capture --lines or -nv-line-info (OpenCL), nvcc -lineinfo and ptxas -lineinfo give one; Triton writes it by itself"
)


class StagedParts(ContainerParts):
    """The parts of a build, with more snapshots before and behind its own, and what launches of its kernels ask for."""

    def __init__(
        self,
        outer: BuildParts,
        before: tuple[Snapshot, ...],
        behind: tuple[Snapshot, ...] = (),
        launch_shared: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(outer, EMPTY, EMPTY, None, None)
        self._before, self._behind = before, behind
        self._launch_shared = launch_shared

    @property
    def launch_shared(self) -> Mapping[str, int]:
        return self._outer.launch_shared if self._launch_shared is None else self._launch_shared

    @cached_property
    def snapshots(self) -> tuple[Snapshot, ...]:
        own = self._outer.snapshots
        return (*self._before, *own, *self._behind)


class _CubinCode:
    """The code of one cubin, and its line tables. One process lists several kernels: the one that is asked for, and of those
    behind it as much code as was listed before. So one kernel of a large file costs little, and all cost few processes."""

    def __init__(self, content: memoryview, cubin: Cubin, device: Device) -> None:
        self._content = content
        self.cubin = cubin
        self._device = device
        self._listings: dict[int, SassListing] = {}
        self._listed_bytes = 0
        self._is_alone = False

    def instructions(self, kernel: CubinKernel) -> Instructions:
        if architecture_number(self._device) < _FIRST_DECODED:
            raise UnsupportedError(
                f"kernlens does not decode instructions of {self.cubin.architecture}: those of NVIDIA's GPUs before Volta"
                f" (sm_{_FIRST_DECODED}) are encoded otherwise, and today's nvdisasm does not know them"
            )
        if kernel.section.index not in self._listings:
            self._list(kernel)
        try:
            return self._listings[kernel.section.index].instructions(kernel.name, kernel.code)
        except ToolError as error:
            raise UnsupportedError(str(error)) from error

    def _list(self, kernel: CubinKernel) -> None:
        """List a kernel with some of those behind it. If that fails, each is listed alone: one may be at fault for another."""
        kernels = [kernel] if self._is_alone else self._with_next(kernel)
        try:
            listing = self._listing(kernels)
        except UnsupportedError:
            if len(kernels) == 1 or None in self._symbols:
                raise
            self._is_alone = True
            kernels = [kernel]
            listing = self._listing(kernels)
        self._listings.update((each.section.index, listing) for each in kernels)
        self._listed_bytes += sum(len(each.code) for each in kernels)

    def _with_next(self, kernel: CubinKernel) -> Sequence[CubinKernel]:
        """Return the kernels that are listed with this one: all, where some cannot be told to the disassembler."""
        if None in self._symbols:
            return self.cubin.kernels
        kernels, left = [kernel], max(self._listed_bytes, _LEAST_LISTED) - len(kernel.code)
        for each in self.cubin.kernels[self.cubin.kernels.index(kernel) + 1 :]:
            left -= len(each.code)
            if left < 0 or len(kernels) == _MOST_LISTED:
                break
            if each.section.index not in self._listings:
                kernels.append(each)
        return kernels

    @cached_property
    def _symbols(self) -> tuple[int | None, ...]:
        return tuple(kernel.symbol for kernel in self.cubin.kernels)

    def _listing(self, kernels: Sequence[CubinKernel]) -> SassListing:
        from kernlens.isa.nvidia.sass_listing import SassListing
        from kernlens.toolchain.nvdisasm import disassemble_cubin

        symbols = [each.symbol for each in kernels if each.symbol is not None]
        return SassListing(*disassemble_cubin(self._content, symbols if len(kernels) < len(self._symbols) else ()))

    @cached_property
    def _lines(self) -> CubinLines:
        from kernlens.formats.cubin.cubin_lines import CubinLines

        return CubinLines(self.cubin)

    def line_table(self, kernel: CubinKernel) -> LineTable | None:
        return self._lines.get(kernel.name)

    def line_reason(self) -> str | None:
        if self._lines.has_section:
            return None
        return f"the cubin holds no line table; {_HOW_LINES}"

    def listed(self, kernel: CubinKernel) -> ListedKernel:
        return ListedKernel(
            kernel.name,
            kernel.code,
            partial(self.instructions, kernel),
            resources=self._resources(kernel),
            arguments=tuple(KernelArgument(each.ordinal, size=each.size) for each in self.cubin.parameters(kernel)),
            find_lines=partial(self.line_table, kernel),
            line_reason=self.line_reason(),
            functions={offset: name for offset, name in kernel.functions.items() if offset} or None,
            instruction_bytes=_INSTRUCTION if architecture_number(self._device) >= _FIRST_DECODED else 0,
            waits_reason="waits are unknown: kernlens has no cycles for NVIDIA's GPUs",
            # What is spilled is a part of the stack.
            spills_nothing=self.cubin.resources(kernel).stack_bytes == 0,
            is_entry=kernel.is_entry,
            begins_own=False,  # Nobody has published how ptxas writes line rows.
            is_described=True,
        )

    def _resources(self, kernel: CubinKernel) -> KernelResources:
        read = self.cubin.resources(kernel)
        x, y, z = read.largest_block or (0, 0, 0)
        stated = {
            "shared_bytes": read.shared_bytes,
            "max_work_group": x * y * z or None,
        }
        return KernelResources(
            register_files={} if read.registers is None else {"registers": read.registers},
            barriers=read.barriers,
            required_work_group_size=read.required_block,
            stack_bytes=read.stack_bytes,
            stated={key: value for key, value in stated.items() if value is not None},
        )


def cubin_program(name: str, content: memoryview, context: Context) -> Program:
    """Return a Program of a cubin. Of a recorded build it has the stages, with the PTX, which is the build's binary."""
    from kernlens.formats.cubin.cubin_file import read_cubin

    read = read_cubin(content, context.allowance)
    device = architecture_device(read.architecture)
    made_by, build = read.made_by, context.build
    if made_by.title and build.toolchain is None and not build.options:
        toolchain = BuildToolchain(made_by.tool or "ptxas", igc_version=made_by.title)
        context = replace(context, build=replace(build, toolchain=toolchain, options=made_by.options))
    if read.ptx:
        context = with_ptx(memoryview(read.ptx.encode("utf-8", "replace")), context)
    code = _CubinCode(content, read, device)
    return listed_program(
        name,
        "cubin",
        [code.listed(kernel) for kernel in read.kernels],
        device,
        content,
        context,
        find_symbols=lambda: read.symbols,
    )


def ptx_program(name: str, content: memoryview, context: Context) -> Program:
    """Return a Program of PTX: its kernels are symbols without code, its text is a stage."""
    from kernlens.formats.ptx.ptx_text import read_ptx

    read = read_ptx(content, context.allowance)
    staged = with_ptx(content, context)
    program = stages_program(name, replace(staged, device=nvidia_device(read.target) or context.device))
    return replace(
        program,
        format="ptx",
        binary=content,
        find_symbols=lambda: tuple(
            Symbol(function.name, 0, 0, "global", "func", None, 0, index, "kernel" if function.is_entry else "export")
            for index, function in enumerate(read.functions, 1)
        ),
    )


def recorded_code(build: Build) -> bytes:
    """Return the machine code that the driver made of a build's PTX; empty where the recording did not keep it."""
    stage = NVIDIA.stage("sass")
    codes = (each for each in build.snapshots if (each.stage, each.form) == (stage.name, BINARY))
    return next((each.content for each in codes if each.failure is None), b"")


def with_ptx(content: memoryview, context: Context) -> Context:
    """Return the context with PTX as a stage of its build, if it has no such stage."""
    build = context.build
    stage = NVIDIA.stage("ptx")
    if any((each.stage, each.form) == (stage.name, TEXT) for each in build.snapshots):
        return context
    text = held(stage, bytes(content).rstrip(b"\0"), TEXT)
    parts = StagedParts(build.parts, (replace(text, allowance=context.allowance),))
    return replace(context, build=replace(build, parts=parts))
