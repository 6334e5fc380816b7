"""The source lines whose instructions differ between two kernels, and these instructions side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from kernlens.analysis.comparison.matching import common_pairs
from kernlens.analysis.comparison.normal_form import Code, Origin
from kernlens.analysis.comparison.source_lines import LineKey, SourceLines
from kernlens.dataclass import dataclass
from kernlens.model.kernel import Kernel
from kernlens.model.source_map import INHERITED, SourceMap

#: What a group of instructions without a line of their own is called: those of the prologue, those that only stand under a
#: neighbour's line, and all others.
PROLOGUE = LineKey("prologue", 0, 0)
NEIGHBOURS = LineKey("a neighbour's line", 0, 0)
NO_LINE = LineKey("no line", 0, 0)
#: What only waits (``sync``, ``nop``) on all lines that did not change otherwise.
OTHER_WAITS = LineKey("sync of the other lines", 0, 0)
WITHOUT_LINE = (PROLOGUE, NEIGHBOURS, NO_LINE, OTHER_WAITS)
#: How a line has changed: its instructions are others; or the same on other operands; or only their waits.
INSTRUCTIONS, OPERANDS, WAITS = "instructions", "operands", "sync"


@dataclass(frozen=True, slots=True)
class LineChange:
    """A source line whose instructions differ: the indexes of the old ones and the new ones. ``change`` is INSTRUCTIONS,
    OPERANDS, or WAITS. ``is_cause``: the source line itself was edited; None where no edit is known.

    ``removed`` and ``added`` count the instructions that only one side has, in whatever order; those that only wait count
    apart, as ``old_waits`` and ``new_waits``. So the line grows by ``added - removed + new_waits - old_waits``.
    """

    key: LineKey
    change: str
    old: tuple[int, ...]
    new: tuple[int, ...]
    removed: int = 0
    added: int = 0
    old_waits: int = 0
    new_waits: int = 0
    is_cause: bool | None = None


def changed_lines(
    kernels: tuple[Kernel, Kernel], codes: tuple[Code, Code], sources: SourceLines, *, has_lines: bool
) -> list[LineChange]:
    """Return the lines that changed, what was edited first. Their growths add up to that of the kernel: what only waits
    on all other lines is a row of its own, if its number changed."""
    # Where the stages of one side alone were kept, nothing tells what the other side's instructions inherit.
    maps = [kernel.source_map for kernel in kernels] if has_lines else [None, None]
    is_told = all(source_map is not None and source_map.stated for source_map in maps)
    old_keys = _keys(maps[0], codes[0], sources.old_key, is_told)
    new_keys = _keys(maps[1], codes[1], sources.new_key, is_told)
    old_groups, new_groups = _groups(old_keys), _groups(new_keys)
    has_same_prologue = _forms(codes[0], old_groups.get(PROLOGUE, ())) == _forms(codes[1], new_groups.get(PROLOGUE, ()))
    changes = []
    others: tuple[list[int], list[int]] = [], []
    for key in dict.fromkeys([*old_groups, *new_groups]):
        old, new = old_groups.get(key, ()), new_groups.get(key, ())
        before, after = _count(codes[0], old), _count(codes[1], new)
        if before != after:
            change = INSTRUCTIONS
        elif key != PROLOGUE and _operands(codes[0], old, old_keys, has_same_prologue) != _operands(
            codes[1], new, new_keys, has_same_prologue
        ):
            change = OPERANDS
        else:
            for code, indexes, waits in zip(codes, (old, new), others, strict=True):
                waits += [index for index in indexes if code.forms[index].waits]
            continue
        removed, added = (before - after).total(), (after - before).total()
        waits_of = len(old) - before.total(), len(new) - after.total()
        is_cause = key in sources.edited if sources.edited else None
        changes.append(LineChange(key, change, old, new, removed, added, *waits_of, is_cause))
    if len(others[0]) != len(others[1]):
        old, new = (tuple(sorted(indexes)) for indexes in others)
        changes.append(LineChange(OTHER_WAITS, WAITS, old, new, 0, 0, len(old), len(new)))
    changes.sort(
        key=lambda line: (
            not line.is_cause,
            line.key in WITHOUT_LINE,
            line.key == OTHER_WAITS,
            line.change == OPERANDS,
            line.key,
        )
    )
    return changes


def _keys(
    source_map: SourceMap | None, code: Code, key_of: Callable[[str, int], LineKey], is_told: bool
) -> list[LineKey]:
    """Return the line of each instruction; ``is_told``: those that inherit it stand apart."""
    if source_map is None:
        return [NO_LINE] * len(code)
    known: dict[tuple[str, int], LineKey] = {}
    keys = [PROLOGUE] * source_map.prologue
    for index in range(source_map.prologue, len(code)):
        place = source_map.places[index]
        if place is None:
            keys.append(NO_LINE)
            continue
        if is_told and source_map.origins[index] == INHERITED:
            keys.append(NEIGHBOURS)
            continue
        line = place.path, place.line
        if line not in known:
            known[line] = key_of(*line)
        keys.append(known[line])
    return keys


def _groups(keys: Sequence[LineKey]) -> dict[LineKey, tuple[int, ...]]:
    groups: dict[LineKey, list[int]] = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    return {key: tuple(indexes) for key, indexes in groups.items()}


def _forms(code: Code, indexes: Iterable[int]) -> list[str]:
    return [code.texts[index] for index in indexes]


def _count(code: Code, indexes: Iterable[int]) -> Counter[str]:
    """Count the instructions that do something."""
    return Counter(code.texts[index] for index in indexes if not code.forms[index].waits)


def _operands(
    code: Code, indexes: Iterable[int], keys: Sequence[LineKey], has_same_prologue: bool
) -> Counter[tuple[Hashable, ...]]:
    """Count the instructions of a line by their text and the lines that their operands come from."""

    def source(origin: Origin, own: LineKey) -> Hashable:
        if isinstance(origin, int):
            return origin if has_same_prologue else None
        writer, place = origin
        key = keys[writer]
        if key == PROLOGUE:
            return (writer, place) if has_same_prologue else None
        # Of its own line, what the operand is made by; which of several lines computes what they share, the compiler
        # decides anew.
        return (code.texts[writer] if key == own else key), place

    return Counter(
        (code.texts[index], *(source(origin, keys[index]) for origin in code.origins[index]))
        for index in indexes
        if not code.forms[index].waits
    )


@dataclass(frozen=True, slots=True)
class InstructionPair:
    """An instruction of a line: its index on each side, None where that side does not have it."""

    old: int | None
    new: int | None


def instruction_pairs(codes: tuple[Code, Code], line: LineChange) -> list[InstructionPair]:
    """Return the line's old and new instructions side by side, in the order of the code: what moved within the line stands
    where it is new, so that one side alone has what ``LineChange`` counts, and waits."""
    forms = _forms(codes[0], line.old), _forms(codes[1], line.new)
    before = (-1, -1)
    lined_up: list[tuple[int | None, int | None]] = []
    for pair in [*common_pairs(*forms), (len(line.old), len(line.new))]:
        lined_up += [(index, None) for index in range(before[0] + 1, pair[0])]
        lined_up += [(None, index) for index in range(before[1] + 1, pair[1])]
        if pair[0] < len(line.old):
            lined_up.append(pair)
        before = pair
    left: dict[str, list[int]] = {}
    for old, new in reversed(lined_up):
        if old is not None and new is None:
            left.setdefault(forms[0][old], []).append(old)
    moved: dict[int, int] = {}
    for old, new in lined_up:
        if old is None and new is not None and (alike := left.get(forms[1][new])):
            moved[new] = alike.pop()
    gone = set(moved.values())
    return [
        InstructionPair(
            None if old is None else line.old[old],
            None if new is None else line.new[new],
        )
        for old, new in ((moved[new], new) if old is None and new in moved else (old, new) for old, new in lined_up)
        if new is not None or old not in gone
    ]
