"""The launches of a kernel that an interpreter ran, joined with its machine code: by the lines that both have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from kernlens.dataclass import dataclass, field, replace
from kernlens.model.behaviour import Behaviour, ObservedLine, ObservedMachine
from kernlens.model.fault import Fault, merged_faults
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.model.source_path import end_alike, is_nameless

#: Files of one name that are compared.
_MOST_ALIKE = 100
#: A line: path and number.
Line = tuple[str, int]


@dataclass(frozen=True)
class ObservedCode:
    """The counts of a kernel's launches, by the lines of its line table.

    ``launches`` were counted for one ``machine``, the one of most launches; ``others`` for another one, and ``uncounted`` are
    those of which nothing was counted. ``lines`` has the sums of the launches, each as often as it ran; ``paths`` what the line
    table calls the files of the launches.
    """

    launches: tuple[Behaviour, ...]
    others: tuple[Behaviour, ...]
    uncounted: tuple[Behaviour, ...]
    lines: dict[Line, ObservedLine] = field(repr=False)
    paths: dict[str, str] = field(repr=False)

    @property
    def machine(self) -> ObservedMachine:
        """The machine that was counted for."""
        return self.launches[0].machine

    @property
    def source(self) -> str:
        """The line table's name of the source of most of its lines, "" if nothing was counted."""
        own = self.launches[0].source if self.launches else ""
        return self.paths.get(own, own)

    @property
    def unit(self) -> int:
        """The bytes of the units that lines are counted in."""
        return self.launches[0].unit

    @property
    def sub_groups(self) -> int:
        """The sub-groups that ran, of all launches together."""
        return sum(int(each.times * each.sub_groups) for each in self.launches)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults of all launches, also of those of which nothing was counted; those of one place once."""
        every = (*self.launches, *self.others, *self.uncounted)
        return merged_faults(fault for each in every for fault in each.faults)

    @property
    def has_memory(self) -> bool:
        """True if a line accesses global memory."""
        return any(line.requests for line in self.lines.values())

    @property
    def has_local(self) -> bool:
        """True if a line accesses local memory."""
        return any(line.local_requests for line in self.lines.values())


def observed_code(kernel: Kernel) -> ObservedCode | None:
    """Return what the kernel's launches did by its own lines; None if none was observed."""
    behaviours = kernel.behaviours
    if not behaviours:
        return None
    counted = [each for each in behaviours if each.is_counted]
    runs: dict[ObservedMachine, int] = {}
    for each in counted:
        runs[each.machine] = runs.get(each.machine, 0) + each.launches
    machine = max(runs, key=lambda each: runs[each]) if runs else None
    launches = tuple(each for each in counted if each.machine == machine)
    paths = _paths(kernel, launches)
    return ObservedCode(
        launches,
        tuple(each for each in counted if each.machine != machine),
        tuple(each for each in behaviours if not each.is_counted),
        _lines(launches, paths),
        paths,
    )


def observed_texts(program: Program, observed: ObservedCode) -> dict[str, list[str]]:
    """Return the lines of source files, by the paths of the line table and those of the launches."""
    texts = program.source_lines
    return texts | {path: texts[own] for path, own in observed.paths.items() if own in texts}


def _paths(kernel: Kernel, launches: Iterable[Behaviour]) -> dict[str, str]:
    """Return what the line table calls each file of the launches: the only one that ends alike, or the program's own source
    without a name; the same path if it has none such."""
    source_map = kernel.source_map
    known = dict.fromkeys(path for path, _ in source_map.lines) if source_map else {}
    by_name: dict[str, list[str]] = {}
    for each in known:
        by_name.setdefault(each.rpartition("/")[2], []).append(each)
    own = [each for each in known if is_nameless(each)]
    paths: dict[str, str] = {}
    for launch in launches:
        for path in {piece[0].path for piece in launch.pieces} - paths.keys():
            alike = [each for each in by_name.get(path.rpartition("/")[2], ())[:_MOST_ALIKE] if end_alike(each, path)]
            nameless = own if path == launch.source else []
            is_known = path in known
            paths[path] = path if is_known else next((each[0] for each in (alike, nameless) if len(each) == 1), path)
    return paths


def _lines(launches: Iterable[Behaviour], paths: dict[str, str]) -> dict[Line, ObservedLine]:
    parts: dict[Line, list[tuple[ObservedLine, Fraction]]] = {}
    for launch in launches:
        for line in launch.lines:
            key = paths.get(line.place.path, line.place.path), line.place.line
            parts.setdefault(key, []).append((line, launch.times))
    return {key: _together(key, part) for key, part in sorted(parts.items())}


def _together(key: Line, parts: Sequence[tuple[ObservedLine, Fraction]]) -> ObservedLine:
    """Return the sum of a line's launches, each as often as it ran; lanes are the average over the runs of sub-groups."""
    if len(parts) == 1 and parts[0][1] == 1:
        return replace(parts[0][0], place=SourcePlace(*key))

    def total(name: str) -> int:
        return int(sum(getattr(line, name) * count for line, count in parts))

    def known(name: str) -> int | None:
        return None if any(getattr(line, name) is None for line, _ in parts) else total(name)

    runs = total("sub_group_runs")
    is_known = runs and all(line.lanes is not None for line, _ in parts)
    lanes = (
        sum((line.lanes or 0) * line.sub_group_runs * float(count) for line, count in parts) / runs
        if is_known
        else None
    )
    return ObservedLine(
        SourcePlace(*key),
        *(total("runs"), runs, lanes, total("requests"), total("units"), total("least"), total("bytes")),
        *(total("local_requests"), known("wavefronts"), known("least_wavefronts"), total("atomics")),
        max(line.contention for line, _ in parts),
    )
