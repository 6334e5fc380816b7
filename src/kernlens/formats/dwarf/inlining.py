"""Inlined calls of one compile unit, through pyelftools over relocated sections.

Source: DWARF version 5, section 3.3.8 "Inlinable and Inlined Subroutines", 2.17 "Code Addresses, Ranges and Base
Addresses". pyelftools parses entries and range lists; this module walks them in file order, each entry once, because
pyelftools' own iteration follows DW_AT_sibling wherever it points, in a damaged file also backwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from kernlens.errors import FormatError
from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.model.line_table import InlinedCall

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo

_INFO = ".debug_info"
#: No compiler inlines deeper; entries nested deeper than this are damage.
_DEEPEST = 512
#: A kernel of 16 MB would have as many; range lists in a damaged file may be shared by many entries.
_MOST_CALLS = 1 << 18
#: pyelftools takes quadratic time for a LEB128 number this long.
_ENDLESS_NUMBER = re.compile(rb"[\x80-\xff]{4096}")
#: pyelftools' parameter for each section.
_PARAMETERS = {
    "debug_info_sec": _INFO,
    "debug_abbrev_sec": ".debug_abbrev",
    "debug_str_sec": ".debug_str",
    "debug_ranges_sec": ".debug_ranges",
    "debug_line_sec": ".debug_line",
    "debug_addr_sec": ".debug_addr",
    "debug_str_offsets_sec": ".debug_str_offsets",
    "debug_line_str_sec": ".debug_line_str",
    "debug_rnglists_sec": ".debug_rnglists",
}


def read_inlined_calls(sections: DebugSections, unit_offset: int) -> tuple[InlinedCall, ...]:
    """Reads the inlined calls of the unit at ``unit_offset`` of .debug_info that have code, outer ones before inner
    ones.

    Calls of which no code is left are left out. Raises FormatError.
    """
    if not sections[_INFO]:
        return ()
    for name in (_INFO, ".debug_abbrev"):
        if match := _ENDLESS_NUMBER.search(sections[name]):
            raise malformed("a number has no end", name, match.start())
    try:
        dwarf = _dwarf(sections)
        return _UnitCalls(sections, dwarf, dwarf.get_CU_at(unit_offset)).read()
    except FormatError:
        raise
    except Exception as error:
        # pyelftools was not written for damaged files and raises whatever exception comes first.
        raise malformed(
            f"the unit's entries are damaged ({type(error).__name__}: {error})", _INFO, unit_offset
        ) from error


def _dwarf(sections: DebugSections) -> DWARFInfo:
    from inspect import signature

    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    present: dict[str, Any] = {
        parameter: DebugSectionDescriptor(
            stream=BytesIO(sections[name]), name=name, global_offset=0, size=len(sections[name]), address=0
        )
        for parameter, name in _PARAMETERS.items()
        if sections[name]
    }
    config = DwarfConfig(little_endian=True, machine_arch="", default_address_size=8)
    # Releases of pyelftools differ in the sections that they ask for; absent ones must be passed as None.
    absent = dict.fromkeys(name for name in signature(DWARFInfo).parameters if name != "config")
    return DWARFInfo(config=config, **(absent | present))


class _UnitCalls:
    """Collects the inlined calls of one unit."""

    def __init__(self, sections: DebugSections, dwarf: DWARFInfo, unit: CompileUnit) -> None:
        self._sections = sections
        self._dwarf = dwarf
        self._unit = unit
        self._base = 0
        self._range_lists: Any = dwarf.range_lists()
        #: Entry -> its name, or the entry that has it.
        self._names: dict[int, str | int] = {}

    def read(self) -> tuple[InlinedCall, ...]:
        calls: list[tuple[int, InlinedCall]] = []
        top = self._unit.get_top_DIE()
        self._base = self._low(top) or 0
        for die, depth in self._entries():
            if die.tag == "DW_TAG_subprogram":
                self._note_name(die)
            elif die.tag == "DW_TAG_inlined_subroutine":
                origin = self._reference(die, "DW_AT_abstract_origin")
                for low, high in self._ranges(die):
                    if len(calls) == _MOST_CALLS:
                        raise malformed(f"more than {_MOST_CALLS} inlined calls", _INFO, die.offset)
                    calls.append((origin, self._call(die, low, high, depth)))
        named = [
            InlinedCall(
                self._name(origin), call.low, call.high, call.call_file, call.call_line, call.call_column, call.depth
            )
            for origin, call in calls
        ]
        return tuple(sorted(named, key=lambda call: (call.depth, call.low)))

    def _entries(self) -> Iterator[tuple[DIE, int]]:
        """Yields the unit's entries in file order, each with the number of inlined calls around it."""
        from elftools.dwarf.die import DIE

        top = self._unit.get_top_DIE()
        end = self._unit.cu_offset + self._unit.size
        position = top.offset + top.size
        # For each open entry, the number of inlined calls around what is in it.
        depths = [0]
        while position < end and depths:
            die = DIE(cu=self._unit, stream=top.stream, offset=position)
            position += die.size
            if die.is_null():
                depths.pop()
                continue
            yield die, depths[-1]
            if die.has_children:
                depths.append(depths[-1] + (die.tag == "DW_TAG_inlined_subroutine"))
                if len(depths) > _DEEPEST:
                    raise malformed(f"entries are nested deeper than {_DEEPEST}", _INFO, die.offset)

    def _note_name(self, die: DIE) -> None:
        name = die.attributes.get("DW_AT_name")
        if name is not None:
            text = name.value
            self._names[die.offset] = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else str(text)
            return
        for attribute in ("DW_AT_abstract_origin", "DW_AT_specification"):
            if attribute in die.attributes:
                self._names[die.offset] = self._reference(die, attribute)

    def _name(self, entry: int) -> str:
        for _ in range(4):
            name = self._names.get(entry, "")
            if isinstance(name, str):
                return name
            entry = name
        return ""

    def _reference(self, die: DIE, attribute: str) -> int:
        """Returns the offset in .debug_info that a reference points to; -1 if it is absent or leaves the unit's
        kind."""
        reference = die.attributes.get(attribute)
        if reference is None or not isinstance(reference.value, int):
            return -1
        return reference.value if reference.form == "DW_FORM_ref_addr" else reference.value + self._unit.cu_offset

    def _call(self, die: DIE, low: int, high: int, depth: int) -> InlinedCall:
        def number(name: str) -> int:
            value = die.attributes.get(name)
            return value.value if value is not None and isinstance(value.value, int) else 0

        return InlinedCall(
            name="",
            low=low,
            high=high,
            call_file=number("DW_AT_call_file"),
            call_line=number("DW_AT_call_line"),
            call_column=number("DW_AT_call_column"),
            depth=depth,
        )

    def _low(self, die: DIE) -> int | None:
        low = die.attributes.get("DW_AT_low_pc")
        if low is None or not isinstance(low.value, int):
            return None
        return self._sections.code_offset(low.value)

    def _ranges(self, die: DIE) -> list[tuple[int, int]]:
        """Returns the entry's code as [low, high) offsets in the kernel."""
        ranges = die.attributes.get("DW_AT_ranges")
        if ranges is not None:
            return self._listed(ranges.value)
        low, high = self._low(die), die.attributes.get("DW_AT_high_pc")
        if low is None or high is None or not isinstance(high.value, int):
            return []
        # DW_AT_high_pc is an address or, as a constant, a size.
        end = self._sections.code_offset(high.value) if high.form == "DW_FORM_addr" else low + high.value
        return [(low, end)] if low < end else []

    def _listed(self, offset: int) -> list[tuple[int, int]]:
        from elftools.dwarf.ranges import BaseAddressEntry

        if self._range_lists is None:
            raise malformed("a range list is named, but there is no section with any", _INFO)
        entries = self._range_lists.get_range_list_at_offset(offset, cu=self._unit)
        base = self._base
        ranges = []
        for entry in entries:
            if isinstance(entry, BaseAddressEntry):
                base = self._sections.code_offset(entry.base_address)
                continue
            start = 0 if getattr(entry, "is_absolute", False) else base
            low, high = (
                self._sections.code_offset(start + entry.begin_offset),
                self._sections.code_offset(start + entry.end_offset),
            )
            if low < high:
                ranges.append((low, high))
        return ranges
