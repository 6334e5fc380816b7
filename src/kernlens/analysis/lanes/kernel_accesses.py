"""The accesses of a kernel as its code has them, by the lines of its line table."""

from __future__ import annotations

from kernlens.analysis.lanes.patterns import Group, static_accesses
from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.model.source_path import end_alike
from kernlens.model.static_access import StaticAccess

_WIDTH = 32
_PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class KernelAccesses:
    """The accesses of a kernel to memory that work-items share, in the order of its code, and the ``group`` that their patterns
    are of. ``reason`` says why there are none, or not all; "" if these are all."""

    accesses: tuple[StaticAccess, ...]
    group: Group
    reason: str = ""


def kernel_accesses(program: Program, kernel: Kernel) -> KernelAccesses:
    """Return the accesses of a kernel; none where there is no code to derive them from, and why."""
    group = Group(kernel.resources.simd or _WIDTH, kernel.resources.required_work_group_size)
    try:
        code = program.find_lane_code(kernel.name)
        if code is None:
            return KernelAccesses((), group, "there is no SPIR-V of this kernel, from which addresses are derived")
        accesses = static_accesses(code, group)
    except KernlensError as error:
        return KernelAccesses((), group, f"the addresses in its SPIR-V are not known: {error}")
    known = dict.fromkeys(path for path, _ in kernel.source_map.lines) if kernel.source_map else {}
    paths: dict[str, str] = {}

    def own(place: SourcePlace) -> SourcePlace:
        """Return a place with the path that the line table has for its file, where one alone ends alike."""
        if place.path not in paths:
            alike = [each for each in known if end_alike(each, place.path)]
            paths[place.path] = place.path if place.path in known or len(alike) != 1 else alike[0]
        return replace(place, path=paths[place.path])

    shared = (each for each in accesses if each.space != _PRIVATE)
    placed = (
        replace(each, place=own(each.place) if each.place else None, calls=tuple(map(own, each.calls)))
        for each in shared
    )
    return KernelAccesses(tuple(placed), group, code.missing)
