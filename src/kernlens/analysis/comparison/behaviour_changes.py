"""The differences between what two versions of a kernel did on data, line by line, where they did it on alike launches."""

from __future__ import annotations

from kernlens.analysis.comparison.pairs import KernelPair
from kernlens.analysis.comparison.source_lines import LineKey, SourceLines
from kernlens.analysis.kernel_bound import KernelBound, kernel_bound
from kernlens.analysis.observed_code import ObservedCode, observed_code
from kernlens.dataclass import dataclass, replace
from kernlens.model.behaviour import ObservedLine
from kernlens.model.fault import Fault
from kernlens.model.kernel import Kernel


@dataclass(frozen=True, slots=True)
class ObservedLineChange:
    """A line of both sides, None on a side where it did not run."""

    key: LineKey
    old: ObservedLine | None
    new: ObservedLine | None

    @property
    def units(self) -> tuple[float | None, float | None]:
        """The units of memory of a request on both sides; None without requests."""
        return _ratio(self.old, "units", "requests"), _ratio(self.new, "units", "requests")

    @property
    def waves(self) -> tuple[float | None, float | None]:
        """The wavefronts of a request on both sides; None without requests to local memory."""
        return _ratio(self.old, "wavefronts", "local_requests"), _ratio(self.new, "wavefronts", "local_requests")

    @property
    def runs(self) -> tuple[int | None, int | None]:
        """The runs by work-items on both sides."""
        return None if self.old is None else self.old.runs, None if self.new is None else self.new.runs


@dataclass(frozen=True, slots=True)
class BehaviourChange:
    """The lines that do something else, in the new side's order; none, and a ``reason``, where the launches cannot be compared.
    ``units`` are those of all lines on both sides. ``faults`` are those that were seen, None if a side was not observed.
    ``bounds`` are those of the launches on both sides, which may be of other sizes; None where their cycles are not known."""

    lines: tuple[ObservedLineChange, ...] = ()
    units: tuple[int, int] = (0, 0)
    reason: str = ""
    faults: tuple[tuple[Fault, ...], tuple[Fault, ...]] | None = None
    bounds: tuple[KernelBound, KernelBound] | None = None

    @property
    def has_other_faults(self) -> bool:
        """True if the sides have other numbers of faults."""
        return self.faults is not None and len(self.faults[0]) != len(self.faults[1])


def behaviour_change(pair: KernelPair, sources: SourceLines) -> BehaviourChange | None:
    """Return what the kernels of a pair did otherwise; None if neither was observed."""
    change = _change(pair.old, pair.new, sources)
    return change and replace(change, bounds=_bounds(pair))


def _bounds(pair: KernelPair) -> tuple[KernelBound, KernelBound] | None:
    """Return the bounds of both sides, if as many launches were counted, whole, for one machine: a part touches a buffer's
    bytes for the first time more often than the whole."""
    sides = [(pair.old_program, pair.old), (pair.new_program, pair.new)]
    observed = [observed_code(kernel) for _, kernel in sides if kernel.code_size]
    machines = {each.launches[0].machine for each in observed if each is not None and each.launches}
    counts = {sum(launch.launches for launch in each.launches) for each in observed if each is not None}
    if len(observed) < len(sides) or len(machines) != 1 or len(counts) != 1:
        return None
    if any(launch.groups_done < launch.groups for each in observed if each is not None for launch in each.launches):
        return None
    old, new = (kernel_bound(program, kernel) for program, kernel in sides)
    return (old, new) if old.cycles and new.cycles else None


def _change(old: Kernel, new: Kernel, sources: SourceLines) -> BehaviourChange | None:
    sides = observed_code(old), observed_code(new)
    if sides == (None, None):
        return None
    before, after = sides
    if before is None or after is None:
        return BehaviourChange(reason=f"only the {'new' if before is None else 'old'} side was observed")
    is_known = all(side.launches or side.others or side.faults for side in (before, after))
    faults = (before.faults, after.faults) if is_known else None
    if (reason := _unlike(before, after)) is not None:
        return BehaviourChange(reason=reason, faults=faults)
    lines: dict[LineKey, list[ObservedLine | None]] = {}
    for number, (side, key_of) in enumerate(((before, sources.old_key), (after, sources.new_key))):
        for (path, line), counts in side.lines.items():
            lines.setdefault(key_of(path, line), [None, None])[number] = counts
    changes = (
        ObservedLineChange(key, *both)
        for key, both in sorted(lines.items(), key=lambda item: (item[0].path, item[0].new or item[0].old, item[0].old))
    )
    totals = tuple(sum(line.units for line in side.lines.values()) for side in (before, after))
    differing = tuple(each for each in changes if any(a != b for a, b in (each.units, each.waves, each.runs)))
    return BehaviourChange(differing, (totals[0], totals[1]), faults=faults)


def _unlike(old: ObservedCode, new: ObservedCode) -> str | None:
    """Return why the launches of two sides cannot be compared; None if they can."""
    if not old.launches or not new.launches:
        return f"nothing was counted of the {'new' if old.launches else 'old'} side"
    if old.machine != new.machine:
        return "the sides were observed for other machines: sub-groups, units of memory or banks differ"
    sides = [
        sorted((each.global_size, each.local_size, each.launches) for each in side.launches) for side in (old, new)
    ]
    if sides[0] != sides[1]:
        return "the sides were observed with other sizes, or not as often"
    for name, side in (("old", old), ("new", new)):
        partial = next((each for each in side.launches if each.groups_done < each.groups), None)
        if partial is not None:
            return (
                f"only {partial.groups_done:,} of {partial.groups:,} work-groups ran on the {name} side, so sums and lines"
                " are not compared; allow more with observe --seconds, or describe a smaller launch"
            )
    return None


def _ratio(line: ObservedLine | None, number: str, requests: str) -> float | None:
    if line is None or not getattr(line, requests) or getattr(line, number) is None:
        return None
    return float(getattr(line, number) / getattr(line, requests))
