"""The ways of lanes from an instruction: what its branch means for each of them, not for the thread.

A thread runs what any of its lanes needs: the first target of a branch (JIP) is where it looks for lanes that wait, the
second (UIP) where the lanes that leave go on. Source: the operations' descriptions in the public Programmer's Reference
Manuals, volume "EU Flow Control IntelInstructions".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from kernlens.model.effects import Route
from kernlens.model.instruction_record import FLAGS_AT, OPCODE_AT, PREDICATE_AT, RECORD_SIZE, read_values
from kernlens.model.intel_instructions import ABSOLUTE_TARGET, END_OF_THREAD, LABEL

_BRANCHES = frozenset(
    {"if", "else", "while", "break", "cont", "halt", "goto", "jmpi", "brd", "brc", "call", "calla", "ret"}
)
_LEAVE = frozenset({"break", "cont", "halt", "goto", "brc"})


def routes_of(records: memoryview, mnemonics: Sequence[str]) -> dict[int, Route]:
    """Return the routes of packed records, of those that do not just fall through."""
    opcodes = records.cast("H")[OPCODE_AT // 2 :: RECORD_SIZE // 2].tolist()
    offsets = records.cast("I")[:: RECORD_SIZE // 4].tolist()
    names = [mnemonics[opcode] for opcode in opcodes]
    flags = bytes(records[FLAGS_AT::RECORD_SIZE])
    predicates = bytes(records[PREDICATE_AT::RECORD_SIZE])
    routes = {}
    for index, name in enumerate(names):
        if flags[index] & END_OF_THREAD:
            routes[index] = Route(falls=bool(predicates[index]))
        elif name in _BRANCHES:
            targets = _targets(records, index, offsets) if flags[index] & LABEL else ()
            routes[index] = _route(index, name, names, targets, bool(predicates[index]))
    return routes


def _targets(records: memoryview, index: int, offsets: Sequence[int]) -> tuple[int | None, ...]:
    """Return the indexes of the targets; None for one that is no instruction of the kernel."""
    if records[index * RECORD_SIZE + FLAGS_AT] & ABSOLUTE_TARGET:
        return ()
    targets: list[int | None] = []
    for target in read_values(records, index)[1]:
        at = bisect_left(offsets, target)
        targets.append(at if at < len(offsets) and offsets[at] == target else None)
    return tuple(targets)


def _route(index: int, name: str, names: Sequence[str], targets: tuple[int | None, ...], is_predicated: bool) -> Route:
    if name == "ret":
        return Route(falls=is_predicated, returns=True)
    if name in ("call", "calla"):
        return Route(True, tuple(target for target in targets[:1] if target is not None), is_call=True)
    chosen = targets[-1:] if name in _LEAVE else targets[:1]
    followed = []
    for target in chosen:
        if target is None:
            continue
        # A lane that skips to an else runs what is behind it; one that breaks to a while does not loop.
        is_passed = (name == "if" and names[target] == "else") or (name == "break" and names[target] == "while")
        followed.append(target + is_passed)
    falls = name == "if" or (is_predicated and name != "else")
    return Route(falls, tuple(target for target in followed if target < len(names)))
