"""The cycles that the launches of a kernel take the busiest core of a board, for each kind of work as if it alone took time.

An interpreter counted the launches. A board has so many cores, and each work-group runs on one: of G work-groups the busiest of
C cores runs G / C, rounded up, as many beside one another as fit. A core with fewer threads than engines uses no more engines
than threads; each wave of work-groups takes a thread's cycles to issue and to wait at least. A core's cache serves a line of 64
bytes in a cycle, and its local memory a wavefront: those that the code asks for, where a message of it is for a whole
sub-group, and else those of the source. Memory moves the bytes of the board for all cores, and each byte of a buffer once at
most, as if caches kept it. Lanes of a request that change one address take a cycle each, at least: no public source has
Intel's rate, and how often all requests of a launch change one address is not counted, so that atomics may take longer. All of
these work at the same time: what takes most cycles is the bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from kernlens.analysis.machine_accesses import JOINED, UNIFORM, machine_accesses
from kernlens.analysis.observed_code import Line, ObservedCode, observed_code
from kernlens.analysis.ranked_causes import KnownRounds
from kernlens.dataclass import NamedTuple
from kernlens.model.behaviour import ATOMIC, CONSTANT, GLOBAL, LOCAL, UNITS, Behaviour, ObservedAccess
from kernlens.model.instruction_kind import GLOBAL as GLOBAL_MEMORY
from kernlens.model.instruction_kind import LOAD, SCRATCH, SLM, STORE
from kernlens.model.kernel import Kernel
from kernlens.model.occupancy import Core

ISSUE, WAIT, MEMORY, CACHE, LOCAL_MEMORY, ATOMICS = ("issue", "wait", "memory", "cache", "slm", "atomic")
#: Bytes of a line of the cache, and of a wavefront of local memory.
_LINE = 64


def core_cycles(
    kernel: Kernel, core: Core, rounds: KnownRounds, issue: float, thread: float
) -> tuple[tuple[str, float], ...]:
    """Return the cycles of each kind of work, the most first; none if nobody observed the kernel. A sub-group issues for
    ``issue`` cycles, and takes ``thread`` with its waits."""
    observed = observed_code(kernel)
    if observed is None or not observed.launches or not rounds.sub_groups:
        return ()
    cycles = dict.fromkeys((ISSUE, WAIT, MEMORY), 0.0)
    done = groups = busiest = 0.0
    for launch in observed.launches:
        shape, scale = _shape(kernel, core, launch), launch.groups / (launch.groups_done or 1)
        cycles[ISSUE] += launch.launches * issue * -(-shape.threads // shape.engines)
        cycles[WAIT] += launch.launches * thread * shape.waves
        if core.memory_bytes:
            moved = float(launch.times) * _least_bytes(launch, scale)
            cycles[MEMORY] += moved / (core.memory_bytes * (core.cores or 1))
        done += float(launch.times) * launch.groups_done
        groups += launch.launches * shape.groups
        busiest += launch.launches * shape.busiest
    for name, count in _served(kernel, observed, rounds).items():
        cycles[name] = count * busiest / (done or groups)
    changes = sum(
        times * each.contention for times, each in _accesses(observed) if each.kind == ATOMIC and each.space == GLOBAL
    )
    cycles[ATOMICS] = changes * busiest / (done or groups)
    return tuple(sorted(((name, count) for name, count in cycles.items() if count), key=lambda each: -each[1]))


def device_fill(kernel: Kernel, core: Core) -> float | None:
    """Return the share of a board's hardware threads that the largest launch fills, at most 1; None if nobody observed one, or
    the cores of the board are not known."""
    observed = observed_code(kernel)
    if observed is None or not observed.launches or not core.cores:
        return None
    shapes = [_shape(kernel, core, launch) for launch in observed.launches]
    return min(1.0, max(each.groups * each.threads / each.busiest for each in shapes) / (core.cores * core.slots))


class _Shape(NamedTuple):
    """A launch on a board: its work-groups, those of the busiest core and their threads, the engines that these use, and the
    waves in which they run."""

    groups: int
    busiest: int
    threads: int
    engines: int
    waves: int


def _shape(kernel: Kernel, core: Core, launch: Behaviour) -> _Shape:
    sizes = zip(launch.global_size, launch.local_size, strict=True)
    groups = max(1, prod(-(-size // group) for size, group in sizes if group))
    threads = -(-max(1, prod(launch.local_size)) // core.width)
    occupancy = kernel.launch_limits.occupancy(prod(launch.local_size))
    fitting = max(1, occupancy.groups if occupancy is not None else core.slots // threads)
    busiest = -(-groups // (core.cores or 1))
    together = min(busiest, fitting)
    engines = max(1, min(core.engines, together * threads))
    return _Shape(groups, busiest, busiest * threads, engines, -(-busiest // together))


def _accesses(observed: ObservedCode) -> Iterator[tuple[float, ObservedAccess]]:
    for launch in observed.launches:
        for access in launch.accesses:
            yield float(launch.times), access


def _served(kernel: Kernel, observed: ObservedCode, rounds: KnownRounds) -> dict[str, float]:
    """Return the cycles of the cache and of local memory."""
    machine = machine_accesses(kernel.unread())
    uniform = {(each.line, each.kind, each.space) for each in machine if each.state == UNIFORM}
    served: Counter[str] = Counter()
    places = kernel.source_map.places if kernel.source_map is not None else ()
    for row, kind in enumerate(kernel.instructions.kinds):
        message, place = kind.access, places[row] if places else None
        if message is None or not message.size:
            continue
        lines = rounds.weights[row] * -(-message.size // _LINE)
        if message.is_spill or (kind.name == SCRATCH and message.action in (LOAD, STORE)):
            served[CACHE] += lines
        elif place is not None and ((place.path, place.line), message.action, kind.name) in uniform:
            served[LOCAL_MEMORY if kind.name == SLM else CACHE] += lines
    source: dict[str, float] = {CACHE: 0.0, LOCAL_MEMORY: 0.0}
    for times, access in _accesses(observed):
        space = SLM if access.space == LOCAL else GLOBAL_MEMORY
        if access.space in (GLOBAL, CONSTANT, LOCAL) and (_line(observed, access), access.kind, space) not in uniform:
            if space == SLM:
                source[LOCAL_MEMORY] += times * (access.wavefronts or 0)
            else:
                source[CACHE] += times * access.units[UNITS.index(_LINE)]
    joined = [each.units for each in machine if each.state == JOINED and each.units]
    source[CACHE] -= sum(most - fewest for fewest, most in joined) * observed.launches[0].unit / _LINE
    return {name: served[name] + max(0.0, count) for name, count in source.items()}


def _line(observed: ObservedCode, access: ObservedAccess) -> Line | None:
    place = access.place
    return None if place is None else (observed.paths.get(place.path, place.path), place.line)


def _least_bytes(launch: Behaviour, scale: float) -> float:
    """Return the bytes that memory moves for what was counted, of one launch or the sum of several, whose buffers caches keep
    for a launch, if all of it is ``scale`` times what ran: what requests touch, all buffers at most."""
    moved = (
        scale
        * launch.unit
        * sum(each.units[UNITS.index(launch.unit)] for each in launch.accesses if each.space in (GLOBAL, CONSTANT))
    )
    own = prod(-(-size // group) for size, group in zip(launch.global_size, launch.local_size, strict=True) if group)
    launches = launch.groups / own if own else 1
    return min(moved, launches * sum(size for _, size in launch.buffers) or moved)
