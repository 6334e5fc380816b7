"""Atomics on one address in each round of a loop, and compare-exchanges that add floats, or change half a word."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.loop_values import LoopValues, loops_to_follow
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.advice.source_tokens import COMMENT
from kernlens.model.advice import DIFFER, EQUAL, Advice
from kernlens.model.instruction_kind import ATOMIC
from kernlens.model.intel_instructions import packed_of
from kernlens.model.source_map import SourcePlace

_FLOAT_SUM = "sum of floats"
#: Operations of which many in a row are like one with the values put together.
#: Which of them can be put together with one another.
_GATHERABLE = {
    f"atomic_{name}": kind
    for kind, names in (
        ("sum", ("iinc", "idec", "iadd", "isub")),
        (_FLOAT_SUM, ("fadd", "fsub")),
        *((name, (name,)) for name in ("smin", "smax", "umin", "umax", "and", "or", "xor", "fmin", "fmax")),
    )
    for name in names
}
_EXCHANGE = "atomic_icas"
#: The first architecture and release that add floats in memory: XeHP.
_FLOAT_ATOMICS = (12, 50)
#: Words of a loop that take 16 bits of a word apart, or put them into it.
_HALVES = re.compile(
    r"0x0*ffff(?:0000)?u?\b|(?:<<|>>)\s*16\b|\b(?:as_u?short2|as_half2|vload_half|vstore_half)\b", re.IGNORECASE
)
_CHARACTERS, _CONDITION, _LEAST_HALVES = 4000, 200, 2
#: Moves that are followed from an exchange to what made the value.
_MOVES = 8


def _advise_gatherable(facts: Facts) -> Iterator[Advice]:
    groups: dict[SourcePlace | None, list[int]] = {}
    addresses: dict[tuple[SourcePlace | None, LoopValues, int], set[Hashable]] = {}
    atomics = list(_atomics(facts))
    # Code that uses an answer needs those before it.
    answered = {values for row, values in atomics if _has_answer(values, row)}
    operations: dict[tuple[LoopValues, Hashable], set[str | None]] = {}
    for row, values in atomics:
        operations.setdefault((values, values.address_key(row)), set()).add(_operation(facts, row))
    for row, values in atomics:
        access, instruction = facts.kinds[row].access, values.code[row]
        if access is None or access.operation not in _GATHERABLE or values in answered:
            continue
        if len(operations[values, values.address_key(row)]) > 1:  # A sum and a maximum cannot change places.
            continue
        if values.has_fixed_address(row):
            place = _place(facts, row)
            groups.setdefault(place, []).append(row)
            addresses.setdefault((place, values, instruction.channel_offset), set()).add(values.address_key(row))
    # Iterations that the compiler unrolled may each have an address of their own.
    for (place, _, _), keys in addresses.items():
        if len(keys) > 1:
            groups.pop(place, None)
    for place, rows in groups.items():
        construct = facts.tokens.at(place) if place else None
        count = f"{len(rows)} message{'' if len(rows) == 1 else 's'}"
        yield IN_LOOP.advice(
            facts,
            place,
            rows,
            f"`{construct.token}`" if construct else "An atomic",
            f"is in a loop, and updates the same address each time: {count}",
            "combine the values in a variable, and use one atomic after the loop, if nothing else reads or updates it"
            " meanwhile",
            results=DIFFER if any(_operation(facts, row) == _FLOAT_SUM for row in rows) else EQUAL,
        )


def _operation(facts: Facts, row: int) -> str | None:
    access = facts.kinds[row].access
    return _GATHERABLE.get(access.operation) if access is not None else None


def _has_answer(values: LoopValues, row: int) -> bool:
    destination = values.code[row].destination
    return destination is not None and destination.file != "null"


def _advise_exchange(facts: Facts) -> Iterator[Advice]:
    if facts.ip is None or facts.ip < _FLOAT_ATOMICS:
        return
    groups: dict[SourcePlace | None, list[int]] = {}
    for row, values in _atomics(facts):
        access = facts.kinds[row].access
        if access is not None and access.operation == _EXCHANGE and _adds_floats(facts, values, row):
            groups.setdefault(_place(facts, row), []).append(row)
    for place, rows in groups.items():
        construct = facts.tokens.at(place) if place else None
        count = f"{len(rows)} message{'' if len(rows) == 1 else 's'}"
        yield EXCHANGE.advice(
            facts,
            place,
            rows,
            f"`{construct.token}`" if construct else "A compare-exchange",
            f"adds floats in a retry loop: {count}",
            "`atomic_fetch_add` on an `atomic_float` is one message without a loop"
            " (OpenCL C 3.0, `cl_ext_float_atomics`)",
        )


def _advise_halves(facts: Facts) -> Iterator[Advice]:
    groups: dict[SourcePlace, list[int]] = {}
    for row, _ in _atomics(facts):
        access, place = facts.kinds[row].access, _place(facts, row)
        if access is not None and access.operation == _EXCHANGE and place is not None:
            groups.setdefault(place, []).append(row)
    for place, rows in groups.items():
        words = COMMENT.sub("", _loop_text(facts, place))
        if len(_HALVES.findall(words)) < _LEAST_HALVES:
            continue
        construct = facts.tokens.at(place)
        subject = f"`{construct.token}`" if construct else "A compare-exchange"
        fact = "changes half of a word in a retry loop, so that two neighbours make each other try again"
        action = "add in words of 32 bits, and narrow them once, in another kernel"
        results = DIFFER if "half" in words else EQUAL
        yield HALF.advice(facts, place, rows, subject, fact, action, results=results)


def _loop_text(facts: Facts, place: SourcePlace) -> str:
    """Return the text of the innermost loop with a place in it, or in the condition behind it, which looks like a loop too."""
    lines = facts.tokens.texts.get(place.path, [])
    if not 0 < place.line <= len(lines):
        return ""
    text, offset = "\n".join(lines), facts.tokens.offset(place)
    around = [
        loop.code
        for loop in facts.tokens.loops_of(place.path)
        if loop.code.start <= offset <= loop.code.stop + _CONDITION
        and (offset < loop.code.stop or re.fullmatch(r"\s*while\b[^;]*", text[loop.code.stop : offset]))
    ]
    body = [code for code in around if offset >= code.stop]
    code = min(body or around, key=len, default=range(0))
    end = offset + _CONDITION if body else code.stop
    return text[code.start : min(end, code.start + _CHARACTERS)] if code else ""


def _adds_floats(facts: Facts, values: LoopValues, row: int) -> bool:
    """Return whether a single addition of floats makes a value that a compare-exchange writes, perhaps through moves."""
    waiting, opcodes = [(row, values.data(row), 0)], facts.code.opcodes
    while waiting:
        reader, places, moves = waiting.pop()
        for writer in values.writers(reader, places):
            opcode = opcodes[writer]
            if _is_addition(facts, writer):
                # A sum of sums may be one that keeps the error of its additions.
                return not any(_is_addition(facts, row) for row in values.writers(writer, values.sources(writer)))
            if opcode == "mov" and moves < _MOVES:
                waiting.append((writer, values.sources(writer), moves + 1))
    return False


def _is_addition(facts: Facts, row: int) -> bool:
    return facts.code.opcodes[row] == "add" and facts.types(row)[0] == "f"


def _atomics(facts: Facts) -> Iterator[tuple[int, LoopValues]]:
    """Yield the atomics in loops, with the values of their innermost loop."""
    atomics = [row for row, kind in enumerate(facts.kinds) if kind.access is not None and kind.access.action == ATOMIC]
    loops = loops_to_follow(facts) if atomics else None
    code, effects = packed_of(facts.code), facts.code.effects
    if loops is None or not loops.loops or code is None or effects is None:
        return
    values: dict[int, LoopValues] = {}
    for row in atomics:
        number = loops.innermost[row]
        if number >= 0:
            if number not in values:
                values[number] = LoopValues(facts, loops, code, effects, number)
            yield row, values[number]


def _place(facts: Facts, row: int) -> SourcePlace | None:
    source_map = facts.kernel.source_map
    return source_map.place(row) if source_map else None


IN_LOOP = Rule("atomic-in-a-loop", "Atomic in a loop", (EQUAL, DIFFER), _advise_gatherable)
EXCHANGE = Rule("float-addition-by-exchange", "Float addition by exchange", (DIFFER,), _advise_exchange)
HALF = Rule("half-width-exchange", "Half-width exchange", (EQUAL, DIFFER), _advise_halves)
