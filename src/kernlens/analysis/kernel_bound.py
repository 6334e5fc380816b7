"""The bound of a kernel: waits that too few threads hide, or else instructions, memory, caches, local memory or atomics.

The model: an engine has some hardware threads of the kernel, and issues an instruction of one thread while others wait. A
thread that issues for I cycles and waits for W leaves an engine idle unless (I + W) / I threads take turns. Cycles are the
compiler's estimates, in which a request never waits for memory that others keep busy. What that takes follows for launches
that an interpreter counted (``core_cycles``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil, prod

from kernlens.analysis.core_cycles import WAIT, core_cycles, device_fill
from kernlens.analysis.line_waits import operation
from kernlens.analysis.observed_code import observed_code
from kernlens.analysis.ranked_causes import KnownRounds, known_rounds
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.model.behaviour import CONSTANT, GLOBAL, UNITS
from kernlens.model.kernel import Kernel
from kernlens.model.occupancy import Occupancy, most_threads
from kernlens.model.program import Program
from kernlens.model.waits import Waits

UNKNOWN_ISSUE = "issue_or_bandwidth"
#: The part of a kernel that no loop of unknown rounds is around.
_OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class KernelBound:
    """The bound of a kernel: ``kind`` is the first of ``cycles``, or UNKNOWN_ISSUE or WAIT if nobody observed it; "" if it is
    not known, and ``reason`` says why. A thread issues for ``issue`` cycles and waits for ``wait``, with one round of each
    loop whose rounds are not known; an engine has ``threads``, and with ``needed`` none of its time is idle. Where rounds are
    not known, ``needed`` is that of the part that needs most. ``work_group`` is the size of which that many threads fit, 0 for
    the best one. ``waits`` has the share of the waits for each operation, the largest first. ``bytes`` are those of global
    memory that are moved while an engine issues a cycle, None if nobody observed it. ``cycles`` are those that all launches
    take the busiest core of ``board``, if one kind of work alone took time, the most first; ``fill``
    is the share of its hardware threads that the largest of them fills. ``is_partial``: not all work-groups ran, and what did
    stands for the others."""

    kind: str
    reason: str = ""
    issue: float = 0
    wait: float = 0
    threads: float = 0
    needed: int = 0
    work_group: int = 0
    waits: tuple[tuple[str, float], ...] = ()
    bytes: float | None = None
    cycles: tuple[tuple[str, float], ...] = ()
    board: str = ""
    fill: float | None = None
    is_partial: bool = False


def kernel_bound(program: Program, kernel: Kernel) -> KernelBound:
    """Return the bound of a kernel, for the launches that were observed, or for the best size of work-groups."""
    try:
        reason = kernel.waits_reason
        waits = None if kernel.simulates_waits else kernel.waits
    except KernlensError as error:
        reason, waits = str(error), None
    if waits is None:
        return KernelBound("", f"cycles are not known: {reason or 'they take another program'}")
    threads, work_group = _threads_of_engine(kernel)
    core = kernel.launch_limits.core
    if isinstance(core, str) or not threads:
        return KernelBound("", f"threads of an engine are not known: {core if isinstance(core, str) else core.name}")
    rounds = known_rounds(program, kernel)
    parts = _parts(kernel, waits, rounds)
    issue, wait = (sum(part[number] for part in parts.values()) / (rounds.sub_groups or 1) for number in (0, 1))
    needs = {number: (issued + waited) / issued for number, (issued, waited) in parts.items() if issued}
    kinds = {WAIT if needed > threads else UNKNOWN_ISSUE for needed in needs.values()}
    needed = ceil(max(needs.values(), default=0))
    moved = _bytes(kernel, issue * rounds.sub_groups)
    cycles = core_cycles(kernel, core, rounds, issue, issue + wait)
    known = (issue, wait, threads, needed, work_group, _shares(kernel, waits, rounds), moved, cycles, core.board)
    fill = device_fill(kernel, core)
    if cycles:
        return KernelBound(
            cycles[0][0], "", *known, fill, any(each.groups_done < each.groups for each in kernel.behaviours)
        )
    if len(kinds) == 1:
        return KernelBound(kinds.pop(), "", *known)
    names = list(dict.fromkeys(rounds.names[number] for number in needs if number != _OUTSIDE))
    return KernelBound("", f"it depends on the rounds of {' and '.join(names[:2])}: state them with --trips", *known)


def _threads_of_engine(kernel: Kernel) -> tuple[float, int]:
    """Return the threads of an engine, and of which size of work-groups; the fewest of all observed launches. 0 if they are not
    known."""
    limits, core = kernel.launch_limits, kernel.launch_limits.core
    if isinstance(core, str) or not core.engines:
        return 0, 0
    sizes = observed_sizes(kernel) or tuple(filter(None, (prod(limits.required_work_group or (0,)),)))
    known = [each for size in sizes if (each := limits.occupancy(size)) is not None]
    if not known:
        return most_threads(core) / core.engines, 0
    least: Occupancy = min(known, key=lambda each: each.threads)
    return least.threads / core.engines, least.work_group


def observed_sizes(kernel: Kernel) -> tuple[int, ...]:
    """Return the sizes of the work-groups of the launches that were observed, in ascending order."""
    return tuple(sorted({size for each in kernel.behaviours if (size := prod(each.local_size)) > 0}))


def _parts(kernel: Kernel, waits: Waits, rounds: KnownRounds) -> Mapping[int, tuple[int, int]]:
    """Return the cycles to issue and to wait of the code in each loop of unknown rounds, and outside of all. What holds of each
    part holds of the kernel, however often each runs: its (I + W) / I is between theirs."""
    loops = kernel.loops
    numbers = [_OUTSIDE] * len(waits.issue)
    for row, number in enumerate(loops.innermost if loops is not None and rounds.names else ()):
        at: int | None = number if number >= 0 else None
        while loops is not None and at is not None and at not in rounds.names:
            at = loops.loops[at].parent
        numbers[row] = _OUTSIDE if at is None else at
    issue, wait = Counter[int](), Counter[int]()
    for row, number in enumerate(numbers):
        issue[number] += waits.issue[row] * rounds.weights[row]
    for row, each in waits.waits.items():
        wait[numbers[row]] += each.cycles * rounds.weights[row]
    return {number: (issue[number], wait[number]) for number in issue}


def _shares(kernel: Kernel, waits: Waits, rounds: KnownRounds) -> tuple[tuple[str, float], ...]:
    cycles: Counter[str] = Counter()
    for row, wait in waits.waits.items():
        cycles[operation(kernel.instructions, wait.producer)] += wait.cycles * rounds.weights[row]
    total = cycles.total()
    return tuple((name, count / total) for name, count in cycles.most_common() if count)


def _bytes(kernel: Kernel, issue: float) -> float | None:
    """Return the bytes of global memory that all launches move, for each cycle that their threads issue."""
    observed = observed_code(kernel)
    if observed is None or not observed.launches or not issue:
        return None
    moved = 0.0
    for launch in observed.launches:
        units = sum(
            access.units[UNITS.index(launch.unit)] for access in launch.accesses if access.space in (GLOBAL, CONSTANT)
        )
        moved += float(launch.times) * units * launch.unit
    return moved / issue
