"""Values that did not fit into a kernel's registers, by their names in the compiler's own stages."""

from __future__ import annotations

from kernlens.dataclass import dataclass
from kernlens.model.source_map import SourcePlace


@dataclass(frozen=True, slots=True)
class SpilledValue:
    """A virtual register that lives in scratch memory: ``name`` (``V0097``) in the virtual ISA, ``size`` in bytes per hardware
    thread. ``value`` is the LLVM value that it holds first (``%add4.i``), ``place`` the source line that this comes from,
    ``variable`` the source variable; each is None where the stages do not lead so far."""

    name: str
    size: int
    value: str | None = None
    place: SourcePlace | None = None
    variable: str | None = None
