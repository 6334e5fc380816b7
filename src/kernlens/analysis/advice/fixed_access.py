"""Loads and stores in loops whose address is the same in each round."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kernlens.analysis.advice.accessed import accessed_name
from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.loop_values import LoopValues, loops_to_follow
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import EQUAL, Advice
from kernlens.model.instruction_kind import ATOMIC, GLOBAL, LOAD, STORE
from kernlens.model.intel_instructions import packed_of
from kernlens.model.source_map import SourcePlace

_ORDERING = ("fence", "barrier")
#: Words of a declaration with which `restrict` says nothing more: nothing writes to constant memory.
_RESTRICTED = ("restrict", "__restrict", "__restrict__", "constant", "__constant")


def _advise(facts: Facts) -> Iterator[Advice]:
    groups: dict[tuple[SourcePlace, str], list[int]] = {}
    stored_names: dict[SourcePlace, set[str]] = {}
    for number, members, stored in _candidates(facts):
        loops, code, effects = loops_to_follow(facts), packed_of(facts.code), facts.code.effects
        if loops is None or code is None or effects is None:
            return
        values = LoopValues(facts, loops, code, effects, number)
        for row, place, action in members:
            if values.has_fixed_address(row) and not _is_volatile(facts, place):
                groups.setdefault((place, action), []).append(row)
                stored_names.setdefault(place, set()).update(stored)
    for (place, action), rows in groups.items():
        name = accessed_name(facts, place)
        subject = f"`{name}`" if name else "The access"
        count = f"{len(rows)} message{'' if len(rows) == 1 else 's'}"
        if action == LOAD:
            fact = f"is loaded in a loop, from an address that does not change: {count}"
            advice = "load it before the loop, if it may be read there and nothing else writes it meanwhile"
            # Of what the loop stores through the same pointer, or perhaps through it, `restrict` says nothing.
            if stored_names[place].isdisjoint((name, "")) and not _is_qualified(facts, place, _RESTRICTED):
                advice += ", or declare the pointers `restrict` if no other pointer leads there"
        else:
            fact = f"is stored in a loop, to an address that does not change: {count}"
            advice = (
                "keep the value in a variable, and store it after the loop, if that runs at least once and nothing else"
                " reads or writes there meanwhile"
            )
        yield RULE.advice(facts, place, rows, subject, fact, advice)


def _candidates(facts: Facts) -> Iterator[tuple[int, list[tuple[int, SourcePlace, str]], set[str]]]:
    """Yield for each loop its own loads and stores whose address may be the same in each round, with their places, and the
    names through which it stores, "" among them if one is not known."""
    loops, kinds, source_map = loops_to_follow(facts), facts.kinds, facts.kernel.source_map
    if loops is None or source_map is None:
        return
    for number in range(len(loops.loops)):
        members = (row for part in loops.rows(number) for row in part)
        accesses = [(row, access) for row in members if (access := kinds[row].access) is not None]
        # Whoever else writes there is waited for, or the loop is one that tries again.
        if any(access.action == ATOMIC or access.operation in _ORDERING for _, access in accesses):
            continue
        in_memory = [(row, access) for row, access in accesses if kinds[row].name == GLOBAL and not access.is_spill]
        if not any(access.action == STORE for _, access in in_memory):
            continue
        rows = [
            (row, place, access.action)
            for row, access in in_memory
            if loops.innermost[row] == number
            and access.action in (LOAD, STORE)
            and not _may_be_private(facts, access.surface, access.lanes)
            and (place := source_map.place(row)) is not None
        ]
        if rows:
            stores = (source_map.place(row) for row, access in in_memory if access.action == STORE)
            yield number, rows, {accessed_name(facts, place) if place is not None else "" for place in stores}


def _may_be_private(facts: Facts, surface: str, lanes: int) -> bool:
    """Return whether a message of many lanes may access private memory, which is global memory up to Xe-HPG."""
    resources = facts.kernel.resources
    return bool(resources.private_bytes or resources.scratch_bytes) and lanes > 1 and surface in ("flat", "stateless")


def _is_volatile(facts: Facts, place: SourcePlace) -> bool:
    """Return whether the source may ask for the access in each round; True where its text does not tell."""
    construct = facts.tokens.at(place)
    return construct is None or construct.token.startswith("atomic_") or _is_qualified(facts, place, ("volatile",))


def _is_qualified(facts: Facts, place: SourcePlace, words: Sequence[str]) -> bool:
    """Return whether what a place accesses may be declared with one of these words; True where the text does not tell."""
    texts = {path: "\n".join(lines) for path, lines in facts.tokens.texts.items()}
    word = rf"\b(?:{'|'.join(words)})\b"
    if not any(re.search(word, text) for text in texts.values()):
        return False
    name = accessed_name(facts, place)
    types = re.compile(rf"^[ \t]*(?:typedef|#[ \t]*define)\b.*{word}", re.MULTILINE)
    if not name or any(types.search(text) for text in texts.values()):
        return True
    # The function begins behind the end of the one before; what stands outside of functions ends with a semicolon.
    before = facts.tokens.texts[place.path][: place.line]
    starts = [number for number, line in enumerate(before) if line.startswith("}") or line.rstrip().endswith("}")]
    own = "\n".join(before[max((start for start in starts if start < place.line - 1), default=-1) + 1 :])
    parameter = re.compile(rf"{word}[^;{{}}(),]*\b{name}\b")
    declaration = re.compile(rf"{word}[^;{{}}()]*\b{name}\b[^;{{}}(),]*;")
    return bool(parameter.search(own)) or any(declaration.search(text) for text in texts.values())


RULE = Rule("address-that-does-not-change", "Address that does not change", (EQUAL,), _advise)
