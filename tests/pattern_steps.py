"""The steps that a regular expression takes on a text: a backtracking matcher, as ``re`` is, that counts.

It follows the parsed pattern, and tries from each place as a search does. What ``re`` leaves out by looking ahead for a first
character changes the count by a factor, not how it grows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Item = tuple[Any, Any]
Continue = Callable[[int], bool]

#: A repetition with a limit is no repetition without one: so many times are tried of it.
_FEW = 3
#: Alternatives that are tried of what is repeated.
_MOST_WAYS = 6
_WORD = re.compile(r"\w", re.ASCII)
_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": lambda character: character in "0123456789",
    "CATEGORY_SPACE": lambda character: character in " \t\n\r\f\v",
    "CATEGORY_WORD": lambda character: _WORD.match(character) is not None,
}
#: Characters of which one is a sample of each set.
_SAMPLES = "x7 _-.:/\"'\n\t,()[]{}*#%$@!;=~^|\\&<>?+`\x01\xe9\x80\xc3ABCDEFabcdefghijklmnopqrstuvwyz012345689"
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


class TooManyStepsError(Exception):
    """More steps than are counted."""


def holds(item: Item, character: str, flags: int) -> bool | None:
    """Return whether an item that takes one character takes this one; None for an item that takes none or many."""
    operation, value = item
    spellings = {character.lower(), character.upper()} if flags & re.IGNORECASE else {character}
    if operation is codes.LITERAL:
        return chr(value) in spellings
    if operation is codes.NOT_LITERAL:
        return chr(value) not in spellings
    if operation is codes.ANY:
        return character != "\n" or bool(flags & re.DOTALL)
    if operation is not codes.IN:
        return None
    members, is_negated = list(value), value[0][0] is codes.NEGATE
    return is_negated != any(_is_member(member, each) for member in members[is_negated:] for each in spellings)


def _is_member(member: Item, character: str) -> bool:
    operation, value = member
    if operation is codes.LITERAL:
        return chr(value) == character
    if operation is codes.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    name = str(value).replace("_NOT_", "_").replace("UNI_", "")
    return _CATEGORIES[name](character) != ("_NOT_" in str(value))


class Matcher:
    """A pattern, and what it takes of texts."""

    def __init__(self, pattern: re.Pattern[Any], most: int) -> None:
        source = pattern.pattern
        self.items: list[Item] = list(parser.parse(source, pattern.flags & ~re.DEBUG))
        self._flags, self._most = pattern.flags, most
        self._held: dict[tuple[int, str], bool | None] = {}

    def steps(self, text: str, *, is_search: bool = True) -> int:
        """Return the steps of a search in a text, or of a match at its start. Raises TooManyStepsError."""
        self._text, self._steps, self._groups = text, 0, dict[int, str]()
        for start in range(len(text) + 1 if is_search else 1):
            if self._match(self.items, 0, start, lambda end: True):
                break
        return self._steps

    def _step(self) -> None:
        self._steps += 1
        if self._steps > self._most:
            raise TooManyStepsError

    def _takes(self, item: Item, at: int) -> bool | None:
        character = self._text[at] if at < len(self._text) else ""
        key = id(item), character
        if key not in self._held:
            self._held[key] = holds(item, character, self._flags) if character else None
            if not character and holds(item, "x", self._flags) is not None:
                self._held[key] = False
        return self._held[key]

    def _match(self, items: Sequence[Item], index: int, at: int, then: Continue) -> bool:
        while index < len(items):
            self._step()
            taken = self._takes(items[index], at)
            if taken is None:
                return self._special(items, index, at, then)
            if not taken:
                return False
            index, at = index + 1, at + 1
        return then(at)

    def _special(self, items: Sequence[Item], index: int, at: int, then: Continue) -> bool:
        operation, value = items[index]

        def rest(end: int) -> bool:
            return self._match(items, index + 1, end, then)

        if operation in _REPEATS:
            return self._repeat(operation, value, at, rest)
        if operation is codes.SUBPATTERN:
            return self._match(list(value[-1]), 0, at, lambda end: self._in_group(value[0], at, end, rest))
        if operation is codes.BRANCH:
            return any(self._match(list(branch), 0, at, rest) for branch in value[1])
        if operation is codes.ATOMIC_GROUP:
            end = self._end(list(value), at)
            return end is not None and rest(end)
        if operation in (codes.ASSERT, codes.ASSERT_NOT):
            start = at if value[0] > 0 else at - value[1].getwidth()[1]
            is_met = start >= 0 and self._match(list(value[1]), 0, start, lambda end: True)
            return is_met is (operation is codes.ASSERT) and rest(at)
        if operation is codes.GROUPREF:
            group = self._groups.get(value, "")
            return self._text.startswith(group, at) and rest(at + len(group))
        if operation is codes.GROUPREF_EXISTS:
            return self._match(list(value[1] if value[0] in self._groups else value[2] or ()), 0, at, rest)
        assert operation is codes.AT, operation
        return self._is_at(str(value), at) and rest(at)

    def _in_group(self, group: int | None, start: int, end: int, rest: Continue) -> bool:
        if group is not None:
            self._groups[group] = self._text[start:end]
        return rest(end)

    def _end(self, items: Sequence[Item], at: int) -> int | None:
        ends: list[int] = []

        def take(end: int) -> bool:
            ends.append(end)
            return True

        return ends[0] if self._match(items, 0, at, take) else None

    def _repeat(self, operation: Any, value: tuple[int, int, Any], at: int, rest: Continue) -> bool:
        least, most, inner = value[0], value[1], list(value[2])
        most = len(self._text) + 1 if most is codes.MAXREPEAT else max(least, min(most, _FEW))
        if len(inner) == 1 and self._takes(inner[0], at) is not None:
            count = 0
            while count < most and self._takes(inner[0], at + count):
                count += 1
                self._step()
            ends = range(count, least - 1, -1) if operation is not codes.MIN_REPEAT else range(least, count + 1)
            if operation is codes.POSSESSIVE_REPEAT:
                ends = ends[:1]
            return any(rest(at + end) for end in ends)

        def again(number: int, start: int) -> bool:
            self._step()

            def more() -> bool:
                def on(end: int) -> bool:
                    return (end > start or number < least) and again(number + 1, end)

                return number < most and self._match(inner, 0, start, on)

            if operation is codes.MIN_REPEAT:
                return (number >= least and rest(start)) or more()
            return more() or (number >= least and rest(start))

        return again(0, at)

    def _is_at(self, place: str, at: int) -> bool:
        text, is_lines = self._text, bool(self._flags & re.MULTILINE)
        if place in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
            return at == 0 or (is_lines and place == "AT_BEGINNING" and text[at - 1] == "\n")
        if place in ("AT_END", "AT_END_STRING"):
            is_line = place == "AT_END" and (at == len(text) - 1 or is_lines) and text[at : at + 1] == "\n"
            return at == len(text) or is_line
        before, behind = (
            bool(_WORD.match(text[max(0, each) : each + 1])) if each >= 0 else False for each in (at - 1, at)
        )
        return (before != behind) is ("NON" not in place)


def sample(item: Item, flags: int) -> str:
    """Return the shortest text that an item of a parsed pattern takes, as a rule."""
    operation, value = item
    text: str
    if operation in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
        return chr(value) if operation is codes.LITERAL else next((x for x in _SAMPLES if holds(item, x, flags)), "x")
    if operation in _REPEATS:
        text = "".join(sample(each, flags) for each in value[2]) * value[0]
        return text
    if operation in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
        return "".join(sample(each, flags) for each in (value[-1] if operation is codes.SUBPATTERN else value))
    return "".join(sample(each, flags) for each in value[1][0]) if operation is codes.BRANCH else ""


def reached(items: Iterable[Item], flags: int, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield of each repetition without a limit the text that reaches it, and what it repeats."""
    for item in items:
        operation, value = item
        if operation in _REPEATS:
            for inner in _alternatives(value[2], flags) if value[1] is codes.MAXREPEAT else ():
                yield before, inner
            yield from reached(value[2], flags, before)
        elif operation is codes.SUBPATTERN:
            yield from reached(value[-1], flags, before)
        elif operation is codes.BRANCH:
            for branch in value[1]:
                yield from reached(branch, flags, before)
        before += sample(item, flags)


def _alternatives(items: Iterable[Item], flags: int) -> list[str]:
    """Return the texts of items, one for each alternative of a choice among them."""
    ways = [""]
    for item in items:
        while item[0] is codes.SUBPATTERN and len(item[1][-1]) == 1:
            item = item[1][-1][0]
        branches = item[1][1] if item[0] is codes.BRANCH else [[item]]
        samples = ["".join(sample(each, flags) for each in branch) for branch in branches]
        ways = [way + own for way in ways for own in samples][:_MOST_WAYS]
    return [way for way in ways if way]
