"""Behaviour: what a kernel did on its data, counted in an interpreter, for each source line and memory access."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import ClassVar

from kernlens.dataclass import dataclass, field, replace
from kernlens.model.columns import Cell, Table, Tabular
from kernlens.model.fault import Fault
from kernlens.model.source_map import SourcePlace

LOAD, STORE, ATOMIC = KINDS = ("load", "store", "atomic")
PRIVATE, GLOBAL, CONSTANT, LOCAL, IMAGE = SPACES = ("private", "global", "constant", "local", "image")
#: The sizes in bytes of the units that are counted.
UNITS = (32, 64, 128)
#: What the addresses of a request's lanes have in common.
PATTERNS = ("same address", "consecutive", "strided", "irregular", "single lane")
#: Lower bits of an address that are the offset in its buffer.
_OFFSET_BITS = 48
#: What a request of a sub-group has at most: bytes of a lane, lanes, and the greatest offset, which JSON holds exactly.
_MOST_BYTES, _MOST_LANES, _MOST_OFFSET = 1 << 16, 1024, (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class ObservedMachine:
    """The machine that requests are counted for: ``width`` work-items are a sub-group; ``unit`` is the size in bytes in which
    global memory is moved, None if it is not known, and ``banks`` of ``bank_bytes`` are those of local memory, 0: not known.
    ``has_phases``: wide accesses to local memory are served in halves and quarters of a sub-group; ``is_split``: accesses that
    are wider than their alignment are done in parts. ``source`` names the public statement of unit and banks."""

    width: int = 32
    unit: int | None = None
    banks: int = 0
    bank_bytes: int = 4
    has_phases: bool = False
    is_split: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """One request as it was: ``lanes`` are the active ones, each with its offset in bytes from ``begin``, and accesses so many
    ``bytes``. The offset of ``begin`` in its buffer, or in local memory, is a multiple of ``GRAIN``. ``argument`` is the name
    of the kernel's argument that the first lane's address is in, None if it is in none."""

    begin: int
    bytes: int
    lanes: tuple[tuple[int, int], ...]
    argument: str | None = None

    #: A multiple of all units, and of the bytes that one row of all banks has.
    GRAIN: ClassVar[int] = 4096

    @classmethod
    def of(
        cls, size: int, lanes: Sequence[int], addresses: Sequence[int], argument: str | None = None
    ) -> ObservedRequest:
        """Return a request with these addresses, whose upper bits name buffers."""
        begin = min(addresses) // cls.GRAIN * cls.GRAIN
        offsets = [address - begin for address in addresses]
        return cls(begin & ((1 << _OFFSET_BITS) - 1), size, tuple(zip(lanes, offsets, strict=True)), argument)

    @property
    def is_bounded(self) -> bool:
        """False for what no sub-group accesses together: then its units are not to be listed."""
        is_sized = 0 < self.bytes <= _MOST_BYTES and 0 <= self.begin <= _MOST_OFFSET
        return (
            is_sized
            and 0 < len(self.lanes) <= _MOST_LANES
            and all(0 <= lane < _MOST_LANES and 0 <= at <= _MOST_OFFSET for lane, at in self.lanes)
        )

    def units(self, unit: int) -> list[int]:
        """Return the numbers of the units that it touches, in their order."""
        return sorted({each for _, at in self.lanes for each in range(at // unit, (at + self.bytes - 1) // unit + 1)})


@dataclass(frozen=True, slots=True)
class ObservedAccess:
    """The requests of one memory access of the code; ``calls`` are those through which it was inlined, innermost first.

    A request is what the lanes of a sub-group access together, in the same round of all loops around it. ``units`` are those of
    32, 64 and 128 bytes that the requests touch, ``least`` the fewest that would hold as many bytes. ``used`` are the bytes
    that differ of the ``bytes`` that lanes ask for. ``wavefronts`` are None where the banks are not known. ``patterns`` counts
    the requests of each of PATTERNS, ``stride`` the least and the greatest of the strided ones, in bytes. ``ungrouped``
    accesses were too many to be counted as requests. ``example`` is the request that cost most, the first of these; None if
    it is not known.
    """

    place: SourcePlace | None
    calls: tuple[SourcePlace, ...]
    kind: str
    space: str
    width: int
    requests: int
    lanes: int
    bytes: int
    used: int
    units: tuple[int, int, int]
    least: tuple[int, int, int]
    wavefronts: int | None
    least_wavefronts: int | None
    distinct: int
    contention: int
    patterns: tuple[int, int, int, int, int]
    stride: tuple[int, int] | None
    ungrouped: int
    example: ObservedRequest | None = None

    @property
    def pattern(self) -> str:
        """The pattern of most of its requests, in words."""
        most = max(range(len(PATTERNS)), key=lambda each: self.patterns[each])
        if PATTERNS[most] == "strided" and self.stride is not None and self.stride[0] == self.stride[1]:
            return f"stride of {self.stride[0]:,} bytes"
        return PATTERNS[most]


@dataclass(frozen=True, slots=True)
class ObservedBranch:
    """A branch of the code: how often sub-groups came to it, in how many of these their lanes ``parted``, and how often
    work-items went to each of its targets."""

    place: SourcePlace | None
    sub_groups: int
    parted: int
    shares: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ObservedLoop:
    """A loop of the code: how often work-items came into it, and the rounds that they ran, fewest, on average and most.
    ``sub_group_rounds`` is the average of what a sub-group runs, None if it is not known."""

    place: SourcePlace | None
    entries: int
    least: int
    mean: float
    most: int
    sub_group_rounds: float | None


@dataclass(frozen=True, slots=True)
class ObservedLine:
    """The counts of one source line. ``runs`` is how often work-items ran it, ``sub_group_runs`` how often sub-groups
    did; ``lanes`` of a sub-group were active on average, None if that is not known. Of global memory are ``requests``,
    ``units`` and ``least``, of local memory the others; ``units`` are of the machine's size."""

    place: SourcePlace
    runs: int
    sub_group_runs: int
    lanes: float | None
    requests: int
    units: int
    least: int
    bytes: int
    local_requests: int
    wavefronts: int | None
    least_wavefronts: int | None
    atomics: int
    contention: int

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The row of a table, as ``LINE_KINDS`` names its columns."""
        lanes = None if self.lanes is None else round(self.lanes, 2)
        numbers = (self.runs, self.sub_group_runs, lanes, self.requests, self.units, self.least, self.bytes)
        local = (self.local_requests, self.wavefronts, self.least_wavefronts)
        return (self.place.path, self.place.line, *numbers, *local, self.atomics, self.contention)


@dataclass(frozen=True, slots=True)
class ObservedGroups:
    """Which work-groups ran of a launch: the first ones of their order, or a sample; ``chosen`` were to run. ``strata`` are the
    numbers of groups at corners, at other edges and inside, each with how many of them ran. ``instructions`` and ``units`` of
    32, 64 and 128 bytes are the least, the average and the most of a group. ``shared`` are the arguments through which
    work-groups may use each other's results: those that are read and written, or changed by atomics."""

    chosen: int
    is_sample: bool
    strata: tuple[tuple[int, int], ...]
    instructions: tuple[int, float, int]
    units: tuple[tuple[int, float, int], ...]
    shared: tuple[str, ...]


#: The columns of a table of lines, and what they hold.
LINE_KINDS = {
    **{"path": str, "line": int, "runs": int, "sub_group_runs": int, "lanes": float, "requests": int, "units": int},
    **{"least_units": int, "bytes": int, "local_requests": int, "wavefronts": int, "least_wavefronts": int},
    **{"atomics": int, "contention": int},
}


@dataclass(frozen=True)
class Behaviour(Tabular):
    """One launch of a kernel as it was counted in an interpreter: ``groups_done`` of its ``groups`` work-groups, the first
    ones. ``pieces`` are the blocks of each line: place, number of instructions, runs by work-items and by sub-groups, and
    whether these are complete. ``buffers`` are the addresses and sizes of those in global memory that its accesses came to
    first, in the order in which they were made. ``notes`` are sentences on what the counts are not. ``launches`` is how often
    such a launch ran; ``reason`` says why nothing was counted of it, "" if something was."""

    kernel: str
    machine: ObservedMachine
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    groups: int
    groups_done: int
    is_out_of_time: bool
    instructions: int
    copied_bytes: int
    pieces: Sequence[tuple[SourcePlace, int, int, int, bool]] = field(repr=False)
    accesses: tuple[ObservedAccess, ...] = field(repr=False)
    branches: tuple[ObservedBranch, ...] = field(repr=False)
    loops: tuple[ObservedLoop, ...] = field(repr=False)
    barriers: tuple[tuple[SourcePlace | None, int], ...] = field(default=(), repr=False)
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""
    device: str | None = None
    buffers: tuple[tuple[int, int], ...] = ()
    launches: int = 1
    reason: str = ""
    ran: ObservedGroups | None = field(default=None, repr=False)

    @classmethod
    def not_counted(
        cls,
        kernel: str,
        reason: str,
        global_size: tuple[int, int, int],
        local_size: tuple[int, int, int],
        device: str | None = None,
        launches: int = 1,
    ) -> Behaviour:
        """Return a launch of which nothing is counted, for this reason, one sentence."""
        return cls(
            *(kernel, ObservedMachine(), global_size, local_size, 0, 0, False, 0, 0, (), (), (), ()),
            device=device, launches=launches, reason=reason,
        )  # fmt: skip

    def without_counts(self, reason: str) -> Behaviour:
        """Return the launch without what was counted, and why."""
        return replace(self, pieces=(), accesses=(), branches=(), loops=(), barriers=(), reason=reason)

    @property
    def times(self) -> Fraction:
        """The factor of the counts for all launches: the counts may already be the sums of several of them."""
        own = prod(-(-size // group) for size, group in zip(self.global_size, self.local_size, strict=True) if group)
        return Fraction(self.launches * own, self.groups) if self.groups and own else Fraction(self.launches)

    @property
    def sub_groups(self) -> int:
        """The sub-groups of the work-groups that ran."""
        return self.groups_done * -(-prod(self.local_size) // self.machine.width)

    @property
    def is_counted(self) -> bool:
        """False if there is a ``reason`` in place of counts."""
        return not self.reason

    @property
    def unit(self) -> int:
        """The size in bytes of the units that lines are counted in: the machine's, or 64 where that is not known."""
        return self.machine.unit or 64

    @cached_property
    def lines(self) -> tuple[ObservedLine, ...]:
        """The lines that ran, in the order of their files and numbers."""
        pieces: dict[tuple[str, int], list[tuple[SourcePlace, int, int, int, bool]]] = {}
        for piece in self.pieces:
            pieces.setdefault((piece[0].path, piece[0].line), []).append(piece)
        accesses: dict[tuple[str, int], list[ObservedAccess]] = {}
        for access in self.accesses:
            if access.place is not None:
                accesses.setdefault((access.place.path, access.place.line), []).append(access)
        return tuple(self._line(key, pieces[key], accesses.get(key, [])) for key in sorted(pieces))

    def _line(
        self,
        key: tuple[str, int],
        pieces: Sequence[tuple[SourcePlace, int, int, int, bool]],
        accesses: Sequence[ObservedAccess],
    ) -> ObservedLine:
        work = sum(count * runs for _, count, runs, _, _ in pieces)
        of_sub_groups = sum(count * runs for _, count, _, runs, _ in pieces)
        is_whole = all(whole for *_, whole in pieces)
        chosen = UNITS.index(self.unit)
        moved = [each for each in accesses if each.space in (GLOBAL, CONSTANT)]
        local = [each for each in accesses if each.space == LOCAL]
        atomic = [each for each in accesses if each.kind == ATOMIC]
        return ObservedLine(
            SourcePlace(*key),
            max(runs for _, _, runs, _, _ in pieces),
            max(runs for _, _, _, runs, _ in pieces),
            work / of_sub_groups if is_whole and of_sub_groups else None,
            sum(each.requests for each in moved),
            sum(each.units[chosen] for each in moved),
            sum(each.least[chosen] for each in moved),
            sum(each.bytes for each in moved),
            sum(each.requests for each in local),
            _sum([each.wavefronts for each in local]),
            _sum([each.least_wavefronts for each in local]),
            sum(each.requests for each in atomic),
            max((-(-each.contention // each.requests) for each in atomic if each.requests), default=0),
        )

    @property
    def table(self) -> Table:
        """A row for each line."""
        return Table.of_rows(LINE_KINDS, (line.cells for line in self.lines))


def _sum(numbers: Sequence[int | None]) -> int | None:
    """Return the sum; None if one is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
