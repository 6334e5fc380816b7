"""Strings that DWARF's units and line programs name by offset or by index.

Source: DWARF version 5, sections 7.5.5 "Classes and Forms" (class string) and 7.26 "String Offsets Table".
"""

from __future__ import annotations

import struct

from kernlens.formats.dwarf.forms import DW_FORM_LINE_STRP, DW_FORM_STRP, STRING_INDEX_FORMS, malformed
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.formats.elf.string_table import StringTable

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class DebugStrings:
    """The texts of one unit; ``base`` is its DW_AT_str_offsets_base."""

    def __init__(self, sections: DebugSections, offset_size: int = 4, base: int | None = None) -> None:
        self._sections = sections
        self._offset_size = offset_size
        self._base = base

    def text(self, value: tuple[int, int | str | bytes] | None) -> str:
        """Return the text of a (form, unresolved value), empty if None or if the form is no string's."""
        if value is None:
            return ""
        form, content = value
        if isinstance(content, str):
            return content
        if not isinstance(content, int):
            return ""
        if form == DW_FORM_STRP:
            return self._table(".debug_str").name(content)
        if form == DW_FORM_LINE_STRP:
            return self._table(".debug_line_str").name(content)
        if form in STRING_INDEX_FORMS:
            return self._table(".debug_str").name(self._indexed(content))
        return ""

    def _indexed(self, index: int) -> int:
        offsets = self._sections[".debug_str_offsets"]
        number = _U64 if self._offset_size == 8 else _U32
        offset = (2 * number.size if self._base is None else self._base) + index * number.size
        if offset + number.size > len(offsets):
            raise malformed(f"string {index} lies outside the section", ".debug_str_offsets", offset)
        return int(number.unpack_from(offsets, offset)[0])

    def _table(self, section: str) -> StringTable:
        return self._sections.string_table(section)
