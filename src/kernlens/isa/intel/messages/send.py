"""A send instruction as the decoders of its message see it."""

from __future__ import annotations

from kernlens.dataclass import NamedTuple
from kernlens.isa.intel.device_table import XE_HPC
from kernlens.model.instruction_kind import Access, InstructionKind


class Send(NamedTuple):
    """A message. ``target`` is the shared function (``ugm``, ``dc0``). ``descriptor`` and ``extended`` are immediates,
    None where a register holds them; ``extended_register`` names the subregister of a0 then. The answer and the data
    (of a store, beside the addresses) are counted in registers, None where that is not known."""

    platform: int
    target: str
    descriptor: int | None
    extended: int | None
    extended_register: int | None
    execution_size: int
    answer_registers: int | None
    address_registers: int | None
    data_registers: int | None

    def bits(self, high: int, low: int) -> int:
        """Return bits ``high`` to ``low`` of the descriptor, as specifications count them."""
        assert self.descriptor is not None
        return self.descriptor >> low & (1 << high - low + 1) - 1

    @property
    def register_bytes(self) -> int:
        """The size of a register."""
        return 64 if self.platform >= XE_HPC else 32

    def bytes_of(self, registers: int | None) -> int | None:
        """Return the size of so many registers."""
        return None if registers is None else registers * self.register_bytes

    def lanes(self, simd: int) -> int:
        """Return how many lanes a message of this width has at most: a narrower instruction masks the others."""
        return min(self.execution_size, simd)


def access(
    space: str,
    action: str,
    operation: str,
    element_bytes: int,
    elements: int = 1,
    lanes: int = 1,
    surface: str = "",
    *,
    is_spill: bool = False,
) -> InstructionKind:
    """Return the kind of a message that accesses so many elements a lane."""
    size = element_bytes * elements * lanes
    return InstructionKind(space, Access(operation, action, element_bytes, elements, lanes, surface, size, is_spill))


def access_of_size(space: str, action: str, operation: str, size: int | None, surface: str = "") -> InstructionKind:
    """Return the kind of a message of which only the size is known, from the registers that it fills or takes."""
    return InstructionKind(space, Access(operation, action, 1, size or 0, 1, surface, size))


def without_memory(kind: str, operation: str) -> InstructionKind:
    """Return the kind of a message that accesses no memory of the kernel's."""
    return InstructionKind(kind, Access(operation))
