"""The files that a source includes, with the conditions around the directives taken into account.

Directives: C99, 6.10. A condition that depends on what only the compiler defines (``__OPENCL_VERSION__``, ``cl_khr_fp64``)
cannot be evaluated here; then all its branches count, so that nothing that the compiler may include is missed.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence

from kernlens.model.source_comments import without_comments

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w+)[ \t]*(.*)")
_INCLUDE = re.compile(r'["<]([^">]+)[">]')
_NAME = re.compile(r"(?<!\w)[A-Za-z_]\w*")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_NUMBER = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b")
#: How names begin that the compiler itself may define, or such names.
_OF_THE_COMPILER = re.compile(
    r"__|_[A-Z]|cl_|CL_|NULL$|kernel$|INFINITY$|NAN$|MAXFLOAT$|M_|FLT_|DBL_|HALF_|INT_|CHAR_|OPENCL"
)
#: A condition with more characters, or more macros, is not evaluated.
_LENGTH_LIMIT = 1000
_EXPANSION_LIMIT = 200
#: The operators of two numbers that conditions are made of; one with another is unknown.
_OPERATORS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitAnd: operator.and_,
}  # fmt: skip


class _UnknownError(Exception):
    """A condition depends on something unknown."""


class Macros:
    """The macros that options and directives define; a name is defined, undefined, or unknown."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        #: Name -> its replacement; None if that is unknown.
        self._texts: dict[str, str | None] = {}
        #: Whether the source includes a file that cannot be read, which may define anything.
        self.are_open = False
        expected = ""
        for word in words:
            if expected:
                self._option(expected, word)
                expected = ""
            elif word in ("-D", "-U"):
                expected = word
            elif word.startswith(("-D", "-U")):
                self._option(word[:2], word[2:])

    def _option(self, option: str, text: str) -> None:
        name, _, value = text.partition("=")
        if option == "-U":
            self._texts.pop(name, None)
        else:
            self._texts[name] = value if "=" in text else "1"

    def define(self, text: str, certain: bool) -> None:
        """Note a ``#define``; unless it is ``certain`` to be reached, the name becomes unknown."""
        match = _NAME.match(text)
        if match is not None:
            rest = text[match.end() :]
            # A macro with parameters is not expanded.
            self._texts[match[0]] = rest.strip() if certain and not rest.startswith("(") else None

    def undefine(self, text: str, certain: bool) -> None:
        """Note an ``#undef``; unless it is ``certain`` to be reached, the name becomes unknown."""
        match = _NAME.match(text)
        if match is None:
            return
        if certain:
            self._texts.pop(match[0], None)
        elif match[0] in self._texts:
            self._texts[match[0]] = None

    def file_named(self, operand: str) -> str:
        """Return the operand of an ``#include`` with its quotes: itself, or what the macro stands for that it names."""
        for _ in range(_EXPANSION_LIMIT):
            text = self._texts.get(operand)
            if text is None:
                break
            operand = text.strip()
        return operand

    def is_defined(self, name: str) -> bool | None:
        """Return whether the name is defined; None if that is unknown."""
        if name in self._texts:
            return True if self._texts[name] is not None else None
        return None if self.are_open or _OF_THE_COMPILER.match(name) else False

    def is_true(self, condition: str) -> bool | None:
        """Return whether the condition of an ``#if`` holds; None if that is unknown."""
        try:
            expanded = self._expanded(condition, iter(range(_EXPANSION_LIMIT)))
            return bool(_value(ast.parse(_python(expanded), mode="eval").body))
        except (_UnknownError, SyntaxError, ValueError, RecursionError, ZeroDivisionError, MemoryError, OverflowError):
            return None

    def _expanded(self, condition: str, allowance: Iterator[int]) -> str:
        if next(allowance, None) is None or len(condition) > _LENGTH_LIMIT:
            raise _UnknownError

        def defined(match: re.Match[str]) -> str:
            is_defined = self.is_defined(match[1] or match[2])
            if is_defined is None:
                raise _UnknownError
            return str(int(is_defined))

        def named(match: re.Match[str]) -> str:
            name = match[0]
            text = self._texts.get(name)
            if text is None:
                if self.is_defined(name) is not False:
                    raise _UnknownError
                return "0"
            return f"({self._expanded(text, allowance)})" if text else ""

        return _NAME.sub(named, _NUMBER.sub(r"\1", _DEFINED.sub(defined, condition)))


def _python(condition: str) -> str:
    """Translate a condition, which may hold only numbers and operators, to Python."""
    if not re.fullmatch(r"[\s0-9a-fA-FxX()!<>=&|+*/%~^-]*", condition):
        raise _UnknownError
    octal = re.sub(r"\b0+(?=[0-9])", "0o", condition)
    words = octal.replace("&&", " and ").replace("||", " or ")
    return re.sub(r"!(?!=)", " not ", words).strip()


def _value(node: ast.AST) -> int:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.BoolOp(op=joint, values=values):
            return int((all if isinstance(joint, ast.And) else any)(_value(value) for value in values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return int(not _value(operand))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) | ast.BinOp(left=left, op=sign, right=right):
            if type(sign) in _OPERATORS:
                return int(_OPERATORS[type(sign)](_value(left), _value(right)))
    raise _UnknownError


class _Branch:
    """An open ``#if``: whether its current branch counts, and whether a later one still can. ``certain`` says whether
    the compiler is sure to reach the branch and those around it."""

    __slots__ = ("_outer", "certain", "counts", "taken")

    def __init__(self, counts: bool | None, outer: bool) -> None:
        self._outer = outer
        self.counts = counts is not False
        self.certain = outer and counts is True
        self.taken = counts  # True: a branch was certainly taken; None: perhaps

    def turn(self, condition: bool | None) -> None:
        """Go on to the ``#elif`` or ``#else`` with this condition."""
        self.counts = self.taken is not True and condition is not False
        self.certain = self._outer and self.taken is False and condition is True
        if condition is True and self.taken is False:
            self.taken = True
        elif self.counts:
            self.taken = None if self.taken is not True else True


def included_names(text: str, macros: Macros) -> Iterator[str]:
    """Yield the names in a file's ``#include`` directives that the compiler reaches or may reach. The file's directives
    change ``macros``, so the caller must read an included file before it asks for the next name."""
    branches: list[_Branch] = []
    dead = 0  # open branches within one that does not count
    for line in plain_lines(text):
        match = _DIRECTIVE.fullmatch(line)
        if match is None:
            continue
        word, rest = match[1], match[2].strip()
        if word in ("if", "ifdef", "ifndef"):
            if dead or (branches and not branches[-1].counts):
                dead += 1
            else:
                outer = branches[-1].certain if branches else True
                branches.append(_Branch(_condition(word, rest, macros), outer))
        elif word == "endif":
            if dead:
                dead -= 1
            elif branches:
                branches.pop()
        elif dead or not branches:
            pass
        elif word == "elif":
            branches[-1].turn(macros.is_true(rest))
        elif word == "else":
            branches[-1].turn(True)
        if dead or (branches and not branches[-1].counts):
            continue
        certain = branches[-1].certain if branches else True
        if word == "define":
            macros.define(rest, certain)
        elif word == "undef":
            macros.undefine(rest, certain)
        elif word == "include" and (name := _INCLUDE.match(macros.file_named(rest))) is not None:
            yield name[1]


def _condition(word: str, rest: str, macros: Macros) -> bool | None:
    if word == "if":
        return macros.is_true(rest)
    name = _NAME.match(rest)
    defined = macros.is_defined(name[0]) if name else None
    return defined if word == "ifdef" or defined is None else not defined


def plain_lines(text: str) -> list[str]:
    """Return a file's lines, with continued lines joined and without comments."""
    joined = text.replace("\r\n", "\n").replace("\\\n", "")
    return without_comments(joined).split("\n")
