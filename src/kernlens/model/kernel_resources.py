"""The resources of a kernel, as its binary states them."""

from __future__ import annotations

from collections.abc import Mapping

from kernlens.dataclass import dataclass, field
from kernlens.errors import NearestNames

#: The register file of Intel's GPUs.
GRF = "GRF"


@dataclass(frozen=True, slots=True)
class KernelResources(NearestNames):
    """The resources of a kernel, as its binary states them; a field is None where the binary does not.

    ``register_files`` has the registers that the kernel takes of each file, by its name: GRF; VGPR, SGPR, AGPR; registers.
    ``spilled_registers`` counts those of a file that were spilled, where the binary counts registers; ``spill_bytes`` are
    bytes, where it counts these: neither is made from the other. ``stated`` has what else some binaries state, by the keys
    of ``figures.OF_FAMILIES``.

    Meaning and unit of ``simd``, ``grf_count``, ``spill_bytes``, ``scratch_bytes``, ``slm_bytes`` and ``barriers`` are
    those of the figures with these keys, and so are those of ``private_bytes`` and ``stack_bytes``. The two sizes that the
    source requires count work-items. ``prologue_bytes`` is the code before the kernel's own first instruction, which
    loads its payload. The last four matter to launches: ``thread_private_bytes`` is private memory of a hardware thread,
    outside of scratch space; ``largest_scratch_bytes`` the larger of its scratch buffers; ``is_unfused`` is True if the kernel
    must not run on pairs of execution units in step; ``is_bindless`` if arguments are handles of buffers or images,
    not places in a table of bindings ("bindless"). ``is_of_pair``: work-groups run on a pair of AMD's compute units.
    """

    simd: int | None = None
    register_files: Mapping[str, int] = field(default_factory=dict)
    spill_bytes: int | None = None
    scratch_bytes: int | None = None
    private_bytes: int | None = None
    stack_bytes: int | None = None
    slm_bytes: int | None = None
    barriers: int | None = None
    required_work_group_size: tuple[int, int, int] | None = None
    required_sub_group_size: int | None = None
    prologue_bytes: int | None = None
    spilled_registers: Mapping[str, int] = field(default_factory=dict)
    stated: Mapping[str, int] = field(default_factory=dict)
    thread_private_bytes: int | None = None
    largest_scratch_bytes: int | None = None
    is_unfused: bool = False
    is_bindless: bool = False
    is_of_pair: bool = False

    @property
    def grf_count(self) -> int | None:
        """The number of registers of the file GRF."""
        return self.register_files.get(GRF)

    @property
    def private_bytes_per_work_item(self) -> int | None:
        """The private memory of one of the thread's work-items; None if it or the width is not known."""
        return self.private_bytes // self.simd if self.private_bytes is not None and self.simd else None

    @property
    def is_particular(self) -> bool:
        """True if the binary states what only some vendors' do: figures of ``figures.OF_FAMILIES``."""
        return bool(self.stated or self.spilled_registers or self.register_files.keys() - {GRF})

    @property
    def has_no_grf(self) -> bool:
        """True if the binary states other vendors' figures, or local memory and neither a width nor registers, as PoCL's."""
        states_memory_alone = self.slm_bytes is not None and self.simd is None and not self.register_files
        return self.is_particular or states_memory_alone


def general_registers(count: int | None) -> dict[str, int]:
    """Return the register files of a kernel that has so many registers of the file GRF, of which it may not be known."""
    return {} if count is None else {GRF: count}
