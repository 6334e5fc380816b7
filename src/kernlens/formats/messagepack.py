"""MessagePack: the form in which a code object's metadata is packed.

Source: the MessagePack specification (msgpack/msgpack, spec.md), "Formats". The reader builds nothing ahead of the bytes that
stand for it: a count is held against the bytes that are left, nesting has a limit, and each value counts against the input's
allowance, as a byte of packed data costs many of memory.
"""

from __future__ import annotations

import struct

from kernlens.errors import FormatError
from kernlens.model.allowance import Allowance

FORMAT = "msgpack"
#: What a packed value can be; maps have only texts and numbers as keys.
Value = None | bool | int | float | str | bytes | list["Value"] | dict["str | int", "Value"]

#: Containers in containers. Metadata of code objects has six.
_DEEPEST = 16
#: Values for which an entry of the allowance is taken: a kernel's metadata has 300, and costs less than a symbol table.
_VALUES_PER_ENTRY = 8
#: Kind byte -> how a number of fixed size is stored.
_NUMBERS = {
    0xCA: struct.Struct(">f"), 0xCB: struct.Struct(">d"), 0xCC: struct.Struct(">B"), 0xCD: struct.Struct(">H"),
    0xCE: struct.Struct(">I"), 0xCF: struct.Struct(">Q"), 0xD0: struct.Struct(">b"), 0xD1: struct.Struct(">h"),
    0xD2: struct.Struct(">i"), 0xD3: struct.Struct(">q"),
}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
#: Kind byte -> bytes of the size that follows it.
_TEXTS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_BYTES = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_LISTS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}
#: Kind byte -> bytes of an extension's data, its type included; those of other sizes say it.
_FIXED_EXTENSIONS = {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_EXTENSIONS = {0xC7: 1, 0xC8: 2, 0xC9: 4}


def unpack(data: memoryview, allowance: Allowance | None = None) -> Value:
    """Return the one value that ``data`` holds; bytes behind it are passed over. An extension is its bytes, the type first.

    Raises FormatError for damaged data, for values nested more than 16 deep, and for a key that is neither text nor number;
    TooManyError for more values than ``allowance`` has room for (None: one for this data alone).
    """
    return _Reader(data, allowance or Allowance(len(data))).value(0)


class _Reader:
    """The reader of one packed value."""

    def __init__(self, data: memoryview, allowance: Allowance) -> None:
        self._data = bytes(data)
        self._position = 0
        self._allowance = allowance
        self._uncounted = 0

    def value(self, depth: int) -> Value:
        self._count()
        start, kind = self._position, self._take(1)[0]
        if kind < 0x80 or kind >= 0xE0:
            return kind - 0x100 * (kind >= 0xE0)
        if kind < 0x90:
            return self._map(kind & 15, depth)
        if kind < 0xA0:
            return self._list(kind & 15, depth)
        if kind < 0xC0:
            return self._text(kind & 31)
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind in _NUMBERS:
            number: int | float = _NUMBERS[kind].unpack(self._take(_NUMBERS[kind].size))[0]
            return number
        if kind in _TEXTS:
            return self._text(self._size(_TEXTS[kind]))
        if kind in _BYTES:
            return self._take(self._size(_BYTES[kind]))
        if kind in _LISTS:
            return self._list(self._size(_LISTS[kind]), depth)
        if kind in _MAPS:
            return self._map(self._size(_MAPS[kind]), depth)
        if kind in _FIXED_EXTENSIONS:
            return self._take(_FIXED_EXTENSIONS[kind])
        if kind in _EXTENSIONS:
            return self._take(self._size(_EXTENSIONS[kind]) + 1)
        raise self._error(f"byte {kind:#x} begins no value", start)

    def _count(self) -> None:
        self._uncounted += 1
        if self._uncounted == _VALUES_PER_ENTRY:
            self._uncounted = 0
            self._allowance.count(1, "value", format=FORMAT)

    def _take(self, size: int) -> bytes:
        start = self._position
        left = len(self._data) - start
        if size > left:
            raise self._error(f"{left} bytes are left, too few for {size}", start)
        self._position += size
        return self._data[start : self._position]

    def _size(self, width: int) -> int:
        return int.from_bytes(self._take(width), "big")

    def _text(self, size: int) -> str:
        return self._take(size).decode("utf-8", "backslashreplace")

    def _list(self, count: int, depth: int) -> list[Value]:
        self._check(count, depth)
        return [self.value(depth + 1) for _ in range(count)]

    def _map(self, count: int, depth: int) -> dict[str | int, Value]:
        self._check(2 * count, depth)
        read: dict[str | int, Value] = {}
        for _ in range(count):
            start = self._position
            key = self.value(depth + 1)
            if not isinstance(key, str | int):
                raise self._error("a key is neither text nor a number", start)
            read[key] = self.value(depth + 1)
        return read

    def _check(self, values: int, depth: int) -> None:
        left = len(self._data) - self._position
        if values > left:
            raise self._error(f"{values:,} values are announced, and {left:,} bytes are left", self._position)
        if depth >= _DEEPEST:
            raise self._error(f"values are nested more than {_DEEPEST} deep", self._position)

    def _error(self, message: str, offset: int) -> FormatError:
        return FormatError(message, format=FORMAT, offset=offset)
