"""Powers with a constant that the compiler does not fold: ``pow(x, 2.0f)`` is not a product."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.literals import literal
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.advice.source_tokens import Construct
from kernlens.model.advice import Advice

_POWERS = frozenset(("pow", "powr", "pown"))
#: With fewer instructions for lanes at a place it was folded.
_LEAST = 16
_SIMPLE = re.compile(r"[\w.]+(?:\[\w+\])?", re.ASCII)


def simpler(construct: Construct) -> str | None:
    """Return an expression that is equal to a power with a constant and a few instructions; None if there is none."""
    if construct.token not in _POWERS or len(construct.arguments) != 2:
        return None
    base, exponent = construct.arguments
    power, root = literal(exponent), literal(base)
    x = base if _SIMPLE.fullmatch(base) and len(base) < 20 else "x"
    if power in _PRODUCTS:
        return _PRODUCTS[power].replace("x", x)
    if root in _BASES and construct.token != "pown":
        y = exponent if len(exponent) < 30 else "y"
        return f"{_BASES[root]}({y})"
    return None


_PRODUCTS = {
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
_BASES = {2.0: "exp2", 10.0: "exp10"}


def _advise(facts: Facts) -> Iterator[Advice]:
    for place, rows in facts.sites.items():
        if len(rows) < _LEAST or len(facts.vector(rows)) < _LEAST:
            continue
        construct = facts.tokens.at(place)
        expression = simpler(construct) if construct and not construct.is_macro else None
        if construct is None or expression is None:
            continue
        yield facts.advice(
            RULE.key,
            place,
            rows,
            f"`{construct.token}({', '.join(construct.arguments)})`",
            f"is {len(rows):,} instructions, because the compiler does not fold it",
            f"write `{expression}`",
        )


RULE = Rule("pow-with-a-constant", "Pow with a constant", _advise)
