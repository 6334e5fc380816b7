"""A program: what one build yields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kernlens.model.binary import EMPTY, Container, Relocation, Symbol

if TYPE_CHECKING:
    from kernlens.model.device import Device, DeviceId
    from kernlens.model.kernel import Kernel


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

    ``name`` is unique within its file; ``format`` is ``patch-tokens``, ``zebin``, ``spirv`` or ``raw``; ``binary`` is the
    device binary itself, ``debug`` CTNI or ELF debug data beside it, ``spirv`` the module it was made from; each is
    empty when absent. ``find_sources`` looks source text up on first use.
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
    container: Container | None = field(default=None, repr=False)
    find_symbols: Callable[[], tuple[Symbol, ...]] = field(default=tuple, repr=False)
    find_relocations: Callable[[], tuple[Relocation, ...]] = field(default=tuple, repr=False)
    find_sources: Callable[[], tuple[Source, ...]] = field(default=tuple, repr=False)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        return self.find_symbols()

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        return self.find_relocations()

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        return self.find_sources()
