"""Questions over snapshots: what a pass changed, how two stages differ, whether two stages agree on the lines.

LLVM IR numbers its metadata and attribute groups anew whenever one of them comes or goes. Comparisons look past those
numbers, and leave out the tables at the end that define them: otherwise every line would count as changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.model.stage import Snapshot

#: A dump begins with its own file name between two rules, as comments: no part of the program.
_HEADING_LINES = 3
_METADATA_NUMBER = re.compile(r"!\d+|(?<= )#\d+")
_TABLES = ("!", "attributes #")
#: Texts with more lines than this are compared by line sets only: the finest difference takes too long to find.
_MOST_DIFF_LINES = 200_000


@dataclass(frozen=True, slots=True)
class PassStep:
    """One pass, or a run of neighbouring ones that changed nothing (then ``changed`` is False, and ``names`` are those of
    all of them, ``snapshot`` being the last's). ``added`` and ``removed`` count text lines.

    ``changed`` is None where the dump is not the whole program: after a pass over loops the compiler prints the loops
    alone, after a pass over the graph of calls the functions alone. What such a pass changed shows in the next one.
    """

    snapshot: Snapshot
    changed: bool | None
    added: int = 0
    removed: int = 0
    names: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of passes that it stands for."""
        return len(self.names)


def pass_steps(snapshots: Sequence[Snapshot], known: KnownLines | None = None) -> Iterator[PassStep]:
    """Yield the passes of a compile in order, those that changed nothing folded; other snapshots are passed over.

    A pass is compared with the last one before it whose dump is the whole program; the first one of each attempt with
    the LLVM IR as it was read. ``known``: see ``program_lines``.
    """
    known = {} if known is None else known
    for attempt in sorted({snapshot.attempt for snapshot in snapshots if snapshot.is_pass}):
        yield from _pass_steps([snapshot for snapshot in snapshots if snapshot.attempt == attempt], known)


def _pass_steps(snapshots: Sequence[Snapshot], known: KnownLines) -> Iterator[PassStep]:
    before: list[CodeLine] | None = None
    unchanged: list[Snapshot] = []
    for snapshot in snapshots:
        if snapshot.failure is not None or snapshot.form != "text" or snapshot.ending != ".ll":
            continue
        if not snapshot.is_pass:
            if before is None:
                before = program_lines(snapshot, known)
            continue
        after = program_lines(snapshot, known)
        if before is not None and _is_module(before) and not _is_module(after):
            yield from _folded(unchanged)
            unchanged = []
            yield PassStep(snapshot, None, names=(snapshot.stage,))
            continue
        added, removed = line_counts(before or [], after)
        changed = added > 0 or removed > 0 or (before or []) != after
        before = after
        if not changed:
            unchanged.append(snapshot)
            continue
        yield from _folded(unchanged)
        unchanged = []
        yield PassStep(snapshot, True, added, removed, (snapshot.stage,))
    yield from _folded(unchanged)


def _folded(unchanged: list[Snapshot]) -> Iterator[PassStep]:
    if unchanged:
        yield PassStep(unchanged[-1], False, names=tuple(snapshot.stage for snapshot in unchanged))


def _is_module(lines: list[CodeLine]) -> bool:
    """Return whether the LLVM IR is a whole module, which says what it is for."""
    return any(line.startswith("target ") for line in lines)


def is_whole(snapshot: Snapshot) -> bool:
    """Return whether the LLVM IR of a pass is the whole program; after passes over loops only the loops are dumped."""
    return snapshot.text.startswith("target ") or "\ntarget " in snapshot.text


def before_pass(snapshots: Sequence[Snapshot], chosen: Snapshot) -> Snapshot:
    """Return the program as the chosen pass found it: the last pass before it, of the same attempt, whose dump is the
    whole program, or the LLVM IR as it was read.

    Raises KernlensError, with the pass that shows the change, if of the chosen one only a part was dumped, and if there
    is nothing to compare with.
    """
    same = [
        snapshot
        for snapshot in snapshots
        if snapshot.attempt == chosen.attempt and snapshot.ending == ".ll" and snapshot.failure is None
    ]
    place = same.index(chosen)
    if not is_whole(chosen):
        following = next((snapshot for snapshot in same[place + 1 :] if snapshot.is_pass and is_whole(snapshot)), None)
        advice = f"; the next whole one shows it: --diff {following.stage}" if following else ""
        raise KernlensError(f"the compiler dumped only a part of the program after {chosen.stage}{advice}")
    earlier = next((snapshot for snapshot in reversed(same[:place]) if snapshot.is_pass and is_whole(snapshot)), None)
    first = earlier or next((snapshot for snapshot in same if not snapshot.is_pass), None)
    if first is None:
        raise KernlensError(f"there is no LLVM IR from before {chosen.stage} to compare it with")
    return first


def line_counts(before: Sequence[CodeLine], after: Sequence[CodeLine]) -> tuple[int, int]:
    """Count the lines that are only after, and only before, as often as they occur; moved lines count as neither."""
    from collections import Counter

    old, new = Counter(before), Counter(after)
    return (new - old).total(), (old - new).total()


class CodeLine(str):
    """A line of a stage's text that equals another if they differ in numbers of metadata only."""

    __slots__ = ("_key",)
    _key: str

    def __new__(cls, line: str, key: str) -> CodeLine:
        code_line = super().__new__(cls, line)
        code_line._key = key
        return code_line

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, CodeLine) and self._key == other._key)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key)


#: Lines by their text.
KnownLines = dict[str, CodeLine]


def without_heading(snapshot: Snapshot) -> list[str]:
    """Return the text's lines without the heading that names the dump's own file."""
    lines = snapshot.listing.split("\n")
    head = lines[:_HEADING_LINES]
    if len(head) == _HEADING_LINES and all(line.startswith(("; ", "// ")) for line in head) and "----" in head[0]:
        return lines[_HEADING_LINES:]
    return lines


def program_lines(snapshot: Snapshot, known: KnownLines | None = None) -> list[CodeLine]:
    """Return the text's lines to compare: without the heading that names the dump's own file, and of LLVM IR without
    its tables of metadata and attributes.

    The stages of one compile have most lines in common: ``known`` keeps them for the next one, so that each is made once.
    """
    lines = without_heading(snapshot)
    if snapshot.ending not in (".ll", ".visa.ll"):
        return [CodeLine(line, line) for line in lines]
    return code_lines(lines, {} if known is None else known)


def code_lines(lines: Sequence[str], known: KnownLines) -> list[CodeLine]:
    """Return the lines of LLVM IR to compare, without its tables of metadata and attributes. ``known``: see
    ``program_lines``."""
    for line in set(lines) - known.keys():
        known[line] = CodeLine(line, _METADATA_NUMBER.sub("", line))
    return [known[line] for line in lines if not line.startswith(_TABLES)]


def difference(before: Snapshot, after: Snapshot, known: KnownLines | None = None) -> Iterator[str]:
    """Yield the two texts' difference as unified diff lines, without line ends; nothing if the programs are equal.
    ``known``: see ``program_lines``.

    Raises KernlensError if one of them is binary, or if they are too large to compare.
    """
    from difflib import unified_diff

    for snapshot in (before, after):
        if snapshot.form != "text":
            raise KernlensError(f"the stage {snapshot.stage} has no text to compare, only its {snapshot.ending} file")
    old, new = program_lines(before, known), program_lines(after, known)
    if max(len(old), len(new)) > _MOST_DIFF_LINES:
        raise KernlensError(
            f"{before.stage} and {after.stage} have {len(old):,} and {len(new):,} lines, too many to compare here;"
            " print each with --stage and use diff"
        )
    yield from unified_diff(old, new, _title(before), _title(after), lineterm="")


def _title(snapshot: Snapshot) -> str:
    stage = snapshot.stage if snapshot.attempt == 1 else f"{snapshot.stage}, attempt {snapshot.attempt}"
    return f"{snapshot.kernel}: {stage}" if snapshot.kernel else stage
