"""A program: what one build yields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kernlens.model.binary import EMPTY, Relocation, Symbol

if TYPE_CHECKING:
    from kernlens.model.device import Device, DeviceId
    from kernlens.model.kernel import Kernel
    from kernlens.model.spirv import SpirvModule
    from kernlens.model.stage import Snapshot
    from kernlens.model.stage_map import ProgramLine, StageMap


@dataclass(frozen=True, slots=True)
class Source:
    """A source file's text. ``path`` is as the line table or the compiler names it; ``origin`` says where it was found:
    ``spirv``, ``recording``, ``disk``, ``program`` (CL_PROGRAM_SOURCE) or ``binary``."""

    path: str
    text: str = field(repr=False)
    origin: str = "disk"


@dataclass(frozen=True, eq=False)
class Program:
    """One build's result for one device.

    ``name`` is unique within its file; ``format`` is ``patch-tokens``, ``zebin``, ``debug-data``, ``spirv``, ``raw``, or
    ``stages``, of which only the snapshots are known; ``binary`` is the device binary itself, ``debug`` CTNI or ELF
    debug data beside it, ``spirv`` the module it was made from; each is empty when absent. ``find_sources`` looks source
    text up on first use, ``find_snapshots`` reads the program at the stages of its compile, ``find_stage_maps`` their
    source maps.
    """

    name: str
    format: str
    kernels: Mapping[str, Kernel]
    device: Device | None = None
    device_id: DeviceId | None = None
    toolchain: str | None = None
    build_options: str | None = None
    build_log: str | None = None
    binary: memoryview = field(default=EMPTY, repr=False)
    debug: memoryview = field(default=EMPTY, repr=False)
    spirv: memoryview = field(default=EMPTY, repr=False)
    find_symbols: Callable[[], tuple[Symbol, ...]] = field(default=tuple, repr=False)
    find_relocations: Callable[[], tuple[Relocation, ...]] = field(default=tuple, repr=False)
    find_code_order: Callable[[], tuple[str, ...]] | None = field(default=None, repr=False)
    find_spirv_module: Callable[[], SpirvModule | None] = field(default=lambda: None, repr=False)
    find_sources: Callable[[], tuple[Source, ...]] = field(default=tuple, repr=False)
    find_snapshots: Callable[[], tuple[Snapshot, ...]] = field(default=tuple, repr=False)
    find_stage_maps: Callable[[Program], tuple[StageMap, ...]] = field(default=lambda program: (), repr=False)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        return self.find_symbols()

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        return self.find_relocations()

    @cached_property
    def code_order(self) -> tuple[str, ...]:
        """The names of all pieces of code, kernels and functions' pseudo kernel, as the driver numbers them; the order
        of ``kernels`` if the file has no other."""
        return tuple(self.kernels) if self.find_code_order is None else self.find_code_order()

    @cached_property
    def spirv_module(self) -> SpirvModule | None:
        """What the SPIR-V says; None if there is none. Raises FormatError if it is damaged."""
        return self.find_spirv_module()

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        return self.find_sources()

    @cached_property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The program at each stage of its compile, in pipeline order; empty if they were not kept."""
        return self.find_snapshots()

    @cached_property
    def stage_maps(self) -> tuple[StageMap, ...]:
        """The source map of each stage that has one, in pipeline order; the machine code's come last."""
        return self.find_stage_maps(self)

    def line(self, line: int, path: str | None = None) -> ProgramLine:
        """One source line, followed through all stages: ``program.line(42).stages``. ``path`` is a file's path or the
        end of it; None: of any file."""
        from kernlens.model.line_choice import LineChoice
        from kernlens.model.stage_map import ProgramLine

        return ProgramLine(LineChoice(path, line), self.stage_maps)
