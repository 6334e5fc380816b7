"""The codes of C++'s mangled names, and the place in a name that is being read.

Source: Itanium C++ ABI, section 5.1 "External Names (a.k.a. Mangling)".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

STEPS = 20_000
#: Characters of all parts together, those within others counted again.
TEXT = 200_000
DEEPEST = 60

BUILT_IN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double",
    "g": "__float128", "z": "...",
}  # fmt: skip
BUILT_IN_D = {
    "f": "decimal32", "d": "decimal64", "e": "decimal128", "h": "half", "s": "char16_t", "i": "char32_t",
    "u": "char8_t", "a": "auto", "c": "decltype(auto)", "n": "decltype(nullptr)",
}  # fmt: skip
STANDARD = {
    "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream", "o": "std::ostream",
    "d": "std::iostream",
}  # fmt: skip
OPERATORS = {
    "nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "ps": "+", "ng": "-", "ad": "&", "de": "*",
    "co": "~", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=",
    "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<",
    "rs": ">>", "lS": "<<=", "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
    "ss": "<=>", "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--", "cm": ",", "pm": "->*", "pt": "->",
    "cl": "()", "ix": "[]", "qu": "?",
}  # fmt: skip
#: Those that an expression has before one operand, and between two.
UNARY = frozenset({"ps", "ng", "ad", "de", "co", "nt"})
BINARY = frozenset(
    ("pl", "mi", "ml", "dv", "rm", "an", "or", "eo", "ls", "rs", "eq", "ne", "lt", "gt", "le", "ge", "ss", "aa", "oo")
)
SUFFIXES = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull", "i": ""}
SPECIAL = {
    "TV": "vtable for ", "TT": "VTT for ", "TI": "typeinfo for ", "TS": "typeinfo name for ", "GV": "guard variable for ",
}  # fmt: skip
QUALIFIERS = {"K": " const", "V": " volatile", "r": " restrict"}


class OtherGrammarError(Exception):
    """The name is none that this module reads."""


class Type(NamedTuple):
    """A type around what it declares: ``int (*`` and ``)(float)``."""

    left: str
    right: str = ""

    def __str__(self) -> str:
        return self.left + self.right


def pointing(target: Type, mark: str) -> Type:
    """A pointer or reference to ``target``."""
    if target.right.startswith(("(", "[")):
        space = " " if target.right.startswith("[") else ""
        return Type(f"{target.left}({mark}", f"){space}{target.right}")
    if mark in ("&", "&&") and target.left.endswith("&"):
        # References to references collapse: only two rvalue references make another one.
        is_rvalue = mark == "&&" and target.left.endswith("&&")
        return Type(target.left.rstrip("&") + ("&&" if is_rvalue else "&"), target.right)
    space = " " if "::" in mark else ""
    return Type(target.left + space + mark, target.right)


class Cursor:
    """The place in ``text`` up to which it is read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.steps = STEPS
        self.room = TEXT
        self.depth = 0

    def peek(self, length: int = 1) -> str:
        return self.text[self.position : self.position + length]

    def take(self, word: str) -> bool:
        if not self.text.startswith(word, self.position):
            return False
        self.position += len(word)
        return True

    def need(self, word: str) -> None:
        if not self.take(word):
            raise OtherGrammarError

    def step(self) -> str:
        """The next character."""
        self.steps -= 1
        if self.steps < 0 or self.position >= len(self.text):
            raise OtherGrammarError
        self.position += 1
        return self.text[self.position - 1]

    def nested(self, read: Callable[[], Type]) -> Type:
        """What ``read`` reads, one level deeper."""
        self.depth += 1
        self.steps -= 1
        if self.depth > DEEPEST or self.steps < 0:
            raise OtherGrammarError
        found = read()
        self.depth -= 1
        self.room -= len(found.left) + len(found.right)
        if self.room < 0:
            raise OtherGrammarError
        return found

    def number(self) -> int:
        start = self.position
        while self.peek().isdecimal():
            self.position += 1
        digits = self.text[start : self.position]
        if not digits or len(digits) > 9:
            raise OtherGrammarError
        return int(digits)

    def sequence(self, digits: str) -> int:
        """``_`` is 0, ``0_`` is 1, and so on, in base ``len(digits)``."""
        if self.take("_"):
            return 0
        value = 0
        while not self.take("_"):
            digit = digits.find(self.step())
            if digit < 0:
                raise OtherGrammarError
            value = value * len(digits) + digit
        return value + 1
