"""Limits of a kernel's launches: the largest work-group, and whether the device's driver creates the kernel at all."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass

if TYPE_CHECKING:
    from kernlens.model.occupancy import Core, Occupancy

LEVEL_ZERO, OPENCL = "level_zero", "opencl"
#: The key of the figure that is the largest work-group.
MAX_WORK_GROUP = "max_work_group"


@dataclass(frozen=True, slots=True)
class Creation:
    """The answer to a call that creates a kernel: ``is_created`` is None where it depends on what no binary tells, and
    ``reason`` says why that is so, or why the driver refuses; it is empty if the kernel is created. ``is_of_program``: the
    driver does not load the program, and so creates none of its kernels. ``is_rebuilt``: the driver does not run this code, but
    builds the program again from the SPIR-V in its binary."""

    is_created: bool | None
    reason: str = ""
    is_of_program: bool = False
    is_rebuilt: bool = False


@dataclass(frozen=True, slots=True)
class LaunchLimits:
    """The limits of a kernel on the device that it was compiled for, by the rules of the driver that loads its binary.

    ``max_work_group`` is the largest number of work-items in a work-group, ``max_sub_groups`` that of sub-groups as Level
    Zero states it. ``work_group_multiple`` is the number that a work-group's size should be a multiple of.
    ``required_work_group`` and ``required_sub_group`` are the sizes that the source requires. ``creations`` has the answer of
    each API. What is not known is None, and ``reason`` says why; it is empty if all is known. ``core`` is what the kernel takes
    of a core of the device, or the reason why that is not known.
    """

    max_work_group: int | None = None
    max_sub_groups: int | None = None
    work_group_multiple: int | None = None
    required_work_group: tuple[int, int, int] | None = None
    required_sub_group: int | None = None
    level_zero: Creation = Creation(None)
    opencl: Creation = Creation(None)
    reason: str = ""
    core: Core | str = ""

    def occupancy(self, work_group: int) -> Occupancy | None:
        """Return the occupancy by work-groups of ``work_group`` work-items, 1 or more; None where ``core`` is not known."""
        from kernlens.model.occupancy import occupancy_of

        return None if isinstance(self.core, str) else occupancy_of(self.core, work_group)

    @property
    def occupancies(self) -> tuple[Occupancy, ...]:
        """The occupancy by work-groups of the required size, else of the usual ones; none where ``core`` is not known."""
        if isinstance(self.core, str):
            return ()
        from kernlens.model.occupancy import occupancy_of, usual_sizes

        sizes = (self._required,) if self._required else usual_sizes(self.core)
        return tuple(occupancy_of(self.core, size) for size in sizes)

    @property
    def best_percent(self) -> int | None:
        """The occupancy in percent, by work-groups of the required size, else of the best; None where ``core`` is not known."""
        if isinstance(self.core, str):
            return None
        from kernlens.model.occupancy import most_threads, occupancy_of

        if self._required:
            return occupancy_of(self.core, self._required).percent
        return 100 * most_threads(self.core) // self.core.slots

    @property
    def _required(self) -> int:
        return prod(self.required_work_group) if self.required_work_group is not None else 0

    @property
    def creations(self) -> tuple[tuple[str, Creation], ...]:
        """Each API with its answer to the creation of the kernel."""
        return ((LEVEL_ZERO, self.level_zero), (OPENCL, self.opencl))
