"""Host objects: the x86-64 ELF files that OpenCL compilers for CPUs make, and the line tables in them.

Sources: System V ABI, chapters 4 and 5 ("Program Header"), and its AMD64 supplement; DWARF version 4 and 5, section 6.2.
"""

from __future__ import annotations

import struct

from kernlens.dataclass import dataclass
from kernlens.errors import FormatError
from kernlens.formats.dwarf.line_tables import LineTables
from kernlens.formats.dwarf.relocation import EM_X86_64, DebugSections
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.elf.header import SHF_EXECINSTR, ElfHeader
from kernlens.model.line_table import LineTable

FORMAT = "host-object"
_ET_REL = 1
_PT_INTERP = 3
#: Of a program header the type, which comes first.
_TYPE_OF_SEGMENT = struct.Struct("<I")


@dataclass(frozen=True)
class HostObject:
    """The parts of a host object that are read. ``code_sections`` are the names of the sections with machine code;
    ``tables`` are the line tables, one per compile unit that has one. Their offsets are addresses in a linked object
    and count from the start of the code section in one that is still to be linked."""

    code_sections: frozenset[str]
    tables: tuple[LineTable, ...]


def read_host_object(data: memoryview) -> HostObject:
    """Read an object's line tables; it has none if it was built without debug information.

    No tables are read from objects for other processors, nor from an object still to be linked that has several code
    sections, whose addresses all count from 0. Raises FormatError.
    """
    elf = read_elf(data, format=FORMAT)
    code = frozenset(section.name for section in elf.sections if section.flags & SHF_EXECINSTR and section.size)
    sections = DebugSections(elf)
    if elf.machine != EM_X86_64 or (elf.type == _ET_REL and len(code) > 1) or not sections[".debug_line"]:
        return HostObject(code, ())
    tables = LineTables(sections)
    units = {unit.line_program: unit for unit in tables.reader.units()}
    line_tables = tuple(tables.decode(unit) for program, unit in units.items() if program is not None)
    return HostObject(code, line_tables)


def is_static(start: bytes) -> bool:
    """Return whether a program, of which these are the first bytes, runs without the dynamic loader: an ELF file without a
    segment that names one (PT_INTERP). False if it is no ELF file, or its program headers are not among the bytes."""
    try:
        header = ElfHeader(memoryview(start), FORMAT).ehdr
    except FormatError:
        return False
    places = range(header.e_phoff, header.e_phoff + header.e_phnum * header.e_phentsize, header.e_phentsize or 1)
    if not places or places[-1] + header.e_phentsize > len(start) or header.e_phentsize < _TYPE_OF_SEGMENT.size:
        return False
    return all(_TYPE_OF_SEGMENT.unpack_from(start, place)[0] != _PT_INTERP for place in places)
