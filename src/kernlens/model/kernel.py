"""A kernel: its machine code, what it needs, and the parts that are read only when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kernlens.model.instruction import Instructions
    from kernlens.model.line_table import LineTable
    from kernlens.model.source_map import SourceMap


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """One argument as the binary describes it; a field is None where the binary does not say."""

    index: int
    name: str | None = None
    type_name: str | None = None
    address_space: str | None = None
    access: str | None = None
    type_qualifier: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What a kernel takes of the machine. Sizes are bytes per hardware thread, ``slm_bytes`` per work-group.

    ``simd`` is the compiled width in channels, ``registers`` the number of general registers per thread (128, 256),
    ``spill_bytes`` what did not fit into them, ``scratch_bytes`` all scratch space, ``barriers`` their number,
    ``private_bytes`` per work-item private memory. None: the binary does not say.
    """

    simd: int | None = None
    registers: int | None = None
    spill_bytes: int | None = None
    scratch_bytes: int | None = None
    private_bytes: int | None = None
    slm_bytes: int | None = None
    barriers: int | None = None
    required_work_group_size: tuple[int, int, int] | None = None
    required_sub_group_size: int | None = None
    #: Bytes of code before the kernel's own first instruction (the loading of its payload); None: not said.
    prologue_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ReportedKernel:
    """A kernel as a driver reports it.

    ``binary`` is the machine code with its padding, from before relocation; ``code`` the same without padding. Each is
    None where the driver does not give it, and ``reason`` says why. ``origin`` names the query that gave ``binary``.
    Sizes are bytes: spill per hardware thread, private per work-item, SLM per work-group.
    """

    name: str
    binary: bytes | None = field(default=None, repr=False)
    code: bytes | None = field(default=None, repr=False)
    origin: str | None = None
    simd: int | None = None
    spill_bytes: int | None = None
    private_bytes: int | None = None
    slm_bytes: int | None = None
    required_work_group_size: tuple[int, int, int] | None = None
    arguments: tuple[KernelArgument, ...] = ()
    reason: str | None = None


class KernelParts(Protocol):
    """Where a kernel's parts come from; the kernel asks for each of them once at most, on first use."""

    def code(self) -> memoryview: ...

    def heap(self) -> memoryview: ...

    def resources(self) -> KernelResources: ...

    def arguments(self) -> tuple[KernelArgument, ...]: ...

    def instructions(self) -> Instructions: ...

    def line_table(self) -> LineTable | None: ...

    def line_table_reason(self) -> str | None:
        """Why there is no line table, found without decoding it; None if there is one."""
        ...

    def source_map(self, kernel: Kernel) -> SourceMap | None: ...


class Kernel:
    """An entry point. (A plain class: a frozen dataclass takes longer to make, and fat binaries hold thousands.)"""

    def __init__(self, name: str, parts: KernelParts) -> None:
        self.name = name
        self._parts = parts

    def __repr__(self) -> str:
        return f"Kernel({self.name!r})"

    @cached_property
    def code(self) -> memoryview:
        """The machine code, without padding."""
        return self._parts.code()

    @cached_property
    def heap(self) -> memoryview:
        """The machine code as the driver loads it: with padding."""
        return self._parts.heap()

    @property
    def code_size(self) -> int:
        """Bytes of machine code, padding excluded."""
        return len(self.code)

    @cached_property
    def resources(self) -> KernelResources:
        return self._parts.resources()

    @cached_property
    def arguments(self) -> tuple[KernelArgument, ...]:
        return self._parts.arguments()

    @cached_property
    def instructions(self) -> Instructions:
        """The decoded machine code. Raises UnsupportedError if no installed libiga64 knows the device."""
        return self._parts.instructions()

    @cached_property
    def line_table(self) -> LineTable | None:
        """The kernel's line table; None if there is none, and then ``line_table_reason`` says why."""
        return None if self.line_table_reason else self._parts.line_table()

    @cached_property
    def line_table_reason(self) -> str | None:
        """Why there is no line table, and the flag that would give one; None if there is one."""
        return self._parts.line_table_reason()

    @cached_property
    def source_map(self) -> SourceMap | None:
        """Instruction to source place and back; None without a line table."""
        return self._parts.source_map(self)
