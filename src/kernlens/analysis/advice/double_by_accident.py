"""Constants without an ``f`` that make the floats beside them doubles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlens.analysis.advice.facts import DOUBLE, Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import DIFFER, Advice, Edit
from kernlens.model.source_map import SourcePlace

#: A literal double: with a point or an exponent, without a suffix.
_DOUBLE = re.compile(
    r"(?<![\w.])(?:\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?![\w.])", re.ASCII
)
#: Floats that keep their precision have such values.
_SMALLEST, _LARGEST = 1.18e-38, 3.4028234e38
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: The double constants of OpenCL C, each of which has a float beside it with ``_F``.
_CONSTANTS = frozenset(
    f"M_{name}"
    for name in (
        "E",
        "LOG2E",
        "LOG10E",
        "LN2",
        "LN10",
        "PI",
        "PI_2",
        "PI_4",
        "1_PI",
        "2_PI",
        "2_SQRTPI",
        "SQRT2",
        "SQRT1_2",
    )
)
#: Operators that may divide integers by way of doubles.
_DIVISIONS = frozenset(("/", "%", "/=", "%="))


def _advise(facts: Facts) -> Iterator[Advice]:
    rows_of: dict[tuple[str, int], list[int]] = {}
    for place, rows in facts.sites.items() if facts.double_rows else ():
        doubles = [row for row in rows if row in facts.double_rows]
        construct = facts.tokens.at(place) if doubles else None
        if (
            construct is not None
            and "printf" not in construct.names
            and not (construct.token in _DIVISIONS and _is_of_integers(facts, doubles))
        ):
            rows_of.setdefault((place.path, place.line), []).extend(doubles)
    for (path, line), rows in rows_of.items():
        if not facts.conversions(facts.vector(rows))["f", "df"]:
            continue
        text, first = facts.tokens.statement(path, line)
        constants = _constants(facts, text)
        if not constants or not all(better for _, _, better in constants) or _is_meant(facts, path, text):
            continue
        names = list(dict.fromkeys(word for word, _, _ in constants))[:3]
        start = constants[0][1]
        before = text[:start]
        place = SourcePlace(path, first + before.count("\n"), start - (before.rfind("\n") + 1) + 1)
        yield RULE.advice(
            facts,
            place,
            rows,
            " and ".join(f"`{name}`" for name in names),
            f"{'causes' if len(names) == 1 else 'cause'} {len(rows):,} double-precision instructions",
            "write " + " and ".join(dict.fromkeys(f"`{better}`" for _, _, better in constants)),
            edit=_edit(facts, path, text, first, constants),
        )


def _edit(facts: Facts, path: str, text: str, first: int, constants: list[tuple[str, int, str]]) -> Edit | None:
    """Return the edit that makes each constant a float; None if one stands in a macro."""
    if not all(_DOUBLE.fullmatch(word) or word in _CONSTANTS for word, _, _ in constants):
        return None
    replaced = []
    for word, index, better in constants:
        before = text[:index]
        start = facts.tokens.offset(SourcePlace(path, first + before.count("\n"), index - before.rfind("\n")))
        replaced.append((start, start + len(word), better))
    return Edit(tuple(replaced))


def _is_of_integers(facts: Facts, rows: list[int]) -> bool:
    conversions = facts.conversions(rows)
    return any("df" in pair and "f" not in pair for pair in conversions)


def _constants(facts: Facts, text: str) -> list[tuple[str, int, str]]:
    """Return each double constant in a statement, its index, and what to write instead."""
    constants = [(match[0], match.start(), as_float(match[0])) for match in _DOUBLE.finditer(text)]
    for match in _WORD.finditer(text):
        if match[0] in _CONSTANTS:
            constants.append((match[0], match.start(), as_float(match[0])))
            continue
        for body in facts.tokens.expansions(match[0]):
            inner = [*_DOUBLE.findall(body), *(word for word in _WORD.findall(body) if word in _CONSTANTS)]
            if inner:
                better = "` and `".join(map(as_float, dict.fromkeys(inner)))
                constants.append((match[0], match.start(), better if all(map(as_float, inner)) else ""))
                break
    return sorted(constants, key=lambda each: each[1])


def as_float(constant: str) -> str:
    """Return the float constant for that of a double; empty if no float is nearly equal, as it is too large or too small."""
    if constant in _CONSTANTS:
        return f"{constant}_F"
    value = float(constant)
    return f"{constant}f" if not value or _SMALLEST <= value <= _LARGEST else ""


def _is_meant(facts: Facts, path: str, text: str) -> bool:
    """Return whether a statement works on values that are declared as doubles."""
    if "double" in text:
        return True
    return not facts.tokens.declared_as(path, DOUBLE).isdisjoint(_WORD.findall(text))


RULE = Rule("double-by-accident", "Double by accident", (DIFFER,), _advise)
