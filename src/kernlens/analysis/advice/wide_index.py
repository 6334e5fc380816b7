"""Index arithmetic in 64 bits, as the compiler's own stages show it: the machine code alone does not tell it from data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import EQUAL, Advice
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage_map import StageMap

#: The stage before the compiler changes anything.
_STAGE = "llvm-before-unification"
_ORIGIN = f"the stage {_STAGE}, and counted in the code"
_DEFINED = re.compile(r"\s*(%[-\w.$]+) = (.*)")
_VALUE = re.compile(r"%[-\w.$]+")
_PRODUCT = re.compile(r"mul (?:nuw )?(?:nsw )?i64 (\S+), (\S+?)(?:,|$)")
#: Operations on an index behind a product, until it is one of an address.
_PASSED = ("add ", "sub ", "shl ", "mul ", "phi i64", "or ")
#: A product of so few machine instructions was made in 32 bits, or once for all lanes.
_LEAST = 3
_MOST_VALUES = 64


def _advise(facts: Facts) -> Iterator[Advice]:
    if not any(snapshot.stage == _STAGE for snapshot in facts.program.build.snapshots):
        return
    sites = {(place.line, place.column): (place, rows) for place, rows in facts.sites.items() if place.column}
    seen = set[SourcePlace]()
    for stage in facts.program.stage_maps:
        if stage.stage != _STAGE:
            continue
        for stated in _products(stage):
            place, rows = sites.get((stated.line, stated.column), (None, ()))
            if place is None or place in seen or len(rows) < _LEAST or not _is_same_file(stated, place):
                continue
            seen.add(place)
            yield RULE.advice(
                facts,
                place,
                rows,
                "The product",
                f"computes an index in 64 bits: {len(rows)} instructions",
                "use `int` if the index fits (`int x = get_global_id(0)`, `int` arguments)",
                origin=_ORIGIN,
            )


def _is_same_file(stated: SourcePlace, place: SourcePlace) -> bool:
    return stated.path.rsplit("/", 1)[-1] == place.path.rsplit("/", 1)[-1]


def _products(stage: StageMap) -> Iterator[SourcePlace]:
    """Yield the places of products in 64 bits that become a part of an address, and whose factors are no data."""
    by_function: dict[str, list[int]] = {}
    for index, function in enumerate(stage.functions):
        by_function.setdefault(function, []).append(index)
    for indexes in by_function.values():
        texts = [stage.texts[index] for index in indexes]
        if not any("mul " in text for text in texts):
            continue
        defined: dict[str, str] = {}
        users: dict[str, list[str]] = {}
        for text in texts:
            definition = _DEFINED.match(text)
            if definition:
                defined[definition[1]] = definition[2]
                for value in set(_VALUE.findall(definition[2])):
                    users.setdefault(value, []).append(definition[1])
        for index, text in zip(indexes, texts, strict=True):
            definition = _DEFINED.match(text)
            product = _PRODUCT.match(definition[2]) if definition else None
            place = stage.places[index]
            if not definition or not product or place is None or not _is_index(definition[1], defined, users):
                continue
            if not any(_is_data(factor, defined) for factor in product.groups()):
                yield place


def _is_index(value: str, defined: Mapping[str, str], users: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a value becomes a part of an address."""
    waiting, seen = [value], {value}
    while waiting and len(seen) < _MOST_VALUES:
        for user in users.get(waiting.pop(), ()):
            text = defined[user]
            if text.startswith("getelementptr"):
                return True
            if user not in seen and text.startswith(_PASSED):
                seen.add(user)
                waiting.append(user)
    return False


def _is_data(value: str, defined: Mapping[str, str]) -> bool:
    """Return whether a factor needs 64 bits, as it may: it is read from memory, or a number that is too large."""
    waiting, seen = [value], {value}
    while waiting and len(seen) < _MOST_VALUES:
        factor = waiting.pop()
        if re.fullmatch(r"-?\d+", factor):
            if abs(int(factor[:20])) >= 1 << 31:
                return True
            continue
        text = defined.get(factor, "")
        if text.startswith("load i64"):
            return True
        if text.startswith((*_PASSED, "sdiv", "udiv", "srem", "urem", "ashr", "lshr", "select")):
            for operand in _VALUE.findall(text):
                if operand not in seen:
                    seen.add(operand)
                    waiting.append(operand)
    return False


RULE = Rule("64-bit-index", "64-bit index", (EQUAL,), _advise)
