"""The elements that memory holds, told from the types of a kernel's parameters, and how two contents of them differ."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from math import inf, isfinite, isnan
from string import ascii_letters, digits
from typing import Any

from kernlens.dataclass import dataclass

#: OpenCL's scalar types: the letter that unpacks one, and the bytes of one.
_SCALARS = {
    "char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q", "ulong": "Q",
    "half": "e", "float": "f", "double": "d", "bool": "B", "size_t": "Q", "ptrdiff_t": "q", "uintptr_t": "Q",
    "intptr_t": "q",
}  # fmt: skip
_C_NAMES = {
    "unsigned char": "uchar", "unsigned short": "ushort", "unsigned int": "uint", "unsigned": "uint",
    "unsigned long": "ulong", "signed char": "char", "signed int": "int",
}  # fmt: skip
_TYPE = re.compile(rf"({'|'.join(_SCALARS)})(2|3|4|8|16)?")
_QUALIFIERS = re.compile(r"\b(?:__)?(?:global|constant|const|restrict|volatile|private|read_only|write_only)\b|[*&]")
_OF_NAMES = f"{ascii_letters}{digits}_"
#: Bytes that are compared at once before elements are.
_CHUNK = 1 << 16
#: OpenCL's numbers of an image's channels.
_CHANNELS = {
    0x10D0: "char", 0x10D1: "short", 0x10D2: "uchar", 0x10D3: "ushort", 0x10D7: "char", 0x10D8: "short", 0x10D9: "int",
    0x10DA: "uchar", 0x10DB: "ushort", 0x10DC: "uint", 0x10DD: "half", 0x10DE: "float",
}  # fmt: skip
_UNSIGNED = {1: "B", 2: "H", 4: "I", 8: "Q"}
#: A vector of three elements takes the room of four.
_VECTOR_OF_THREE, _ROOM_OF_THREE = 3, 4


@dataclass(frozen=True, slots=True)
class Element:
    """The elements of memory: ``name`` of their type, "" if it is not known (then words of 32 bits); ``letter`` unpacks one.
    ``is_padded`` if each fourth is padding."""

    name: str
    letter: str
    is_padded: bool = False

    @property
    def size(self) -> int:
        """Bytes of one."""
        return struct.calcsize(self.letter)

    @property
    def is_real(self) -> bool:
        """True of floating-point numbers."""
        return self.letter in "efd"

    def told(self, content: bytes) -> str:
        """Return an element for a person."""
        (value,) = struct.unpack(f"<{self.letter}", content)
        if not self.name:
            return f"0x{value:08x}"
        return f"{value:.9g}" if self.letter in "ef" else repr(value)


WORDS = Element("", "I")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The distance that numbers may have: in units in the last place, or relative to the larger one."""

    ulp: int = 0
    relative: float = 0.0

    @property
    def words(self) -> str:
        """The distance for a person; "" where numbers have to be the same."""
        return f"{self.ulp} ulp" if self.ulp else f"{self.relative:g} of the larger" if self.relative else ""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a content from the one that was kept: ``count`` of the elements, the ``first`` of them by its
    number, with both values as text, and of floating-point numbers the largest distance in units in the last place and
    relative; None where there is none: one of the two is no number (of any element), or, for the relative one, infinite."""

    count: int
    first: int
    recorded: str
    result: str
    ulp: int | None = None
    relative: float | None = None


def element_of(type_name: str) -> Element | None:
    """Return the element that a pointer of this type leads to; None if the type is none of OpenCL's."""
    plain = " ".join(_QUALIFIERS.sub(" ", type_name).split())
    match = _TYPE.fullmatch(_C_NAMES.get(plain, plain))
    if match is None:
        return None
    return Element(match[1], _SCALARS[match[1]], match[2] == str(_VECTOR_OF_THREE))


def element_of_image(data_type: int) -> Element:
    """Return the element of an image whose channels have this type."""
    name = _CHANNELS.get(data_type)
    return WORDS if name is None else Element(name, _SCALARS[name])


def difference(recorded: bytes, result: bytes, element: Element, tolerance: Tolerance) -> Difference | None:
    """Return how ``result`` differs; None if it does not by more than the tolerance. A value that is no number equals any
    other that is none. Bytes behind the last whole element are compared as bytes."""
    size = element.size
    if len(recorded) % size:
        element, size = Element("uchar", "B"), 1
    count, first, ulp, relative, is_told = 0, -1, 0, 0.0, element.is_real
    for place in _differing(recorded, result, size):
        if element.is_padded and place % _ROOM_OF_THREE == _VECTOR_OF_THREE:
            continue
        old, new = (content[place * size : place * size + size] for content in (recorded, result))
        if element.is_real:
            distance = _distance(old, new, element)
            if distance is None or _is_within(distance, tolerance):
                continue
            is_told &= distance[0] >= 0
            ulp, relative = max(ulp, distance[0]), max(relative, distance[1])
        count += 1
        first = place if first < 0 else first
    if not count:
        return None
    before, now = (element.told(content[first * size : first * size + size]) for content in (recorded, result))
    return Difference(
        count, first, before, now, ulp if is_told else None, relative if is_told and isfinite(relative) else None
    )


def _differing(recorded: bytes, result: bytes, size: int) -> Iterator[int]:
    """Yield the numbers of the elements whose bytes differ."""
    old, new = memoryview(recorded), memoryview(result)
    for start in range(0, len(old), _CHUNK):
        first, second = old[start : start + _CHUNK], new[start : start + _CHUNK]
        if first == second:
            continue
        letter: Any = _UNSIGNED[size]
        pairs = zip(first.cast(letter), second.cast(letter), strict=True)
        yield from (start // size + place for place, (word, other) in enumerate(pairs) if word != other)


def _distance(old: bytes, new: bytes, element: Element) -> tuple[int, float] | None:
    """Return how far two numbers are apart, in units in the last place and relative; None if both are no numbers, and a
    negative distance if one alone is none."""
    (first,), (second,) = (struct.unpack(f"<{element.letter}", each) for each in (old, new))
    if isnan(first) or isnan(second):
        return None if isnan(first) and isnan(second) else (-1, inf)
    larger = max(abs(first), abs(second))
    apart = abs(first - second)
    relative = 0.0 if apart == 0 else apart / larger if isfinite(apart) and larger else inf
    return abs(_ordered(old) - _ordered(new)), relative


def _ordered(content: bytes) -> int:
    """Return a number whose order and distances are those of floating-point numbers with these bytes."""
    bits = int.from_bytes(content, "little")
    sign = 1 << (8 * len(content) - 1)
    return -(bits - sign) if bits & sign else bits


def _is_within(distance: tuple[int, float], tolerance: Tolerance) -> bool:
    ulp, relative = distance
    by_units = tolerance.ulp > 0 and ulp <= tolerance.ulp
    return ulp >= 0 and (by_units or (tolerance.relative > 0 and relative <= tolerance.relative))


def signature_of(text: str, kernel: str) -> list[tuple[str, str]]:
    """Return type and name of each parameter of a kernel, as a source states them; none if it does not."""
    text = re.sub(r"/\*.*?(?:\*/|\Z)|//[^\n]*", " ", text[: 4 << 20], flags=re.DOTALL)
    match = re.search(rf"\b{re.escape(kernel)}\s*\(([^(){{}};]*)\)\s*\{{", text)
    if match is None:
        return []
    return [_parameter(each.strip()) for each in match[1].split(",")]


def _parameter(text: str) -> tuple[str, str]:
    """Return type and name of a parameter; none if the text has not both."""
    kind = text.rstrip(_OF_NAMES)
    name = text[len(kind) :]
    return (kind.strip(), name) if kind and name else ("", "")


def named_types(told: Sequence[tuple[str, str]], stated: Sequence[tuple[str, str]], number: int) -> tuple[str, str]:
    """Return type and name of an argument: as the driver told them, else as the source states them."""
    for each in (told, stated):
        if number < len(each) and each[number][0]:
            return each[number]
    return "", ""
