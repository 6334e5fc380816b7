"""Built-in functions that became many instructions, where a native function is one or a few."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import Advice

#: Built-in functions -> what to use instead. The compiler inlines each of them as many instructions.
REPLACEMENTS = {
    "sin": "`native_sin`",
    "cos": "`native_cos`",
    "tan": "`native_tan`",
    "sincos": "`native_sin` and `native_cos`",
    "exp": "`native_exp`",
    "exp10": "`native_exp10`",
    "log": "`native_log`",
    "log2": "`native_log2`",
    "log10": "`native_log10`",
    "pow": "`native_powr`",
    "powr": "`native_powr`",
}
_LEAST = 16


def _advise(facts: Facts) -> Iterator[Advice]:
    for place, rows in facts.sites.items():
        vector = facts.vector(rows)
        if len(vector) < _LEAST:
            continue
        construct = facts.tokens.at(place)
        names = construct.among(REPLACEMENTS) if construct else []
        if construct is None or not names:
            continue
        yield facts.advice(
            RULE.key,
            place,
            rows,
            construct.titled(names),
            f"is {len(rows):,} instructions",
            f"{' and '.join(REPLACEMENTS[name] for name in names)} is a few, with less accuracy",
        )


RULE = Rule("slow-built-in", "Slow built-in", _advise)
