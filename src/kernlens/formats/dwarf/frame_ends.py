"""The ends of the code that the frame descriptions of .debug_frame are for, by kernel.

Source: DWARF version 5 (and 4), section 6.4.1 "Structure of Call Frame Information".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from kernlens.formats.dwarf.forms import malformed, read_initial_length
from kernlens.formats.dwarf.relocation import LOADED, DebugSections
from kernlens.formats.dwarf.unit_owners import TEXT, CodeSections, section_relocations

_FRAME = ".debug_frame"
_ADDRESSES = struct.Struct("<QQ")


def frame_ends(sections: DebugSections) -> Mapping[str, int]:
    """Return the end of the code that a kernel's frame description is for, in bytes from its start, by the names of
    kernels. Kernels without one, of which the file does not tell it, and those with several are left out: where functions
    stayed calls, Intel's compiler lets the last description reach up to 48 bytes too far. Raises FormatError if the
    section is damaged."""
    buffer = sections[_FRAME]
    if not buffer:
        return {}
    symbols, code = sections.elf.symbols(), CodeSections(sections.elf)
    sites = {entry.offset: entry for entry in section_relocations(sections.elf, _FRAME)}
    ends: dict[str, list[int]] = {}
    position = 0
    while position < len(buffer):
        try:
            length, offset_size, body = read_initial_length(buffer, position)
            if length == 0:  # Between entries there may be zeros.
                position = body
                continue
            pointer = int.from_bytes(buffer[body : body + offset_size], "little")
            at = body + offset_size
            if pointer != (1 << 8 * offset_size) - 1:
                low, size = _ADDRESSES.unpack_from(buffer, at)
                site = sites.get(at)
                section = code.at(low) if site is None else code.of(symbols, site)
                if section is not None:
                    kernel = section.name.removeprefix(TEXT)
                    start = sections.code_offset(low) if low >= LOADED else low
                    ends.setdefault(kernel, []).append(start + size)
        except struct.error:
            raise malformed("the section ends within an entry", _FRAME, position) from None
        position = body + length
    return {kernel: own[0] for kernel, own in ends.items() if len(own) == 1}
