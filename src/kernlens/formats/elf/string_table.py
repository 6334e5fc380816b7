"""String tables (ELF's SHT_STRTAB): NUL-terminated names in one section, each referred to by its offset.

Source: System V ABI, chapter 4, "String Table".
"""

from __future__ import annotations

from kernlens.errors import FormatError

#: Names may share their tails, so all names together may be longer than the table, but never this many times.
_SHARING = 16
_SLACK = 1 << 16


class StringTable:
    """The names of one table, each decoded once. Bytes that are not UTF-8 appear as ``\\xNN``.

    A multiple of the table's size bounds the sum of all names' lengths: overlapping names in a hostile file cannot
    make more text than that.
    """

    def __init__(self, table: memoryview, *, format: str, section: str | None = None) -> None:
        self._bytes = bytes(table)
        self._names: dict[int, str] = {0: ""} if self._bytes[:1] in (b"", b"\0") else {}
        self._allowance = _SHARING * len(self._bytes) + _SLACK
        self._format = format
        self._section = section

    def name(self, offset: int) -> str:
        """Return the name that starts at ``offset`` (bytes in the table). Raises FormatError if the offset lies outside
        the table or the name does not end within it."""
        decoded = self._names.get(offset)
        if decoded is not None:
            return decoded
        if not 0 <= offset < len(self._bytes):
            raise self._error(f"name at {offset:#x} lies outside the string table of {len(self._bytes)} bytes")
        end = self._bytes.find(b"\0", offset)
        if end < 0:
            raise self._error(f"name at {offset:#x} is not terminated within the string table")
        self._allowance -= end - offset
        if self._allowance < 0:
            raise self._error("names overlap: together they are many times longer than the string table")
        name = self._names[offset] = self._bytes[offset:end].decode("utf-8", "backslashreplace")
        return name

    def _error(self, message: str) -> FormatError:
        return FormatError(message, format=self._format, section=self._section)
