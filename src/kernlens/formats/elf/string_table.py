"""NUL-terminated names that stand in one table and are named by their offset: ELF's SHT_STRTAB.

Source: System V ABI, chapter 4, "String Table".
"""

from __future__ import annotations

from kernlens.errors import FormatError

#: Names may share their tails, so all names together may be longer than the table; this many times is never seen.
_SHARING = 16
_SLACK = 1 << 16


class StringTable:
    """The names of one table. Each offset is decoded once; bytes that are not UTF-8 appear as ``\\xNN``.

    The sum of all names' lengths is bounded by a multiple of the table's size: overlapping names in a hostile file
    cannot make more text than that.
    """

    def __init__(self, table: memoryview, *, format: str, section: str | None = None) -> None:
        self._bytes = bytes(table)
        self._names: dict[int, str] = {0: ""} if self._bytes[:1] in (b"", b"\0") else {}
        self._budget = _SHARING * len(self._bytes) + _SLACK
        self._format = format
        self._section = section

    def name(self, offset: int) -> str:
        """The name that starts at ``offset`` (bytes in the table); raises FormatError if it does not end there."""
        known = self._names.get(offset)
        if known is not None:
            return known
        if not 0 <= offset < len(self._bytes):
            raise self._error(f"name at {offset:#x} lies outside the string table of {len(self._bytes)} bytes")
        end = self._bytes.find(b"\0", offset)
        if end < 0:
            raise self._error(f"name at {offset:#x} is not terminated within the string table")
        self._budget -= end - offset
        if self._budget < 0:
            raise self._error("names overlap so much that they are many times longer than the string table")
        found = self._names[offset] = self._bytes[offset:end].decode("utf-8", "backslashreplace")
        return found

    def _error(self, message: str) -> FormatError:
        return FormatError(message, format=self._format, section=self._section)
