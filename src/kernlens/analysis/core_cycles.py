"""The cycles that the launches of a kernel would take one core, for each kind of work as if it alone took time.

An interpreter counted the launches. A core's cache serves a line of 64 bytes in a cycle, and its local memory a wavefront:
those that the code asks for, where a message of it is for a whole sub-group, and else those of the source. Lanes of a request
that change one address take a cycle each. Memory moves the bytes of a board of the device's generation, and each byte of a
buffer once at most, as if caches kept it. All of these work at the same time: what takes most cycles is the bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kernlens.analysis.machine_accesses import JOINED, UNIFORM, machine_accesses
from kernlens.analysis.observed_code import Line, ObservedCode, observed_code
from kernlens.analysis.ranked_causes import KnownRounds
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
    ``issue`` cycles, and takes ``thread`` of an engine whose threads wait beside one another."""
    observed = observed_code(kernel)
    if observed is None or not observed.launches or not rounds.sub_groups:
        return ()
    cycles = {ISSUE: issue * rounds.sub_groups / core.engines, WAIT: thread * rounds.sub_groups / core.engines}
    if core.memory_bytes:
        moved = sum(float(launch.times) * _least_bytes(launch) for launch in observed.launches)
        cycles[MEMORY] = moved / core.memory_bytes
    cycles |= _served(kernel, observed, rounds)
    cycles[ATOMICS] = sum(
        times * access.contention
        for times, access in _accesses(observed)
        if access.kind == ATOMIC and access.space == GLOBAL
    )
    done = sum(launch.times * launch.groups_done for launch in observed.launches)
    scale = float(sum(launch.times * launch.groups for launch in observed.launches) / done) if done else 1.0
    return tuple(sorted(((name, count * scale) for name, count in cycles.items() if count), key=lambda each: -each[1]))


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


def _least_bytes(launch: Behaviour) -> int:
    """Return the bytes that memory moves for a launch whose buffers caches keep: what requests touch, all buffers at most."""
    moved = launch.unit * sum(
        each.units[UNITS.index(launch.unit)] for each in launch.accesses if each.space in (GLOBAL, CONSTANT)
    )
    return min(moved, sum(size for _, size in launch.buffers) or moved)
