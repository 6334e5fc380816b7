"""The parts of an ELF64 program or library that the dynamic loader follows: interpreter, needed libraries, run paths.

Sources: System V ABI (gABI), chapter 5: "Program Header", "Dynamic Section", "Shared Object Dependencies". They are read
through the program headers, as the dynamic loader does, so files without section headers are read, too.
"""

from __future__ import annotations

import struct

from kernlens.dataclass import dataclass
from kernlens.errors import FormatError
from kernlens.formats.elf.header import ElfHeader
from kernlens.formats.elf.string_table import StringTable

_FORMAT = "elf"
#: A program header: p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align.
_PHDR = struct.Struct("<IIQQQQQQ")
#: An entry of the dynamic section: d_tag, d_un.
_DYN = struct.Struct("<qQ")
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 0, 1, 5, 10, 14, 15, 29
#: More segments, entries of a dynamic section and bytes of an interpreter's name than any program has.
_MOST_SEGMENTS, _MOST_ENTRIES, _LONGEST_NAME = 256, 8192, 4096


@dataclass(frozen=True, slots=True)
class DynamicLinking:
    """The dynamic loader's view of a program or library. ``interpreter`` is the dynamic loader that it names, "" if it
    names none; ``needed`` are the libraries that it was linked to, ``soname`` its own name. ``rpath`` comes before
    LD_LIBRARY_PATH, ``runpath`` after it; where there is a ``runpath``, the loader ignores ``rpath``."""

    machine: int
    interpreter: str
    needed: tuple[str, ...]
    soname: str
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    is_dynamic: bool


def read_dynamic(data: memoryview) -> DynamicLinking:
    """Read a program or library. Raises FormatError for what is no ELF64, little-endian, and for damaged headers."""
    header = ElfHeader(data, _FORMAT)
    interpreter, dynamic, loads = _segments(data, header)
    values: list[tuple[int, int]] = []
    if dynamic is not None:
        start, size = dynamic
        count = min(size // _DYN.size, _MOST_ENTRIES)
        for tag, value in _DYN.iter_unpack(bytes(data[start : start + count * _DYN.size])):
            if tag == _DT_NULL:
                break
            values.append((tag, value))
    table = _strings(data, dict(values), loads)

    def names(kind: int) -> tuple[str, ...]:
        return tuple(table.name(value) for tag, value in values if tag == kind)

    return DynamicLinking(
        machine=header.ehdr.e_machine,
        interpreter=interpreter,
        needed=names(_DT_NEEDED),
        soname=next(iter(names(_DT_SONAME)), ""),
        rpath=_folders(names(_DT_RPATH)),
        runpath=_folders(names(_DT_RUNPATH)),
        is_dynamic=dynamic is not None,
    )


def _folders(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(folder for path in paths[:1] for folder in path.split(":") if folder)


def _segments(data: memoryview, header: ElfHeader) -> tuple[str, tuple[int, int] | None, list[tuple[int, int, int]]]:
    """Return the interpreter, the place and size of the dynamic section, and of each PT_LOAD address, place and size."""
    ehdr = header.ehdr
    interpreter, dynamic, loads = "", None, []
    if ehdr.e_phnum and ehdr.e_phentsize != _PHDR.size:
        raise FormatError(
            f"program headers of {ehdr.e_phentsize} bytes, expected {_PHDR.size}", format=_FORMAT, offset=54
        )
    count = min(ehdr.e_phnum, _MOST_SEGMENTS)
    if ehdr.e_phoff + count * _PHDR.size > len(data):
        raise FormatError(
            f"{count} program headers do not fit into the file of {len(data)} bytes",
            format=_FORMAT,
            offset=ehdr.e_phoff,
        )
    for place in range(ehdr.e_phoff, ehdr.e_phoff + count * _PHDR.size, _PHDR.size):
        p_type, _, p_offset, p_vaddr, _, p_filesz, _, _ = _PHDR.unpack_from(data, place)
        if p_type not in (_PT_LOAD, _PT_DYNAMIC, _PT_INTERP):
            continue
        if p_offset + p_filesz > len(data):
            raise FormatError(
                f"a segment of {p_filesz} bytes at {p_offset:#x} does not fit into the file of {len(data)} bytes",
                format=_FORMAT,
                offset=place,
            )
        if p_type == _PT_LOAD:
            loads.append((p_vaddr, p_offset, p_filesz))
        elif p_type == _PT_DYNAMIC:
            dynamic = (p_offset, p_filesz)
        else:
            name = bytes(data[p_offset : p_offset + min(p_filesz, _LONGEST_NAME)])
            interpreter = name.partition(b"\0")[0].decode("utf-8", "backslashreplace")
    return interpreter, dynamic, loads


def _strings(data: memoryview, values: dict[int, int], loads: list[tuple[int, int, int]]) -> StringTable:
    address, size = values.get(_DT_STRTAB, 0), values.get(_DT_STRSZ, 0)
    for p_vaddr, p_offset, p_filesz in loads:
        if size and p_vaddr <= address and address + size <= p_vaddr + p_filesz:
            start = p_offset + address - p_vaddr
            return StringTable(data[start : start + size], format=_FORMAT)
    if size:
        raise FormatError(f"its names at {address:#x} lie in no segment of the file", format=_FORMAT, offset=0)
    return StringTable(data[:0], format=_FORMAT)
