"""The programs, and the kernels, of two sides that belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from kernlens.dataclass import dataclass
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_path import pieces_of

#: How the kernels of a pair were found to belong together.
BY_NAME, BY_EQUAL_CODE, BY_SIMILAR_CODE, BY_CHOICE = "name", "equal code", "nearly equal code", "choice"
#: What a capture calls a program that the application gave no name: a number that is another one when it builds another program
#: before.
_NUMBERED = re.compile(r"program-\d+(?:-input-\d+)?")
#: A macro among the options of a build.
_MACRO = re.compile(r"(?<!\S)-D\s*(\S+)")


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A kernel that only one side has; ``kernel`` is None for a program without any."""

    program: Program
    kernel: Kernel | None


@dataclass(frozen=True, slots=True)
class KernelPair:
    """A kernel of both sides, with its program on each. ``paired_by`` is what tells that they belong together: ``name``,
    ``equal code``, ``nearly equal code``, or ``choice``."""

    old_program: Program
    new_program: Program
    old: Kernel
    new: Kernel
    paired_by: str = BY_NAME

    @property
    def is_renamed(self) -> bool:
        """True if the kernel has another name now."""
        return self.paired_by in (BY_EQUAL_CODE, BY_SIMILAR_CODE)

    @property
    def has_two_isas(self) -> bool:
        """True if the two sides are machine code of two instruction sets: no instruction of one is any of the other's."""
        old, new = self.old_program.device, self.new_program.device
        return old is not None and new is not None and old.isa != new.isa

    @property
    def has_sync(self) -> bool:
        """True unless neither side's instruction set, which is known, has instructions that only wait for others."""
        devices = (self.old_program.device, self.new_program.device)
        return any(device is None or device.ip is not None for device in devices)


@dataclass(frozen=True, slots=True)
class Pairing:
    """The pairs that belong together, in the new side's order, and what only one side has. ``programs`` are those that
    belong together as a whole."""

    kernels: tuple[KernelPair, ...]
    only_old: tuple[Unpaired, ...]
    only_new: tuple[Unpaired, ...]
    programs: tuple[tuple[Program, Program], ...] = ()

    @property
    def renamed(self) -> tuple[KernelPair, ...]:
        """The pairs of kernels that have another name now."""
        return tuple(each for each in self.kernels if each.is_renamed)


def _name(program: Program) -> str | None:
    """Return the name of its build; a recording adds device and toolchain where one name stands for several programs."""
    name = program.build.name or program.name
    return None if _NUMBERED.fullmatch(name) else name


def _kernels(program: Program) -> frozenset[str]:
    return frozenset(program.kernels.keys())


def _source(program: Program) -> str | None:
    """Return the name of the main source, in whatever folder it lies; of a numbered program its name is none."""
    name = "".join(pieces_of(program.build.source)[-1:])
    return None if _NUMBERED.fullmatch(name) else name


def _device(program: Program) -> str:
    return str(program.device or program.device_id)


def _content(program: Program) -> int:
    """Return a number that is the same for the same sources, or the same SPIR-V where there is no source."""
    texts = tuple(source.text for source in program.build.sources)
    return hash(texts if any(texts) else bytes(program.spirv))


def _variants(sides: Iterable[Iterable[Program]]) -> dict[int, frozenset[str]]:
    """Return the macros that programs were built with, by their ids, of those of which a side has several variants: one says
    nothing of another. Of others nothing: an edit of their options is what may be compared."""
    sides = [list(side) for side in sides]
    variants = {
        id(program): frozenset(_MACRO.findall(program.build.options or "")) for side in sides for program in side
    }
    several: set[tuple[str | None, str]] = set()
    for side in sides:
        first: dict[tuple[str | None, str], frozenset[str]] = {}
        for program in side:
            group = _name(program), _device(program)
            if group[0] is not None and first.setdefault(group, variants[id(program)]) != variants[id(program)]:
                several.add(group)
    every = (program for side in sides for program in side)
    return {
        id(program): variants[id(program)] if (_name(program), _device(program)) in several else frozenset()
        for program in every
    }


#: What is asked of a pair, the surest first; with None as the first it pairs with nothing. Later ones pair programs of other
#: devices, and of other names.
_KEYS: Sequence[Callable[[Program], tuple[Hashable, ...]]] = (
    lambda program: (_name(program), _device(program), program.build.toolchain_title, program.build.options),
    lambda program: (_name(program), _device(program), program.build.toolchain_title),
    lambda program: (_name(program), _device(program), _kernels(program)),
    lambda program: (_name(program), _device(program)),
    lambda program: (_name(program), program.build.toolchain_title, _kernels(program)),
    lambda program: (_name(program), _kernels(program)),
    lambda program: (_name(program),),
    lambda program: (
        _device(program),
        _kernels(program),
        program.build.toolchain_title or "",
        program.build.options or "",
    ),
    lambda program: (_source(program), _device(program), _kernels(program)),
    lambda program: (_device(program), _kernels(program)),
    lambda program: (_kernels(program),),
    lambda program: (_source(program), _device(program)),
)

#: A kernel with its program.
_Place = tuple[Program, Kernel]
#: The same of kernels whose programs have no counterpart, or one without them.
_KERNEL_KEYS: Sequence[Callable[[_Place], tuple[Hashable, ...]]] = (
    lambda place: (
        place[1].name,
        _device(place[0]),
        place[0].build.toolchain_title or "",
        place[0].build.options or "",
    ),
    lambda place: (place[1].name, _device(place[0])),
    lambda place: (place[1].name,),
)
_Item = TypeVar("_Item")


def pair(old: Iterable[Program], new: Iterable[Program]) -> Pairing:
    """Pair the programs by name, device and source, or by their kernels' names if their own differ or are mere numbers; of
    several variants of a source only those with the same macros. In each pair kernels go by name, and then those that are
    left. What is alike in all that is paired by equal source, or else in its order."""
    old, new = list(old), list(new)
    variants = _variants((old, new))
    keys = [lambda program, key=key: (*key(program), variants[id(program)]) for key in _KEYS]
    programs, old_left, new_left = _pairs(old, new, keys, _content)
    if len(old_left) == len(new_left) == 1 and variants[id(old_left[0])] == variants[id(new_left[0])]:
        programs.append((old_left.pop(), new_left.pop()))
    order = {id(program): number for number, program in enumerate(new)}
    programs.sort(key=lambda both: order[id(both[1])])
    kernels = [
        KernelPair(before, after, before.kernels[name], kernel)
        for before, after in programs
        for name, kernel in after.kernels.items()
        if name in before.kernels
    ]
    only_old = [*_only_of(programs, old_left)]
    only_new = [*_only_of([(after, before) for before, after in programs], new_left)]
    kernel_keys = [lambda place, key=key: (*key(place), variants[id(place[0])]) for key in _KERNEL_KEYS]
    elsewhere, _, _ = _pairs(_places(only_old), _places(only_new), kernel_keys, lambda place: _content(place[0]))
    moved = [KernelPair(before[0], after[0], before[1], after[1]) for before, after in elsewhere]
    return joined(Pairing(tuple(kernels), tuple(only_old), tuple(only_new), tuple(programs)), moved)


def joined(pairing: Pairing, pairs: Sequence[KernelPair]) -> Pairing:
    """Return the pairing with pairs of what only one side had."""
    if not pairs:
        return pairing
    order: dict[int, int] = {}
    for each in (*pairing.kernels, *pairs):
        order.setdefault(id(each.new_program), len(order))
    paired = {id(kernel) for each in pairs for kernel in (each.old, each.new)}
    return Pairing(
        tuple(sorted((*pairing.kernels, *pairs), key=lambda each: order[id(each.new_program)])),
        tuple(each for each in pairing.only_old if id(each.kernel) not in paired),
        tuple(each for each in pairing.only_new if id(each.kernel) not in paired),
        pairing.programs,
    )


def chosen_pairs(old: Iterable[_Place], new: Iterable[_Place]) -> list[KernelPair]:
    """Pair kernels whatever they are called: those of one program, device, toolchain and options first."""
    keys: Sequence[Callable[[_Place], tuple[Hashable, ...]]] = [
        *(lambda place, key=key: key(place[0]) for key in _KEYS),
        lambda place: (),
    ]
    both, _, _ = _pairs(list(old), list(new), keys, lambda place: _content(place[0]))
    return [KernelPair(before[0], after[0], before[1], after[1], BY_CHOICE) for before, after in both]


def _places(entries: Iterable[Unpaired]) -> list[_Place]:
    """Return the kernels proper: the code of functions belongs to its program."""
    return [(each.program, each.kernel) for each in entries if each.kernel and each.kernel.name != PSEUDO_KERNEL]


def _pairs(
    old: list[_Item],
    new: list[_Item],
    keys: Iterable[Callable[[_Item], tuple[Hashable, ...]]],
    content: Callable[[_Item], Hashable],
) -> tuple[list[tuple[_Item, _Item]], list[_Item], list[_Item]]:
    """Return the pairs by one key after the other, and what is left of both sides."""
    pairs: list[tuple[_Item, _Item]] = []
    for key in keys:
        if not old or not new:
            break
        groups: dict[Hashable, tuple[list[_Item], list[_Item]]] = {}
        for side, items in enumerate((old, new)):
            for item in items:
                value = key(item)
                if value[:1] != (None,):
                    groups.setdefault(value, ([], []))[side].append(item)
        count = len(pairs)
        for group in groups.values():
            pairs += _alike(*group, content)
        taken = {id(item) for both in pairs[count:] for item in both}
        old = [item for item in old if id(item) not in taken]
        new = [item for item in new if id(item) not in taken]
    return pairs, old, new


def _alike(old: list[_Item], new: list[_Item], content: Callable[[_Item], Hashable]) -> list[tuple[_Item, _Item]]:
    """Pair items of which all else is alike: those of equal content, and the others in their order."""
    if not old or not new or len(old) == len(new) == 1:
        return list(zip(old, new, strict=False))
    waiting: dict[Hashable, list[_Item]] = {}
    for item in reversed(old):
        waiting.setdefault(content(item), []).append(item)
    pairs: list[tuple[_Item, _Item]] = []
    for item in new:
        if alike := waiting.get(content(item)):
            pairs.append((alike.pop(), item))
    taken = {id(item) for both in pairs for item in both}
    old_left = [item for item in old if id(item) not in taken]
    new_left = [item for item in new if id(item) not in taken]
    return [*pairs, *zip(old_left, new_left, strict=False)]


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
