"""The source lines whose instructions differ between two kernels, and these instructions side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable
from itertools import chain, compress
from operator import not_

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
#: The numbers of these groups.
_APART = (PROLOGUE, NEIGHBOURS, NO_LINE)
_PROLOGUE, _NEIGHBOURS, _NO_LINE = range(len(_APART))
#: How a line has changed: its instructions are others; or the same on other operands; or only their waits.
INSTRUCTIONS, OPERANDS, WAITS = "instructions", "operands", "sync"


@dataclass(frozen=True, slots=True)
class LineChange:
    """A source line whose instructions differ: the indexes of the old ones and the new ones. ``change`` is INSTRUCTIONS,
    OPERANDS, or WAITS. ``is_cause``: the source line itself was edited; None where no edit is known.

    ``removed`` and ``added`` count the instructions that only one side has, in whatever order; those that only wait count
    apart, as ``old_waits`` and ``new_waits``. So the line grows by ``added - removed + new_waits - old_waits``.
    ``old_certain`` and ``new_certain`` are how many of its instructions are certainly the line's; None for those without one.
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
    old_certain: int | None = None
    new_certain: int | None = None

    @property
    def is_certain(self) -> bool:
        """True if all its instructions, on both sides, are certainly the line's, or it is none."""
        return (self.old_certain, self.new_certain) in ((None, None), (len(self.old), len(self.new)))


def changed_lines(
    kernels: tuple[Kernel, Kernel], codes: tuple[Code, Code], sources: SourceLines, *, has_lines: bool
) -> list[LineChange]:
    """Return the lines that changed, what was edited first. Their growths add up to that of the kernel: what only waits
    on all other lines is a row of its own, if its number changed."""
    # Where the stages of one side alone were kept, nothing tells what the other side's instructions inherit.
    maps = [kernel.source_map for kernel in kernels] if has_lines else [None, None]
    is_told = all(source_map is not None and source_map.stated for source_map in maps)
    known = {key: number for number, key in enumerate(_APART)}
    sides = (
        _Side(codes[0], _numbers(maps[0], len(codes[0]), sources.old_key, is_told, known)),
        _Side(codes[1], _numbers(maps[1], len(codes[1]), sources.new_key, is_told, known)),
    )
    keys = list(known)
    removed, added = (sides[0].counts - sides[1].counts), (sides[1].counts - sides[0].counts)
    losses, gains = _by_number(removed), _by_number(added)
    has_same_prologue = sides[0].forms(_PROLOGUE) == sides[1].forms(_PROLOGUE)
    numbers = dict.fromkeys([*sides[0].groups, *sides[1].groups])
    as_many = numbers.keys() - losses.keys() - gains.keys() - {_PROLOGUE}
    operands = [side.operands(as_many, has_same_prologue) for side in sides]
    changes = []
    others: tuple[list[int], list[int]] = [], []
    for number in numbers:
        old, new = (side.groups.get(number, []) for side in sides)
        waits = [[index for index in side.groups.get(number, ()) if side.code.waits[index]] for side in sides]
        if number in losses or number in gains or codes[0].isa != codes[1].isa:
            change = INSTRUCTIONS
        elif number in as_many and operands[0][number] != operands[1][number]:
            change = OPERANDS
        else:
            others[0].extend(waits[0])
            others[1].extend(waits[1])
            continue
        key = keys[number]
        is_cause = key in sources.edited if sources.edited else None
        counts = losses[number], gains[number], len(waits[0]), len(waits[1])
        certain = [
            sum(source_map.certain[index] for index in rows) if source_map and key not in WITHOUT_LINE else None
            for source_map, rows in zip(maps, (old, new), strict=True)
        ]
        changes.append(LineChange(key, change, tuple(old), tuple(new), *counts, is_cause, *certain))
    if len(others[0]) != len(others[1]):
        rows = tuple(sorted(others[0])), tuple(sorted(others[1]))
        changes.append(LineChange(OTHER_WAITS, WAITS, *rows, 0, 0, len(rows[0]), len(rows[1])))
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


def _by_number(counts: Counter[tuple[int, str]]) -> Counter[int]:
    result: Counter[int] = Counter()
    for (number, _), count in counts.items():
        result[number] += count
    return result


def _numbers(
    source_map: SourceMap | None,
    count: int,
    key_of: Callable[[str, int], LineKey],
    is_told: bool,
    known: dict[LineKey, int],
) -> list[int]:
    """Return the number of each instruction's line, and note the numbers of those that are ``known``; ``is_told``: those
    that inherit it stand apart."""
    if source_map is None:
        return [_NO_LINE] * count
    numbers: dict[int, int] = {id(None): _NO_LINE}
    lines: dict[tuple[str, int], int] = {}
    places = source_map.places
    # Instructions of one row share their place.
    for place in {id(place): place for place in places if place is not None}.values():
        line = place.path, place.line
        if line not in lines:
            lines[line] = known.setdefault(key_of(*line), len(known))
        numbers[id(place)] = lines[line]
    result = [numbers[each] for each in map(id, places)]
    if is_told:
        for index, origin in enumerate(source_map.origins):
            if origin == INHERITED:
                result[index] = _NEIGHBOURS
    result[: source_map.prologue] = [_PROLOGUE] * source_map.prologue
    return result


class _Side:
    """One side's instructions by the number of their line."""

    def __init__(self, code: Code, numbers: list[int]) -> None:
        self.code = code
        self._numbers = numbers
        self.groups: dict[int, list[int]] = {}
        for index, number in enumerate(numbers):
            if number in self.groups:
                self.groups[number].append(index)
            else:
                self.groups[number] = [index]
        #: The instructions that do something, by line and text.
        self.counts = Counter(compress(zip(numbers, code.texts, strict=True), map(not_, code.waits)))

    def forms(self, number: int) -> list[str]:
        """Return the texts of a line's instructions."""
        return _forms(self.code, self.groups.get(number, ()))

    def operands(self, chosen: Collection[int], has_same_prologue: bool) -> dict[int, Counter[tuple[Hashable, ...]]]:
        """Count the instructions of these lines by their text and the lines that their operands come from."""
        texts, waits, numbers = self.code.texts, self.code.waits, self._numbers
        rows = {number: [row for row in self.groups.get(number, ()) if not waits[row]] for number in chosen}
        origins = self.code.origins_of(set(chain.from_iterable(rows.values())))

        def source(number: int, origin: Origin) -> Hashable:
            if isinstance(origin, int):
                return origin if has_same_prologue else None
            writer, place = origin
            line = numbers[writer]
            if line == _PROLOGUE:
                return (writer, place) if has_same_prologue else None
            # Of its own line, what the operand is made by; which of several lines computes what they share, the compiler
            # decides anew.
            return (texts[writer] if line == number else line), place

        return {
            number: Counter((texts[row], *(source(number, origin) for origin in origins[row])) for row in of_line)
            for number, of_line in rows.items()
        }


def _forms(code: Code, indexes: Iterable[int]) -> list[str]:
    return [code.texts[index] for index in indexes]


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
