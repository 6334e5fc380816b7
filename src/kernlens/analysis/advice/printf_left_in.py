"""Calls of ``printf`` that were left in."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import EQUAL, Advice

_NAME = "printf"
#: A call is more instructions than this.
_LEAST = 8


def _advise(facts: Facts) -> Iterator[Advice]:
    for place, rows in facts.sites.items():
        construct = facts.tokens.at(place) if len(rows) >= _LEAST else None
        if construct is None or _NAME not in construct.names:
            continue
        yield RULE.advice(
            facts,
            place,
            rows,
            construct.titled([_NAME]),
            f"costs {len(rows):,} instructions, even if it never prints",
            "remove it, or compile it for debugging only",
            edit=facts.tokens.in_place_of_call(place, "0"),
        )


RULE = Rule("printf-left-in", "Printf left in", (EQUAL,), _advise)
