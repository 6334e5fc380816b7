"""The words of OpenCL C that stand at a place of the source: which built-in function or operator instructions came from.

Compilers give each instruction of an inlined built-in function, and of an operator that the hardware does not have, the
place of the call or operator. In a macro that is the place where the macro is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from kernlens.analysis.line_texts import source_texts
from kernlens.dataclass import dataclass
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace

_TOKEN = re.compile(r"[A-Za-z_]\w*|[-+*/%&|^=<>!]=|<<|>>|&&|\|\||\+\+|--|->|\S", re.ASCII)
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(\([^)\n]*\))?(.*)$", re.ASCII | re.MULTILINE)
_OPTION = re.compile(r"-D[ \t]*([A-Za-z_]\w*)=(\S+)", re.ASCII)
#: Operators that are looked for in macros.
_OPERATOR = re.compile(r"[/%]")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LITERAL = re.compile(
    r"[-+]?\(?[-+]?(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)[fFhHuUlL]*\)?"
)
#: Characters behind a call that are read for its arguments, and macros within macros that are followed.
_ARGUMENTS = 2000
_DEPTH = 16
#: Words of the bodies of macros that are read of a program.
_MACRO_WORDS = 200_000


@dataclass(frozen=True, slots=True)
class Construct:
    """The words at a place. ``token`` stands there itself; ``names`` are the identifiers and the operators ``/`` and ``%``
    that instructions of the place can be of: the token alone, or if it is a macro all that this expands to.
    ``arguments`` are those of a call, empty if there is none."""

    token: str
    names: frozenset[str]
    is_macro: bool = False
    arguments: tuple[str, ...] = ()

    def among(self, names: Mapping[str, object]) -> list[str]:
        """Return those of its ``names`` that are among these, sorted."""
        return sorted(self.names & names.keys())

    def titled(self, names: Sequence[str]) -> str:
        """Return the construct in a sentence, with those of its names that matter: `` `sin` ``, or
        `` the macro `SQ`, which uses `sin`, ``."""
        if not self.is_macro:
            return f"`{self.token}`"
        return f"the macro `{self.token}` (with {' and '.join(f'`{name}`' for name in names)})"


class SourceTokens:
    """The tokens of a program's sources, as far as their texts are known."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._constructs: dict[SourcePlace, Construct | None] = {}

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """The lines of each source, by its path."""
        return source_texts(self._program)

    def at(self, place: SourcePlace) -> Construct | None:
        """Return what stands at a place; None without a column, or where the text is not known."""
        if place not in self._constructs:
            self._constructs[place] = self._construct(place)
        return self._constructs[place]

    def expression(self, place: SourcePlace) -> str:
        """Return the line from the place on, without a comment and shortened: for sentences."""
        text = _COMMENT.sub("", self._line(place).strip())
        return text if len(text) <= 40 else f"{text[:37]}..."

    def _construct(self, place: SourcePlace) -> Construct | None:
        start = self._start(place)
        if start is None:
            return None
        token = _TOKEN.match(self._line(place), start)
        if token is None:
            return None
        name = token[0]
        arguments = self._arguments(place, token.end()) if _WORD.match(name) else ()
        if name not in self._macros:
            operator = name[0] if name in ("/=", "%=") else name
            return Construct(name, frozenset((operator,)), False, arguments)
        names = set(self._expanded(name))
        for argument in arguments:
            for word in (*_WORD.findall(argument), *_OPERATOR.findall(argument)):
                names |= {word, *self._expanded(word)}
        return Construct(name, frozenset(names), True, arguments)

    def _line(self, place: SourcePlace) -> str:
        lines = self.texts.get(place.path, ())
        return lines[place.line - 1] if 0 < place.line <= len(lines) else ""

    def _start(self, place: SourcePlace) -> int | None:
        """Return the index in its line of the character at a place: columns count bytes."""
        text = self._line(place)
        if not place.column or place.column > len(text.encode("utf-8", "replace")):
            return None
        if text.isascii():
            return place.column - 1
        return len(text.encode("utf-8", "replace")[: place.column - 1].decode("utf-8", "ignore"))

    def _arguments(self, place: SourcePlace, start: int) -> tuple[str, ...]:
        """Return the arguments in the brackets that follow, which may go on in the lines below."""
        lines = self.texts[place.path]
        text, number = lines[place.line - 1][start:], place.line
        while len(text) < _ARGUMENTS and number < len(lines) and text.count("(") != text.count(")"):
            text += f"\n{lines[number]}"
            number += 1
        text = _COMMENT.sub(" ", text[:_ARGUMENTS]).lstrip()
        if not text.startswith("("):
            return ()
        arguments, depth, begin = [], 0, 1
        for index, character in enumerate(text):
            if character in "([{":
                depth += 1
            elif character in ")]}":
                depth -= 1
            if depth == 0 or (depth == 1 and character == ","):
                arguments.append(" ".join(text[begin:index].split()))
                begin = index + 1
            if depth == 0:
                return tuple(filter(None, arguments))
        return ()

    @cached_property
    def _macros(self) -> dict[str, set[str]]:
        """The identifiers and operators in the body of each macro; of one that is defined several times, in all bodies."""
        macros: dict[str, set[str]] = {}
        words_left = _MACRO_WORDS
        for name, body in self._definitions():
            words = {*_WORD.findall(body), *_OPERATOR.findall(body)}
            words_left -= len(words)
            if words_left < 0:
                break
            macros.setdefault(name, set()).update(words)
        return macros

    def _definitions(self) -> Iterator[tuple[str, str]]:
        for lines in self.texts.values():
            text = "\n".join(lines)
            if "define" in text:
                for definition in _DEFINE.finditer(_COMMENT.sub(" ", text.replace("\\\n", " "))):
                    yield definition[1], definition[3]
        for option in _OPTION.finditer(self._program.build.options or ""):
            yield option[1], option[2]

    def _expanded(self, name: str) -> set[str]:
        """Return all words that a macro expands to, those of the macros in it too; none if it is no macro."""
        words: set[str] = set()
        new = self._macros.get(name, set())
        for _ in range(_DEPTH):
            words |= new
            new = {word for each in new for word in self._macros.get(each, ())} - words
            if not new:
                break
        return words


def literal(text: str) -> float | None:
    """Return the value of a literal number of OpenCL C, such as ``2.0f`` or ``(-1)``; None for any other expression."""
    if not _LITERAL.fullmatch(text.strip()):
        return None
    digits = text.strip("() \t").rstrip("fFhHuUlL") if "x" not in text.lower() else text.strip("() \t").rstrip("uUlL")
    try:
        return float(int(digits, 16)) if "x" in digits.lower() else float(digits)
    except ValueError:
        return None
