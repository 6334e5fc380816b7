"""The source of a kernel's parts in a code object of AMD's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.dataclass import replace
from kernlens.errors import KernlensError, UnsupportedError
from kernlens.formats.amdgpu.code_object import CodeObject, CodeObjectKernel
from kernlens.formats.amdgpu.kernel_lines import CodeObjectLines
from kernlens.loading.listed_code import ListedCode, ListedDebug, ListedKernel
from kernlens.model.build import Build
from kernlens.model.device import Device
from kernlens.model.kernel import Kernel
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.stage import TEXT

if TYPE_CHECKING:
    from kernlens.model.allowance import Allowance
    from kernlens.model.instruction import Instructions
    from kernlens.model.line_table import LineTable
    from kernlens.model.source_map import SourceMap
    from kernlens.model.waits import Waits

#: What clang writes into ``.comment``; its major version is LLVM's.
_CLANG = re.compile(rb"clang version (\d{1,3})\.")
_LLD = re.compile(rb"LLD (\d{1,3})\.")
#: The stage in which the compiler states more of a kernel.
_ASSEMBLY = "gcn-assembly"
_LLVM = re.compile(r"LLVM (\d{1,3})\b")
#: The names of the figures that metadata states, by the attributes of ``KernelMetadata``.
_STATED = {
    "lds_bytes": "group_segment_bytes",
    "private_segment_bytes": "private_segment_bytes",
    "wave_size": "wavefront_size",
    "max_work_group": "max_flat_workgroup_size",
}


class CodeObjectDebug(ListedDebug):
    """The line tables and the compiler's version, which the kernels of a code object share."""

    def __init__(self, read: CodeObject, build: Build, allowance: Allowance) -> None:
        super().__init__((), build, allowance)
        self._read = read

    @cached_property
    def _lines(self) -> CodeObjectLines:
        return CodeObjectLines(self._read)

    @cached_property
    def compiler_version(self) -> int:
        """The major version of the LLVM that compiled the code; 0 where the file does not say it."""
        return self._stated(_CLANG)

    @cached_property
    def linker_version(self) -> int:
        """The major version of the LLVM that linked the code, which need not be the compiler's; 0 where the file does not
        say it."""
        return self._stated(_LLD)

    def _stated(self, words: re.Pattern[bytes]) -> int:
        comment = self._read.elf.section(".comment")
        match = words.search(bytes(comment.data)) if comment is not None else None
        return int(match[1]) if match else 0

    @cached_property
    def occupancies(self) -> Mapping[str, int]:
        """The occupancy of each kernel, where the assembly was kept in which the compiler states it."""
        snapshot = self.beside.find(_ASSEMBLY, TEXT) if self.beside is not None else None
        if snapshot is None:
            return {}
        from kernlens.formats.amdgpu.assembly_notes import stated_occupancies

        try:
            return stated_occupancies(snapshot.text)
        except KernlensError as error:  # Who asks for the stage is told.
            log.debug("loading", "no occupancy: %s", error)
            return {}

    def line_table(self, name: str) -> LineTable | None:
        kernel = self._own[name]
        return self._lines.of_kernel(kernel)

    def line_table_reason(self, name: str) -> str | None:
        from kernlens.loading.absent_lines import NO_TABLE, without_debug

        if not self._lines.are_there:
            return without_debug(self._build)
        return None if self._lines.of_kernel(self._own[name]) is not None else NO_TABLE

    @cached_property
    def _own(self) -> dict[str, CodeObjectKernel]:
        return {kernel.name: kernel for kernel in self._read.kernels}


class CodeObjectCode(ListedCode):
    """A kernel of a code object."""

    def __init__(
        self, read: CodeObject, kernel: CodeObjectKernel, debug: CodeObjectDebug, device: Device | None
    ) -> None:
        listed = ListedKernel(
            kernel.name,
            kernel.code,
            partial(_instructions, read, kernel, debug),
            resources=_resources(kernel),
            arguments=kernel.metadata.arguments if kernel.metadata else (),
            find_waits=partial(_waits, read, kernel),
            spills_nothing=kernel.metadata is not None and kernel.metadata.vgpr_spill_count == 0,
            is_described=True,
        )
        super().__init__(listed, debug, device)
        self._read_debug = debug

    def resources(self) -> KernelResources:
        resources = super().resources()
        from kernlens.isa.amd.compute_units import waves_of_simd

        occupancy = self._read_debug.occupancies.get(self._kernel.name)
        if occupancy is None and self._device is not None:
            occupancy = waves_of_simd(self._device, resources)
        if occupancy is None:
            return resources
        return replace(resources, stated={**resources.stated, "occupancy": occupancy})

    def source_map(self, kernel: Kernel) -> SourceMap | None:
        from kernlens.analysis.correlate import correlate

        table = kernel.line_table
        # LLVM repeats no row where a block begins, so that what stands behind an end of the program keeps the row above.
        return None if table is None else correlate(kernel.instructions.offsets, table)

    def may_call_by_address(self) -> bool:
        return True  # Functions that stayed calls are symbols of their own, outside the kernel's code.


def _instructions(read: CodeObject, kernel: CodeObjectKernel, debug: CodeObjectDebug) -> Instructions:
    from kernlens.isa.amd.gcn_decode import decode_gcn
    from kernlens.toolchain.registered import register_llvm_roots

    if read.target is None:
        raise UnsupportedError(
            f"kernlens does not know the AMD GPU of this binary (number {read.mach:#x} in its header)"
        )
    register_llvm_roots()
    return decode_gcn(
        read.target.processor,
        kernel.code,
        wavefront_size=kernel.metadata.wavefront_size if kernel.metadata else None,
        address=kernel.address,
        compiler=debug.compiler_version,
        linker=debug.linker_version,
        has_private_descriptor=kernel.has_private_descriptor,
    )


def _waits(read: CodeObject, kernel: CodeObjectKernel, instructions: Instructions) -> Waits:
    from kernlens.analysis.flow.blocks import straight_code
    from kernlens.analysis.flow.timeline_waits import waits_of_timelines
    from kernlens.isa.amd.gcn_decode import TRIPLE, wave_features
    from kernlens.toolchain.llvm_mca import MOST_INSTRUCTIONS, NAME, llvm_mca

    assert read.target is not None, "the code has been decoded"
    major = _LLVM.match(instructions.disassembler or "")
    if instructions.routes is None or instructions.illegal or major is None:
        raise UnsupportedError(f"{NAME} simulates blocks, and the code does not tell where they begin and end")
    if len(instructions) > MOST_INSTRUCTIONS:
        raise UnsupportedError(f"{len(instructions):,} instructions are too many for {NAME}")
    processor = read.target.processor
    program = llvm_mca(int(major[1]))
    code = straight_code(instructions.routes, len(instructions)).code
    features = wave_features(processor, kernel.metadata.wavefront_size if kernel.metadata else None)
    blocks = [instructions.texts[part.start : part.stop] for part in code]
    timelines = program.simulate(TRIPLE, processor, features, blocks)
    terms = f"its model of {processor}, memory of fixed latency, one wave alone"
    return waits_of_timelines(instructions, [part.start for part in code], timelines, program.title, terms)


def _resources(kernel: CodeObjectKernel) -> KernelResources:
    metadata = kernel.metadata
    if metadata is None:
        return KernelResources()
    files = {"VGPR": metadata.vgpr_count, "SGPR": metadata.sgpr_count, "AGPR": metadata.agpr_count}
    spilled = {"VGPR": metadata.vgpr_spill_count, "SGPR": metadata.sgpr_spill_count}
    stated = {key: getattr(metadata, attribute) for key, attribute in _STATED.items()}
    return KernelResources(
        register_files=_known(files),
        spilled_registers=_known(spilled),
        stated=_known(stated),
        required_work_group_size=metadata.required_work_group_size,
        is_of_pair=kernel.is_of_pair,
    )


def _known(values: Mapping[str, int | None]) -> dict[str, int]:
    return {key: value for key, value in values.items() if value is not None}
