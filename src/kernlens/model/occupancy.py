"""Occupancy: the hardware threads of a core that work-groups of a kernel fill, what limits them, and the next step.

A core is what the threads of a work-group share: a sub-slice or Xe-core, a compute unit or a pair of them, a multiprocessor.
``isa`` knows the cores; what is here is the arithmetic, which is the same for all: as many whole work-groups as every
resource has room for.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernlens.dataclass import NamedTuple, dataclass

#: The names of the limits that are not a register file or a local memory.
THREADS, BARRIERS, GROUPS = "threads", "barriers", "work-groups"
#: The smallest work-group of those that ``usual_sizes`` lists.
_SMALLEST = 64


class RegisterFile(NamedTuple):
    """Registers that limit the threads of a core: a thread has ``taken`` of the file ``name``. ``steps`` are the most registers
    of a thread, and the threads that a core then runs: the most threads first."""

    name: str
    taken: int
    steps: tuple[tuple[int, int], ...]

    @property
    def threads(self) -> int:
        """The threads that a core runs, none if no step allows as many registers."""
        return next((threads for most, threads in self.steps if self.taken <= most), 0)

    def most_for(self, threads: int) -> int | None:
        """Return the most registers with which a core runs so many threads; None if it never does."""
        return max((most for most, count in self.steps if count >= threads), default=None)


class LocalMemory(NamedTuple):
    """The local memory ``name`` of a core: its ``size`` in bytes, the most of ``group_size`` for one work-group, the bytes that
    one has ``taken``, and those that are ``reserved`` besides. A work-group gets one of ``sizes``, or, where there are none, a
    multiple of ``granule``."""

    name: str
    taken: int
    size: int
    group_size: int
    sizes: tuple[int, ...] = ()
    granule: int = 1
    reserved: int = 0

    @property
    def allocated(self) -> int:
        """The bytes that a work-group gets."""
        asked = self.taken + self.reserved
        if self.sizes:
            return next((size for size in self.sizes if asked <= size), asked)
        return -(-asked // self.granule) * self.granule

    @property
    def groups(self) -> int | None:
        """The work-groups that fit a core; None if they take nothing."""
        if self.taken > self.group_size:
            return 0
        return self.size // self.allocated if self.allocated else None

    def most_for(self, groups: int) -> int | None:
        """Return the most bytes of a work-group of which so many fit a core; None if even the least are too many."""
        share = min(self.size // groups, self.group_size + self.reserved)
        fitting = (
            [size for size in self.sizes if size <= share] if self.sizes else [share // self.granule * self.granule]
        )
        return max(fitting, default=-1) - self.reserved if max(fitting, default=-1) >= self.reserved else None


@dataclass(frozen=True, slots=True)
class Core:
    """A core of a device, with what a kernel takes of it. ``name`` is what the vendor calls it, ``thread`` its hardware
    threads, of which it runs at most ``slots``, each with ``width`` work-items. ``groups`` is the most work-groups.
    ``barriers`` are work-groups that have their own barrier, None where barriers limit nothing; ``is_alone_free``: a work-group
    of one thread takes none. ``largest`` is the largest work-group; ``source`` the document with the rules. ``engines`` are the
    parts that issue instructions, each of the threads that it has; 0 where that is not known. ``memory_bytes`` are those that
    memory moves for one core in a cycle, if all ``cores`` of ``board`` ask for as many; 0 where that is not known."""

    name: str
    thread: str
    slots: int
    width: int
    groups: int
    largest: int
    files: tuple[RegisterFile, ...]
    local: LocalMemory
    barriers: int | None
    source: str
    is_alone_free: bool = False
    engines: int = 0
    memory_bytes: float = 0
    board: str = ""
    cores: int = 0


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The occupancy of a core by work-groups of ``work_group`` work-items: ``groups`` of them run beside one another, with
    ``threads`` hardware threads of ``slots``. ``limits`` are the resources that no further work-group finds room in; none if
    all threads are filled. ``step`` is the least that makes room for more, ``step_groups`` of them; "" if nothing is known to.
    """

    work_group: int
    groups: int
    threads: int
    slots: int
    limits: tuple[str, ...] = ()
    step: str = ""
    step_groups: int = 0

    @property
    def percent(self) -> int:
        """The share of the core's hardware threads that are filled, rounded down."""
        return 100 * self.threads // self.slots


def occupancy_of(core: Core, work_group: int) -> Occupancy:
    """Return the occupancy by work-groups of ``work_group`` work-items, 1 or more."""
    threads = -(-work_group // core.width)
    if work_group > core.largest:
        return Occupancy(work_group, 0, 0, core.slots)
    room = _room(core, threads)
    groups = min(room.values())
    if groups * threads == core.slots:
        return Occupancy(work_group, groups, core.slots, core.slots)
    limits = tuple(name for name, count in room.items() if count == groups)
    return Occupancy(work_group, groups, groups * threads, core.slots, limits, *_step(core, threads, room, limits))


def usual_sizes(core: Core) -> tuple[int, ...]:
    """Return the powers of two from 64 on, up to the largest work-group, and that."""
    sizes = [1 << bits for bits in range(core.largest.bit_length()) if 1 << bits >= _SMALLEST]
    return tuple(dict.fromkeys([*sizes, core.largest]))


def most_threads(core: Core) -> int:
    """Return the most hardware threads that work-groups fill, of any size up to the largest."""
    most = -(-core.largest // core.width)
    return max(min(_room(core, threads).values()) * threads for threads in range(1, most + 1))


def _room(core: Core, threads: int) -> dict[str, int]:
    """Return the work-groups of so many threads that each resource has room for."""
    room = {THREADS: core.slots // threads}
    room |= {file.name: file.threads // threads for file in core.files if file.threads < core.slots}
    local = core.local.groups
    if local is not None:
        room[core.local.name] = local
    if core.barriers is not None and not (core.is_alone_free and threads == 1):
        room[BARRIERS] = core.barriers
    room[GROUPS] = core.groups
    return room


def _step(core: Core, threads: int, room: Mapping[str, int], limits: tuple[str, ...]) -> tuple[str, int]:
    """Return the least change that makes room for more work-groups, and for how many, where one resource alone is short."""
    if len(limits) != 1:
        return "", 0
    (limit,) = limits
    # More than the other resources have room for no change of this one gives.
    most = min(count for name, count in room.items() if name != limit)
    for groups in range(room[limit] + 1, most + 1):
        words, fitting = _change(core, limit, threads, groups)
        if words:
            return words, min(fitting, most)
    return "", 0


def _change(core: Core, limit: str, threads: int, groups: int) -> tuple[str, int]:
    """Return the least change of the resource ``limit`` with which it has room for so many work-groups, and for how many it
    has room then, which may be more; "" if nothing gives that."""
    if limit == core.local.name:
        size = core.local.most_for(groups)
        if size is None or size >= core.local.taken:
            return "", 0
        return f"{core.local.taken - size:,} bytes less {limit}", _groups_of(
            core.local._replace(taken=size), core.groups
        )
    file = next((file for file in core.files if file.name == limit), None)
    registers = file.most_for(groups * threads) if file is not None else None
    if file is None or registers is None or registers >= file.taken:
        return "", 0
    left = file.taken - registers
    return f"{left:,} {limit}{'s' if left > 1 else ''} less", file._replace(taken=registers).threads // threads


def _groups_of(local: LocalMemory, most: int) -> int:
    return most if local.groups is None else local.groups
