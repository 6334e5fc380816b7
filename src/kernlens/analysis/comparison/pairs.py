"""The programs, and the kernels, of two sides that belong together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from kernlens.dataclass import dataclass
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_path import pieces_of


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A kernel that only one side has; ``kernel`` is None for a program without any."""

    program: Program
    kernel: Kernel | None


@dataclass(frozen=True, slots=True)
class KernelPair:
    """A kernel of both sides, with its program on each."""

    old_program: Program
    new_program: Program
    old: Kernel
    new: Kernel


@dataclass(frozen=True, slots=True)
class Pairing:
    """The pairs that belong together, in the new side's order, and what only one side has."""

    kernels: tuple[KernelPair, ...]
    only_old: tuple[Unpaired, ...]
    only_new: tuple[Unpaired, ...]


def _name(program: Program) -> str:
    """Return the name of its build; a recording adds device and toolchain where one name stands for several programs."""
    return program.build.name or program.name


def _kernels(program: Program) -> frozenset[str]:
    return frozenset(program.kernels)


def _source(program: Program) -> str:
    """Return the name of the main source, in whatever folder it lies."""
    return "".join(pieces_of(program.build.source)[-1:])


def _device(program: Program) -> str:
    return str(program.device or program.device_id)


#: What is asked of a pair, the surest first. Later ones pair programs of other devices, and of other names.
_KEYS: Sequence[Callable[[Program], Hashable]] = (
    lambda program: (_name(program), _device(program), program.build.toolchain_title, program.build.options),
    lambda program: (_name(program), _device(program), program.build.toolchain_title),
    lambda program: (_name(program), _device(program), _kernels(program)),
    lambda program: (_name(program), _device(program)),
    lambda program: (_name(program), program.build.toolchain_title, _kernels(program)),
    lambda program: (_name(program), _kernels(program)),
    _name,
    lambda program: (_source(program), _device(program), _kernels(program)),
    lambda program: (_device(program), _kernels(program)),
    _kernels,
    lambda program: (_source(program), _device(program)),
)


def pair(old: Iterable[Program], new: Iterable[Program]) -> Pairing:
    """Pair the programs by name, device and source, or by their kernels' names if their own differ; in each pair the
    kernels by name. Programs that are alike in all that are paired in their order."""
    old_left, new_left = list(old), list(new)
    order = {id(program): number for number, program in enumerate(new_left)}
    programs: list[tuple[Program, Program]] = []
    for key in _KEYS:
        waiting: dict[Hashable, list[Program]] = {}
        for program in reversed(old_left):
            waiting.setdefault(key(program), []).append(program)
        taken = set()
        for program in new_left:
            if alike := waiting.get(key(program)):
                programs.append((alike.pop(), program))
                taken |= {id(programs[-1][0]), id(program)}
        old_left = [program for program in old_left if id(program) not in taken]
        new_left = [program for program in new_left if id(program) not in taken]
    if len(old_left) == len(new_left) == 1:
        programs.append((old_left.pop(), new_left.pop()))
    programs.sort(key=lambda both: order[id(both[1])])
    kernels = [
        KernelPair(before, after, before.kernels[name], kernel)
        for before, after in programs
        for name, kernel in after.kernels.items()
        if name in before.kernels
    ]
    only_old = _only_of(programs, old_left)
    only_new = _only_of([(after, before) for before, after in programs], new_left)
    return Pairing(tuple(kernels), tuple(only_old), tuple(only_new))


def _only_of(pairs: Iterable[tuple[Program, Program]], left: Iterable[Program]) -> Iterable[Unpaired]:
    """Yield the kernels that only the first programs of the pairs have, and those of the programs that are ``left``."""
    for program, other in pairs:
        for name, kernel in program.kernels.items():
            if name not in other.kernels:
                yield Unpaired(program, kernel)
    for program in left:
        for kernel in program.kernels.values():
            yield Unpaired(program, kernel)
        if not program.kernels:
            yield Unpaired(program, None)
