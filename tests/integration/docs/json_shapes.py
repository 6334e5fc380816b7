"""The documents of docs/json.md as it draws them, to hold what the verbs print against."""

from __future__ import annotations

import re
from typing import Any

from kernlens.model.figures import COSTS, STATED
from tests.tree import ROOT

PAGE = ROOT / "docs/json.md"
#: A quoted key, a mark, or the name of a shape in capital letters; remarks and values are passed over.
TOKEN = re.compile(r'"([^"]+)"|([{}\[\]:,=])|(?<![\w-])([A-Z]{2,})(?![\w-])')
MARK, NAME, KEY = 2, 3, 1
#: A shape with a name, and the names in a text.
DEFINITION = re.compile(r"^([A-Z]+) += (\{.*?\})$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"(?<![\w\"])[A-Z]{2,}")


class Shape:
    """What a block of the page says of a value: keys of an object, the shape of a list's entries, or nothing."""

    def __init__(self) -> None:
        self.keys: dict[str, Shape] = {}
        #: Keys that are names, as of modules: the page writes ``{NAME: value}``.
        self.is_open = False
        self.entry: Shape | None = None
        self.seen: set[str] = set()

    def check(self, value: Any, place: str) -> None:
        """Compare with what a verb printed; what was seen is kept."""
        if isinstance(value, dict):
            assert self.is_open or set(value) <= set(self.keys), f"{place} is documented with {list(self.keys)}"
            self.seen |= set(value)
            for key, inside in value.items():
                if not self.is_open:
                    self.keys[key].check(inside, f"{place}.{key}")
        elif isinstance(value, list):
            assert self.entry is not None, f"{place} is not documented as a list"
            for inside in value:
                self.entry.check(inside, f"{place}[]")
        else:
            assert not self.is_open, f"{place} is documented as an object"

    def unseen(self, place: str, done: set[int]) -> list[str]:
        """The documented keys that no output had."""
        if id(self) in done:
            return []
        done.add(id(self))
        keys = [f"{place}.{key}" for key in self.keys if key not in self.seen]
        for key, inside in self.keys.items():
            keys += inside.unseen(f"{place}.{key}", done)
        return keys + (self.entry.unseen(f"{place}[]", done) if self.entry else [])


class Reader:
    """Reads the page's notation; ``named`` are the shapes with names."""

    def __init__(self, text: str, named: dict[str, Shape]) -> None:
        self.tokens = [(match.lastindex or 0, match[0].strip('"')) for match in TOKEN.finditer(text)]
        self.named = named

    def take(self, mark: str) -> bool:
        if self.tokens and self.tokens[0] == (MARK, mark):
            self.tokens.pop(0)
            return True
        return False

    def value(self) -> Shape:
        if self.take("{"):
            return self.fields()
        if self.take("["):
            shape = Shape()
            shape.entry = Shape() if self.tokens[0] == (MARK, "]") else self.value()
            assert self.take("]")
            return shape
        if self.tokens[0][0] == NAME:
            return self.named.setdefault(self.tokens.pop(0)[1], Shape())
        if self.tokens[0][0] == KEY:  # A value that is always the same, as "spirv".
            self.tokens.pop(0)
        return Shape()

    def fields(self) -> Shape:
        shape = Shape()
        while not self.take("}"):
            kind, word = self.tokens.pop(0)
            if kind == NAME and self.take(":"):
                shape.is_open = True
            elif kind == NAME:
                shape.keys |= self.named[word].keys
            else:
                assert kind == KEY, f"a key is expected before {self.tokens[:8]}"
                shape.keys[word] = self.value() if self.take(":") else Shape()
            self.take(",")
        return shape


def shapes(heading: str) -> list[Shape]:
    """The documents of a section of the page, in its order. It may name shapes that another section defines."""
    page = PAGE.read_text()
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    named: dict[str, Shape] = {"FIGURES": Shape(), "COSTS": Shape()}
    named["FIGURES"].keys = {figure.key: Shape() for figure in STATED}
    named["COSTS"].keys = {figure.key: Shape() for figure in COSTS}
    own = DEFINITION.findall(section)
    elsewhere = [(name, text) for name, text in DEFINITION.findall(page) if name not in {each for each, _ in own}]
    # First the names, the simple ones first, so that a document may hold the fields of one.
    for name, text in sorted([*elsewhere, *own], key=lambda each: len(NAMED.findall(each[1]))):
        named.setdefault(name, Shape()).keys.update(Reader(text, named).value().keys)
    blocks = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    return [Reader(block.split("\n\n")[0], named).value() for block in blocks]
