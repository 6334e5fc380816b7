"""The parts of a kernel that its instructions alone tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernlens.model.device import Device
    from kernlens.model.hash_trailer import HashTrailer
    from kernlens.model.kernel import Kernel
    from kernlens.model.launch_limits import LaunchLimits
    from kernlens.model.loop_nest import Loops
    from kernlens.model.pressure import Pressure
    from kernlens.model.register_links import RegisterLinks, RegisterRows
    from kernlens.model.variable import StatedRange, Variable


class AnalysedCode:
    """The parts of a kernel that are computed from its instructions, whatever binary they are from."""

    _device: Device | None = None

    def launch_limits(self, kernel: Kernel) -> LaunchLimits:
        from kernlens.model.launch_limits import MAX_WORK_GROUP, Creation, LaunchLimits

        resources = kernel.resources
        sizes = resources.required_work_group_size, resources.required_sub_group_size
        reason = "kernlens knows the drivers' rules for Intel's GPUs alone"
        unknown = Creation(None, reason)
        limits = LaunchLimits(resources.stated.get(MAX_WORK_GROUP), None, None, *sizes, unknown, unknown, reason)
        return with_core(limits, self._device, kernel)

    def trailer(self) -> HashTrailer | None:
        return None

    def costs(self, kernel: Kernel) -> Mapping[str, int]:
        from kernlens.analysis.costs import costs_of

        return costs_of(kernel.instructions.kinds)

    def pressure(self, kernel: Kernel) -> Pressure | None:
        from kernlens.analysis.flow.register_peak import pressure_of

        return pressure_of(kernel.instructions)

    def loops(self, kernel: Kernel) -> Loops | None:
        from kernlens.analysis.flow.loops import loops_of

        return loops_of(kernel.instructions)

    def register_rows(self, kernel: Kernel) -> dict[int, RegisterRows]:
        from kernlens.analysis.flow.register_uses import register_rows

        return register_rows(kernel.instructions)

    def register_links(self, kernel: Kernel, index: int) -> RegisterLinks:
        from kernlens.analysis.flow.register_uses import register_links

        return register_links(kernel.instructions, index)

    def variables_reason(self, kernel: Kernel) -> str:
        table = kernel.line_table
        if table is None:
            return f"{kernel.line_table_reason} (variables need -g)"
        if table.variables is None:
            return "kernlens does not read variables from debug data of this kind"
        return "its debug data names no variables; compile with -g, which replaces -gline-tables-only"

    def variable_ranges(self, kernel: Kernel, variable: Variable) -> tuple[StatedRange, ...]:
        from kernlens.analysis.variable_ranges import stated_ranges

        return tuple(stated_ranges(kernel, variable))


def with_core(limits: LaunchLimits, device: Device | None, kernel: Kernel) -> LaunchLimits:
    """Return the limits with what the kernel takes of a core of the device."""
    from kernlens.dataclass import replace
    from kernlens.isa.cores import core_of

    return replace(limits, core=core_of(device, kernel.resources, limits.max_work_group, kernel.launch_shared_bytes))
