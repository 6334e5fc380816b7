"""The parser of the YAML that ze_info is written in.

Source: the YAML 1.2 subset that IGC's ``ZEInfoYAML`` emits and that compute-runtime's ``device_binary_format/yaml``
accepts: block mappings and block sequences, flow sequences of scalars (``[ 0, 1, 2 ]``), plain and quoted scalars,
comments, one document. Anchors, tags, block scalars, flow mappings and multi-line scalars do not occur and are errors.

This parser replaces a general one: it takes one line at a time, without recursion, so that no text can make it hang,
crash or write to standard error, and nothing needs to be imported to read one small file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeVar

from kernlens.errors import FormatError

#: Indentation, dash of a sequence entry, key, its value; or, without a key, the rest of the line.
_LINE = re.compile(r"^( *)(- +)?(?:([A-Za-z_][\w.-]*) *:(?: +(.*))?|(.*))$", re.MULTILINE)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(r"-?(?:[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]{1,3})?|[0-9]+[eE][-+]?[0-9]{1,3})")
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_HEX_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")
#: First characters of the YAML that the subset does not have.
_FOREIGN = frozenset("&*!|>%@`{}?")
_FLOW_ITEM = re.compile(r"""(\s*"[^"\\]*(?:\\.[^"\\]*)*"\s*|\s*'[^']*(?:''[^']*)*'\s*|[^,\[\]{}"']*)(?:,|$)""")
#: Characters of which the lines are found at a time: as one list they would take 50 times the text's memory.
_CHUNK = 1 << 16
#: No ze_info is nested deeper than 5.
_DEEPEST = 32


def parse(text: str) -> Any:
    """Return the document's value: dicts, lists, str, int, float, bool, None. Raises FormatError that names the line."""
    return _Parser().parse(text.replace("\r\n", "\n"))


_Container = TypeVar("_Container", dict[str, Any], list[Any])


class _Parser:
    """The parser of one document. ``containers`` are open; the entries of ``containers[i]`` begin at ``columns[i]``."""

    def __init__(self) -> None:
        self.root: Any = None
        self.columns: list[int] = []
        self.containers: list[Any] = []
        #: The mapping and key whose value has not come yet.
        self.pending: tuple[dict[str, Any], str] | None = None

    def parse(self, text: str) -> Any:
        for number, (indent, dash, key, value, rest) in enumerate(_lines(text), 1):
            try:
                if dash:
                    self._sequence_entry(len(indent), len(dash), key, value, rest)
                elif key:
                    self._mapping_entry(self._mapping_at(len(indent)), key, value)
                elif rest == "-":
                    self._sequence_entry(len(indent), 0, "", "", "")
                elif rest and rest not in ("---", "...") and not rest.lstrip().startswith("#") and rest.strip():
                    raise ValueError(f"{_shortened(rest)} is not an entry of a mapping or a sequence")
            except ValueError as error:
                raise FormatError(f"line {number}: {error}", format="ze_info", section=".ze_info") from error
        return self.root

    def _sequence_entry(self, column: int, dash: int, key: str, value: str, rest: str) -> None:
        entries = self._sequence_at(column)
        if key:
            mapping: dict[str, Any] = {}
            entries.append(mapping)
            self._open(column + dash, mapping)
            self._mapping_entry(mapping, key, value)
        elif rest.startswith("- "):
            raise ValueError("a sequence directly in a sequence is not supported in ze_info")
        else:
            entries.append(_value(rest))
            self.pending = None

    def _mapping_entry(self, mapping: dict[str, Any], key: str, value: str) -> None:
        scalar = _value(value) if value else None
        mapping[key] = scalar
        self.pending = (mapping, key) if scalar is None else None

    def _mapping_at(self, column: int) -> dict[str, Any]:
        """Return the open mapping whose entries begin at ``column``, or a new one that is the value of the pending key."""
        columns, containers = self.columns, self.containers
        if not columns:
            return self._first(column, {})
        if column > columns[-1]:
            return self._of_pending(column, {})
        while columns and (columns[-1] > column or (columns[-1] == column and type(containers[-1]) is list)):
            columns.pop()
            containers.pop()
        if columns and columns[-1] == column:
            mapping: dict[str, Any] = containers[-1]
            return mapping
        raise ValueError("the indentation matches no open mapping")

    def _sequence_at(self, column: int) -> list[Any]:
        """Return the open sequence whose dashes stand at ``column``; it may stand where its key stands."""
        columns, containers = self.columns, self.containers
        if not columns:
            return self._first(column, [])
        if column > columns[-1]:
            return self._of_pending(column, [])
        while columns and columns[-1] > column:
            columns.pop()
            containers.pop()
        if columns and columns[-1] == column and type(containers[-1]) is list:
            sequence: list[Any] = containers[-1]
            return sequence
        if columns and columns[-1] == column:
            return self._of_pending(column, [])
        raise ValueError("the indentation matches no open sequence")

    def _first(self, column: int, container: _Container) -> _Container:
        if self.root is not None:
            raise ValueError("a second document begins")
        self.root = container
        return self._open(column, container)

    def _of_pending(self, column: int, container: _Container) -> _Container:
        if self.pending is None:
            raise ValueError("an entry is indented deeper than its neighbours, but no value is missing")
        mapping, key = self.pending
        mapping[key] = container
        self.pending = None
        return self._open(column, container)

    def _open(self, column: int, container: _Container) -> _Container:
        if len(self.columns) == _DEEPEST:
            raise ValueError(f"it is nested deeper than {_DEEPEST}")
        self.columns.append(column)
        self.containers.append(container)
        return container


def _lines(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield what ``_LINE`` finds in each line."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        yield from _LINE.findall(text[start:end])
        start = end + 1


def _value(text: str) -> Any:
    """Return a scalar or a flow sequence of scalars."""
    text = text.strip()
    if text.startswith("["):
        text = _without_comment(text)
        if not text.endswith("]"):
            raise ValueError(f"{_shortened(text)} does not end with ] on its line")
        return _flow_items(text[1:-1])
    return _scalar(text)


def _flow_items(text: str) -> list[Any]:
    items: list[Any] = []
    position = 0
    while text[position:].strip() if position == 0 else position < len(text):
        match = _FLOW_ITEM.match(text, position)
        if match is None:
            raise ValueError(f"[{_shortened(text)}] is not a sequence of scalars")
        items.append(_scalar(match[1].strip()))
        position = match.end()
    return items


def _scalar(text: str) -> Any:
    first = text[:1]
    if first == "'" or first == '"':
        return _quoted(_without_comment(text))
    if first in _FOREIGN and first:
        raise ValueError(f"{_shortened(text)} uses YAML that ze_info does not have")
    if "#" in text:
        text = _without_comment(text)
    if _INTEGER.fullmatch(text):
        return int(text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return float(text) if _FLOAT.fullmatch(text) else text


def _quoted(text: str) -> str:
    if len(text) < 2 or text[-1] != text[0]:
        raise ValueError(f"{_shortened(text)} has no closing quote on its line")
    inner = text[1:-1]
    if text[0] == "'":
        if "'" in inner.replace("''", ""):
            raise ValueError(f"{_shortened(text)} continues after its closing quote")
        return inner.replace("''", "'")
    if inner.isascii() and inner.isprintable() and '"' not in inner and "\\" not in inner:
        return inner
    import json

    unquoted: str = json.loads(_HEX_ESCAPE.sub(r"\\u00\1", text))
    unquoted.encode("utf-8")  # A lone surrogate is no text.
    return unquoted


def _without_comment(text: str) -> str:
    """Return ``text`` up to a comment, which begins with ``#`` after a space, outside quotes."""
    quote = ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"" and (position == 0 or text[position - 1] in " ,["):
            quote = character
        elif character == "#" and (position == 0 or text[position - 1] in " \t"):
            return text[:position].rstrip()
    return text


def _shortened(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 40 else text[:37] + "...")
