"""Divisions of integers that became many instructions: rules on 32 and on 64 bits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.literals import literal
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.advice.source_tokens import COMMENT, Construct
from kernlens.model.advice import EQUAL, Advice, Edit
from kernlens.model.source_map import SourcePlace

#: The range in which floats are divided for integers, as its exact model shows: bits of what is divided, and of what by.
DIVIDEND_BITS, DIVISOR_BITS = 20, 24
#: Graphics IP version from which on Intel's GPUs divide integers by many instructions: Xe-HPG.
_WITHOUT_DIVIDER = (12, 55)
_OPERATORS = frozenset("/%")
_FLOATS, _INTEGERS = ("f", "df"), ("d", "ud", "w", "uw", "q", "uq")
_LONGS = frozenset(("q", "uq"))
#: Instructions for lanes of the shortest division by a variable, and of one of 64 bits, by constants too.
_LEAST, _LEAST_LONG = 8, 40
#: No integer of 32 bits is so large.
_LARGEST = 1 << 32
_PRODUCTS = frozenset(("mul", "mach", "macl", "mad", "mullh"))
#: Lines above and below a division, and characters of each, in which one of the same operands is looked for.
_NEAR, _LONGEST = 8, 1000
#: What changes a variable where it stands.
_ACTS = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)")
_CARRIES = frozenset(("addc", "subb"))


def _divisions(facts: Facts, least: int) -> Iterator[tuple[SourcePlace, list[int], list[int], Construct]]:
    for place, rows in facts.sites.items():
        if len(rows) < least:
            continue
        vector = facts.vector(rows)
        construct = facts.tokens.at(place) if len(vector) >= least else None
        if construct is not None and not construct.names.isdisjoint(_OPERATORS):
            yield place, rows, vector, construct


def _is_by_variable(facts: Facts, vector: Sequence[int]) -> bool:
    """Return whether lanes divide integers: by way of floats, whose quotient is mended by an integer product. Divisions of
    floats convert nothing; in a macro other conversions may stand with them."""
    conversions = facts.conversions(vector)
    back_and_forth = [
        name
        for name in _FLOATS
        if any(conversions[integer, name] for integer in _INTEGERS)
        and any(conversions[name, integer] for integer in _INTEGERS)
    ]
    return "df" in back_and_forth or ("f" in back_and_forth and _has_products(facts, vector))


def _has_products(facts: Facts, vector: Sequence[int]) -> bool:
    opcodes = facts.code.opcodes
    return any(opcodes[row] in _PRODUCTS and facts.types(row)[0] in _INTEGERS for row in vector)


def _is_long(facts: Facts, vector: Sequence[int], construct: Construct) -> bool:
    """Return whether lanes divide integers of 64 bits. In a macro, addresses are of 64 bits too."""
    if construct.is_macro or len(vector) < _LEAST_LONG:
        return False
    opcodes = facts.code.opcodes
    has_longs = any(
        opcodes[row] in _CARRIES or not _LONGS.isdisjoint((written, *sources))
        for row in vector
        for written, sources in (facts.types(row),)
    )
    if not has_longs:
        return False
    has_divider = any(opcodes[row] == "math" and facts.types(row)[0] in _INTEGERS for row in vector)
    return has_divider or _has_products(facts, vector) or _is_by_variable(facts, vector)


def _subject(facts: Facts, place: SourcePlace, construct: Construct) -> str:
    if construct.is_macro:
        return construct.titled(construct.among(dict.fromkeys(_OPERATORS)))
    left, right = facts.tokens.operands(place)
    words = f"{left} {construct.token} {right}".strip()
    return f"`{words if left and right and len(words) <= 40 else construct.token}`"


def _among(facts: Facts, place: SourcePlace, construct: Construct) -> str:
    """Return words on the quotient of the same operands as a remainder, or the other way round, whose instructions may be
    among those of this one; empty if it has its own, or does not stand nearby."""
    other = "%" if construct.token.startswith("/") else "/"
    if construct.is_macro or not any(token == other for _, token in _alike(facts, place)):
        return ""
    operands = left, right = facts.tokens.operands(place)
    tokens = ((site, facts.tokens.at(site)) for site in facts.sites)
    others = (site for site, token in tokens if token is not None and token.token == other)
    has_own = any(facts.tokens.operands(site) == operands for site in others)
    return "" if has_own else f", perhaps with those of `{left} {other} {right}`"


def _alike(facts: Facts, place: SourcePlace) -> Iterator[tuple[SourcePlace, str]]:
    """Yield the other quotients and remainders near a division that may be of the same operands, with their operators."""
    left, right = facts.tokens.operands(place)
    if not left or not right:
        return
    lines, index = facts.tokens.texts[place.path], place.line - 1
    # A bracket in the first column ends a function.
    above = takewhile(
        lambda line: not line[1].startswith("}"), _numbered(lines, range(index - 1, index - _NEAR - 1, -1))
    )
    below = takewhile(lambda line: not line[1].startswith("}"), _numbered(lines, range(index, index + _NEAR + 1)))
    first, second = (r"\s*".join(map(re.escape, each.split())) for each in (left, right))
    words = re.compile(rf"(?<![\w.]){first}\s*([/%])(?!=)\s*{second}(?![\w.(\[])")
    for number, line in (*above, *below):
        text = COMMENT.sub(lambda comment: " " * len(comment[0]), line[:_LONGEST])
        for match in words.finditer(text):
            site = SourcePlace(place.path, number, match.start(1) + 1)
            if site != place:
                yield site, match[1]


def _numbered(lines: Sequence[str], indexes: range) -> Iterator[tuple[int, str]]:
    return ((index + 1, lines[index]) for index in indexes if 0 <= index < len(lines))


def _advise(facts: Facts) -> Iterator[Advice]:
    if facts.ip is None or facts.ip < _WITHOUT_DIVIDER:
        return
    for place, rows, vector, construct in _divisions(facts, _LEAST):
        if _is_long(facts, vector, construct) or not _is_by_variable(facts, vector):
            continue
        edit = _edit(facts, place, construct)
        shared = "; the others of these operands nearby too, which share instructions with it"
        yield INTEGER_DIVISION.advice(
            facts,
            place,
            rows,
            _subject(facts, place, construct),
            f"is {len(rows):,} instructions{_among(facts, place, construct)}, because this GPU has no integer divider",
            "launch a 2-D range if it splits an index, make the divisor a constant of the compile (`-D`), shift and mask if"
            f" it is a power of two and no value is negative, or {_by_floats(construct)}"
            f"{shared if edit is not None and len(edit.replaced) > 1 else ''}",
            edit=edit,
        )


def _edit(facts: Facts, place: SourcePlace, construct: Construct) -> Edit | None:
    """Return the edit that divides floats, also for the other quotients and remainders of the same operands, with which this
    one shares instructions: alone it would save none. None where the operands are not certain, or do something themselves."""
    replaced, own = list[tuple[int, int, str]](), facts.tokens.operation(place)
    for site, token in ((place, construct.token), *_alike(facts, place)):
        operation = facts.tokens.operation(site)
        if own is None or operation is None or any(_ACTS.search(operand) for operand in operation[1:]):
            return None
        code, left, right = operation
        if (left, right) == own[1:]:
            quotient = f"(__typeof__(({left}) / ({right})))(((float)({left}) + 0.5f) / ({right}))"
            text = f"({quotient})" if token == "/" else f"(({left}) - {quotient} * ({right}))"
            replaced.append((code.start, code.stop, text))
    return Edit(tuple(sorted(replaced)))


def _by_floats(construct: Construct) -> str:
    """Return the quotient by a division of floats, whose error of 2.5 ulp at most, as OpenCL bounds it, is smaller in that
    range than the distance of (a + 0.5) / b to an integer, 0.5 / b at least. Without the 0.5 it is not: 82 / 41 may be 1."""
    remainder = "" if construct.token.startswith("/") else " and `a - q * b`"
    range_words = f"0 <= a < 2^{DIVIDEND_BITS} and 0 < b < 2^{DIVISOR_BITS}"
    return f"if {range_words}, `q = ((float)a + 0.5f) / b`{remainder} with `q` of the type of `a / b`"


def _advise_long(facts: Facts) -> Iterator[Advice]:
    for place, rows, vector, construct in _divisions(facts, _LEAST_LONG):
        if not _is_long(facts, vector, construct):
            continue
        divisor = literal(facts.tokens.operands(place)[1])
        if divisor is not None and abs(divisor) >= _LARGEST:
            continue
        usual = 8 * facts.instructions_for_all_lanes if divisor is not None else None
        less = f"a 32-bit division is about {usual}" if usual else "a 32-bit division is a third of that, or less"
        yield LONG_DIVISION.advice(
            facts,
            place,
            rows,
            _subject(facts, place, construct),
            f"is a 64-bit division: {len(rows):,} instructions{_among(facts, place, construct)}",
            f"{less}: use int or uint where the values fit",
        )


INTEGER_DIVISION = Rule("integer-division", "Integer division", (EQUAL,), _advise)
LONG_DIVISION = Rule("64-bit-division", "64-bit division", (EQUAL,), _advise_long)
