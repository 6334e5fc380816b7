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
    left, right = facts.tokens.operands(place)
    if construct.is_macro or not left or not right:
        return ""
    other = "%" if construct.token.startswith("/") else "/"
    lines, index = facts.tokens.texts[place.path], place.line - 1
    # A bracket in the first column ends a function.
    above = takewhile(lambda line: not line.startswith("}"), reversed(lines[max(0, index - _NEAR) : index]))
    below = takewhile(lambda line: not line.startswith("}"), lines[index : place.line + _NEAR])
    words = r"\s*".join(map(re.escape, (*left.split(), other, *right.split())))
    if not any(
        re.search(rf"(?<![\w.]){words}(?![\w.(\[])", COMMENT.sub(" ", line[:_LONGEST])) for line in (*above, *below)
    ):
        return ""
    tokens = ((site, facts.tokens.at(site)) for site in facts.sites)
    others = (site for site, token in tokens if token is not None and token.token == other)
    has_own = any(facts.tokens.operands(site) == (left, right) for site in others)
    return "" if has_own else f", perhaps with those of `{left} {other} {right}`"


def _advise(facts: Facts) -> Iterator[Advice]:
    if facts.ip is None or facts.ip < _WITHOUT_DIVIDER:
        return
    for place, rows, vector, construct in _divisions(facts, _LEAST):
        if _is_long(facts, vector, construct) or not _is_by_variable(facts, vector):
            continue
        yield INTEGER_DIVISION.advice(
            facts,
            place,
            rows,
            _subject(facts, place, construct),
            f"is {len(rows):,} instructions{_among(facts, place, construct)}, because this GPU has no integer divider",
            "launch a 2-D range if it splits an index, make the divisor a constant of the compile (`-D`), shift and mask if"
            f" it is a power of two and no value is negative, or {_by_floats(construct)}",
            edit=_edit(facts, place, construct),
        )


def _edit(facts: Facts, place: SourcePlace, construct: Construct) -> Edit | None:
    """Return the edit that divides floats; None where the operands are not certain, or do something themselves."""
    operation = facts.tokens.operation(place)
    if operation is None or any(_ACTS.search(operand) for operand in operation[1:]):
        return None
    code, left, right = operation
    quotient = f"(__typeof__(({left}) / ({right})))(((float)({left}) + 0.5f) / ({right}))"
    text = f"({quotient})" if construct.token == "/" else f"(({left}) - {quotient} * ({right}))"
    return Edit(((code.start, code.stop, text),))


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
