"""``half_`` functions that Intel's compiler gives full accuracy: they are no faster than those without the word."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import DIFFER, Advice

#: The functions -> those that they are, and those that are fewer instructions. The others (``half_exp``, ``half_log``,
#: ``half_sqrt``, ...) are native.
SAME = {
    "half_sin": ("sin", "`native_sin` is 1 or 2 for each value"),
    "half_cos": ("cos", "`native_cos` is 1 or 2 for each value"),
    "half_tan": ("tan", "`native_tan` is 4 to 10 for each value"),
    "half_powr": ("powr", "`native_powr` is 3 to 10 for each value"),
}
#: With fewer instructions for lanes at a place the functions are native.
_LEAST = 32


def _advise(facts: Facts) -> Iterator[Advice]:
    for place, rows in facts.sites.items():
        if len(rows) < _LEAST or len(facts.vector(rows)) < _LEAST:
            continue
        construct = facts.tokens.at(place)
        names = construct.among(SAME) if construct else []
        if construct is None or not names:
            continue
        same = " and ".join(f"`{SAME[name][0]}`" for name in names)
        actions = "; ".join(SAME[name][1] for name in names)
        yield RULE.advice(
            facts,
            place,
            rows,
            construct.titled(names),
            f"is {len(rows):,} instructions, as many as {same}",
            f"{actions}, with less accuracy",
            edit=facts.tokens.renamed(place, f"native_{SAME[names[0]][0]}"),
        )


RULE = Rule("half-function", "Half function", (DIFFER,), _advise)
