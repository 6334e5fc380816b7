"""The words of OpenCL C that stand at a place of the source: which built-in function or operator instructions came from.

Compilers give each instruction of an inlined built-in function, and of an operator that the hardware does not have, the
place of the call or operator. In a macro that is the place where the macro is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate

from kernlens.analysis.advice.operands import operands
from kernlens.analysis.advice.source_loops import SourceLoop, loops_in, number
from kernlens.dataclass import dataclass
from kernlens.model.advice import Edit
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace

_TOKEN = re.compile(r"[A-Za-z_]\w*|[-+*/%&|^=<>!]=|<<|>>|&&|\|\||\+\+|--|->|\S", re.ASCII)
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(\([^)\n]*\))?(.*)$", re.ASCII | re.MULTILINE)
_TYPEDEF = re.compile(r"\btypedef\b([^;{}]{0,200};)", re.ASCII)
_OPTION = re.compile(r"-D[ \t]*([A-Za-z_]\w*)=(\S+)", re.ASCII)
#: Operators that are looked for in macros.
_OPERATOR = re.compile(r"[/%]")
#: A comment that does not end takes the rest of the text: looked for again behind each of its characters, it would be slow.
COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
#: What may hold brackets that are none: comments, and what is in quotes.
_HIDING = re.compile(rf"{COMMENT.pattern}|\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])*'", re.DOTALL)
#: Lines of a statement that are read before and behind one of its lines.
_STATEMENT = 8
#: Lines above and below an operator that are read for its operands.
_BESIDE = 3
#: Characters behind a call that are read for its arguments, and macros within macros that are followed.
_ARGUMENTS = 2000
_DEPTH = 16
#: Characters of the bodies of macros that are read of a program, and of those that one expands to.
_MACRO_TEXT, _EXPANSION = 1 << 20, 20_000
#: Characters of a line that is not ASCII, and of a line of a statement.
_WIDE_LINE, _STATEMENT_LINE = 100_000, 1000


@dataclass(frozen=True, slots=True)
class Construct:
    """The words at a place. ``token`` stands there itself; ``names`` are the identifiers and the operators ``/`` and ``%``
    that instructions of the place can be of: the token alone, or if it is a macro all that this expands to.
    ``arguments`` are those of a call, empty if there is none."""

    token: str
    names: frozenset[str]
    is_macro: bool = False
    arguments: tuple[str, ...] = ()

    @property
    def words(self) -> set[str]:
        """The identifiers that instructions of the place can be of: its names, and those in its arguments."""
        return {*self.names, *(word for argument in self.arguments for word in _WORD.findall(argument))}

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
        self._words: dict[str, set[str]] = {}
        self._declared: dict[tuple[str, str], set[str]] = {}
        self._loops: dict[str, list[SourceLoop]] = {}
        self._starts: dict[str, list[int]] = {}

    @staticmethod
    @lru_cache(1)
    def of(program: Program) -> SourceTokens:
        """Return the tokens of a program, kept for its next kernel: much of what is read is of the whole text."""
        return SourceTokens(program)

    @property
    def texts(self) -> dict[str, list[str]]:
        """The lines of each source, by its path."""
        return self._program.source_lines

    def at(self, place: SourcePlace) -> Construct | None:
        """Return what stands at a place; None without a column, or where the text is not known."""
        if place not in self._constructs:
            self._constructs[place] = self._construct(place)
        return self._constructs[place]

    def calls(self, construct: Construct, names: Mapping[str, object]) -> list[str]:
        """Return those of the functions with these names that a construct calls, sorted: a variable may be called so too."""
        some = construct.among(names)
        if not construct.is_macro:
            return some if construct.arguments else []
        texts = [*self.expansions(construct.token), *construct.arguments]
        return [name for name in some if any(re.search(rf"\b{name}\s*(?:\(|$)", text) for text in texts)]

    def call(self, place: SourcePlace) -> range | None:
        """Return the characters of the source that the call at a place takes, from its name to its closing bracket; None if
        there is none."""
        construct, start = self.at(place), self._start(place)
        if construct is None or construct.is_macro or start is None:
            return None
        begin = self.offset(SourcePlace(place.path, place.line, 1)) + start
        text = "\n".join(self.texts[place.path])[begin : begin + _ARGUMENTS]
        text = _HIDING.sub(lambda match: " " * len(match[0]), text)
        depth = 0
        for index in range(len(construct.token), len(text)):
            depth += (text[index] == "(") - (text[index] == ")")
            if not depth and not text[index].isspace():
                return range(begin, begin + index + 1) if text[index] == ")" else None
        return None

    def renamed(self, place: SourcePlace, name: str) -> Edit | None:
        """Return the edit that calls another function at a place; None where the name stands in a macro."""
        code, construct = self.call(place), self.at(place)
        return Edit(((code.start, code.start + len(construct.token), name),)) if code and construct else None

    def in_place_of_call(self, place: SourcePlace, text: str) -> Edit | None:
        """Return the edit that puts a text on one line in place of the call at a place; None where that stands in a macro."""
        code = self.call(place)
        lines = "\n".join(self.texts[place.path])[code.start : code.stop].count("\n") if code else 0
        return Edit(((code.start, code.stop, text + "\n" * lines),)) if code else None

    def operands(self, place: SourcePlace) -> tuple[str, str]:
        """Return the operands of the division at a place; empty where the text around it does not make them certain."""
        start, line = self._start(place), self._line(place)
        token = _TOKEN.match(line, start) if start is not None else None
        if token is None or len(line) > _STATEMENT_LINE:
            return "", ""
        lines, index = self.texts[place.path], place.line - 1
        above, below = lines[max(0, index - _BESIDE) : index], lines[index + 1 : index + 1 + _BESIDE]
        return operands(_code([*above, line[: token.start()]]), token[0], _code([line[token.end() :], *below]))

    def operation(self, place: SourcePlace) -> tuple[range, str, str] | None:
        """Return the characters of the source that the division at a place takes with its operands, and these; None where they
        are not certain, or stand on several lines."""
        start, line, (left, right) = self._start(place), self._line(place), self.operands(place)
        if start is None or not left or not right:
            return None
        before, behind = (r"\s*".join(map(re.escape, text.split())) for text in (left, right))
        match = re.compile(rf"{before}\s*(?P<sign>[/%])\s*{behind}").match
        begin = next((at for at in range(start) if (it := match(line, at)) and it.start("sign") == start), None)
        whole = match(line, begin) if begin is not None else None
        if whole is None:
            return None
        offset = self.offset(SourcePlace(place.path, place.line, 1))
        return range(offset + whole.start(), offset + whole.end()), left, right

    def statement(self, path: str, line: int) -> tuple[str, int]:
        """Return the lines of the statement that a line is of, without comments, and the number of the first."""
        start = max(0, line - 1 - _STATEMENT)
        some = self.texts.get(path, [])[start : line + _STATEMENT]
        lines = [COMMENT.sub(lambda match: " " * len(match[0]), each[:_STATEMENT_LINE]).rstrip() for each in some]
        first = last = line - 1 - start
        while first and lines[first - 1] and not lines[first - 1].endswith((";", "{", "}", ":")):
            if lines[first - 1].lstrip().startswith("#"):
                break
            first -= 1
        while last + 1 < len(lines) and not lines[last].endswith((";", "{", "}")):
            last += 1
        return "\n".join(lines[first : last + 1]), start + first + 1

    def declared(self, path: str, type_name: str) -> set[str]:
        """Return the names that a source declares with a type: variables, parameters, functions."""
        key = path, type_name
        if key not in self._declared:
            text = "\n".join(self.texts.get(path, ()))
            pattern = re.compile(rf"\b{type_name}\d*[\s*]+((?:\w+\s*(?:=[^,;()]{{0,80}})?,\s*)*\w+)", re.ASCII)
            self._declared[key] = {word for match in pattern.finditer(text) for word in _WORD.findall(match[1])}
        return self._declared[key]

    def declared_as(self, path: str, type_name: str) -> set[str]:
        """Return the names that a source declares with a type, by the names that ``typedef`` and ``#define`` give it too."""
        names, seen = {type_name}, set[str]()
        while names - seen:
            name = (names - seen).pop()
            seen.add(name)
            names |= {match[1] for match in re.finditer(rf"\b{name}\d*\s+(\w+)\s*;", self._typedefs)}
            names |= {macro for macro, bodies in self._macros.items() if name in map(str.strip, bodies)}
        return set().union(*(self.declared(path, name) for name in seen))

    @cached_property
    def _typedefs(self) -> str:
        texts = ("\n".join(lines) for lines in self.texts.values())
        return "\n".join(match[1] for text in texts for match in _TYPEDEF.finditer(text))

    def loops_around(self, place: SourcePlace) -> list[SourceLoop]:
        """Return the loops of the source that a place is in, the innermost first."""
        lines = self.texts.get(place.path, [])
        if not 0 < place.line <= len(lines):
            return []
        offset = self.offset(place)
        return sorted(
            (loop for loop in self.loops_of(place.path) if offset in loop.code), key=lambda loop: len(loop.code)
        )

    def loops_of(self, path: str) -> list[SourceLoop]:
        """Return the loops of a source, in the order of its text."""
        if path not in self._loops:
            self._loops[path] = loops_in(self.texts.get(path, []), lambda text: number(text, self.expansions))
        return self._loops[path]

    def lies_in(self, path: str, code: range) -> Callable[[SourcePlace], bool]:
        """Return the test that tells whether a place lies in these characters of a source."""
        lines = self.texts.get(path, [])

        def lies(place: SourcePlace) -> bool:
            is_there = place.path == path and 0 < place.line <= len(lines)
            return is_there and self.offset(place) in code

        return lies

    def offset(self, place: SourcePlace) -> int:
        """Return the index in the text of a place; for column 0 that of the line's last character."""
        if place.path not in self._starts:
            sizes = (len(line) + 1 for line in self.texts[place.path])
            self._starts[place.path] = list(accumulate(sizes, initial=0))
        size = len(self.texts[place.path][place.line - 1])
        return self._starts[place.path][place.line - 1] + (place.column - 1 if place.column else max(0, size - 1))

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
        for word in (word for argument in arguments for word in _words(argument)):
            names |= {word, *self._expanded(word)}
        return Construct(name, frozenset(names), True, arguments)

    def _line(self, place: SourcePlace) -> str:
        lines = self.texts.get(place.path, ())
        return lines[place.line - 1] if 0 < place.line <= len(lines) else ""

    def _start(self, place: SourcePlace) -> int | None:
        """Return the index in its line of the character at a place: columns count bytes."""
        text = self._line(place)
        if text.isascii():
            return place.column - 1 if 0 < place.column <= len(text) else None
        encoded = text[:_WIDE_LINE].encode("utf-8", "replace")
        if not 0 < place.column <= len(encoded):
            return None
        return len(encoded[: place.column - 1].decode("utf-8", "ignore"))

    def _arguments(self, place: SourcePlace, start: int) -> tuple[str, ...]:
        """Return the arguments in the brackets that follow, which may go on in the lines below."""
        lines = self.texts[place.path]
        text, number = lines[place.line - 1][start : start + _ARGUMENTS], place.line
        while len(text) < _ARGUMENTS and number < len(lines) and text.count("(") != text.count(")"):
            text += f"\n{lines[number][:_ARGUMENTS]}"
            number += 1
        text = COMMENT.sub(" ", text[:_ARGUMENTS]).lstrip()
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
    def _macros(self) -> dict[str, list[str]]:
        """The body of each macro; of one that is defined several times, all its bodies."""
        macros: dict[str, list[str]] = {}
        left = _MACRO_TEXT
        for name, body in self._definitions():
            left -= len(body)
            if left < 0:
                break
            macros.setdefault(name, []).append(body)
        return macros

    def _definitions(self) -> Iterator[tuple[str, str]]:
        for lines in self.texts.values():
            text = "\n".join(lines)
            if "define" in text:
                for definition in _DEFINE.finditer(COMMENT.sub(" ", text.replace("\\\n", " "))):
                    yield definition[1], definition[3]
        for option in _OPTION.finditer(self._program.build.options or ""):
            yield option[1], option[2]

    def expansions(self, name: str) -> list[str]:
        """Return the bodies of a macro, and of the macros in them; none if it is no macro."""
        bodies: list[str] = []
        seen, new = {name}, {name}
        for _ in range(_DEPTH):
            texts = [body for each in sorted(new) for body in self._macros.get(each, ())]
            bodies += texts
            new = {word for body in texts for word in _WORD.findall(body)} - seen
            seen |= new
            if not new or sum(map(len, bodies)) > _EXPANSION:
                break
        return bodies

    def _expanded(self, name: str) -> set[str]:
        """Return all words that a macro expands to, those of the macros in it too; none if it is no macro."""
        if name not in self._words:
            self._words[name] = {word for body in self.expansions(name) for word in _words(body)}
        return self._words[name]


def _code(lines: Sequence[str]) -> str:
    """Return lines in one text without comments; a line of the preprocessor ends the statement before it."""
    text = "\n".join(";" if line.lstrip().startswith("#") else line[:_STATEMENT_LINE] for line in lines)
    return COMMENT.sub(" ", text)


def _words(text: str) -> list[str]:
    return [*_WORD.findall(text), *_OPERATOR.findall(text)]
