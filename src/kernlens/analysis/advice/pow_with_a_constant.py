"""Powers with a constant that the compiler does not fold: ``pow(x, 2.0f)`` is not a product."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.literals import literal
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.advice.source_tokens import Construct
from kernlens.dataclass import NamedTuple
from kernlens.model.advice import WITHIN_ULP, Advice

_POWERS = frozenset(("pow", "powr", "pown"))
#: With fewer instructions for lanes at a place it was folded.
_LEAST = 16
_SIMPLE = re.compile(r"[A-Za-z_][\w.]*(?:\[(?:\w|[-+*](?![-+=])| )+\])?", re.ASCII)
#: Words that are no members and no indexes.
_FIRST_WORD = re.compile(r"(?<![\w.>\[])[A-Za-z_]\w*", re.ASCII)


class Simpler(NamedTuple):
    """An expression of a few instructions for a power with a constant, and the ``condition`` under which it is its value."""

    expression: str
    condition: str = ""


def simpler(construct: Construct, integers: Set[str] = frozenset()) -> Simpler | None:
    """Return the simpler expression for a power with a constant; None if there is none. ``integers`` are the names that the
    source declares as such: a product or quotient of them is one of integers, the power is not."""
    if construct.token not in _POWERS or len(construct.arguments) != 2:
        return None
    base, exponent = construct.arguments
    power, root = literal(exponent), literal(base)
    if power == 0 and construct.token == "powr":  # It is no number for 0 and for infinity.
        return None
    if power in _PRODUCTS:
        except_for = _EXCEPT.get(power, "")
        if power == 0 or (_SIMPLE.fullmatch(base) and len(base) < 20 and _FIRST_WORD.findall(base)[0] not in integers):
            return Simpler(_PRODUCTS[power].replace("x", base), except_for.replace("x", base))
        return Simpler(_PRODUCTS[power], f", with the base in {_VARIABLE} `x`{except_for}")
    if root in _BASES and construct.token != "pown":
        if len(exponent) < 30 and integers.isdisjoint(_FIRST_WORD.findall(exponent)):
            return Simpler(f"{_BASES[root]}({exponent})")
        return Simpler(f"{_BASES[root]}(y)", f", with the exponent in {_VARIABLE} `y`")
    return None


#: A float, or the type of the power, if that is another.
_VARIABLE = "a floating-point variable"
_PRODUCTS = {
    0.0: "1.0f",
    1.0: "x",
    2.0: "x * x",
    3.0: "x * x * x",
    4.0: "(x * x) * (x * x)",
    -1.0: "1 / x",
    -2.0: "1 / (x * x)",
    0.5: "sqrt(x)",
    -0.5: "rsqrt(x)",
    1.5: "x * sqrt(x)",
    0.25: "sqrt(sqrt(x))",
}
#: Where powers have other values than their expressions: for -0 and -infinity, and where the square is no normal number.
_EXCEPT = {
    **dict.fromkeys((0.5, -0.5, 1.5, 0.25), ", if x is never -0 or -infinity"),
    -2.0: ", if |x| is 1.1e-19 to 9.2e18",
}
_INTEGERS = (
    "char",
    "short",
    "int",
    "long",
    "size_t",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "unsigned",
    "ptrdiff_t",
    "bool",
)
_BASES = {2.0: "exp2", 10.0: "exp10"}


def _advise(facts: Facts) -> Iterator[Advice]:
    for place, rows in facts.sites.items():
        if len(rows) < _LEAST or len(facts.vector(rows)) < _LEAST:
            continue
        construct = facts.tokens.at(place)
        if construct is None or construct.is_macro or simpler(construct) is None:
            continue
        integers = set().union(*(facts.tokens.declared_as(place.path, name) for name in _INTEGERS))
        simple = simpler(construct, integers)
        if simple is None:
            continue
        # A product of floats is no double: its error is that of floats, and its range.
        is_double = facts.works_on_doubles(rows, place.path, construct.words)
        condition = simple.condition.replace(_VARIABLE, "a double") if is_double else simple.condition
        yield RULE.advice(
            facts,
            place,
            rows,
            f"`{construct.token}({', '.join(construct.arguments)})`",
            f"is {len(rows):,} instructions, because the compiler does not fold it",
            f"write `{simple.expression}`{condition}",
            edit=None
            if _VARIABLE in simple.condition
            else facts.tokens.in_place_of_call(place, f"({simple.expression})"),
        )


RULE = Rule("pow-with-a-constant", "Pow with a constant", (WITHIN_ULP,), _advise)
