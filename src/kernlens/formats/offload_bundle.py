"""Device images inside a host executable, library or object: what SYCL compilers embed.

Source: intel/llvm's ``SYCLOffloadWrapper.cpp`` and ``ClangOffloadWrapper.cpp``; checked on the libraries of the PyPI
packages dpctl 0.22 and dpnp 0.20. The images lie one after the other, each aligned to 16 bytes, in sections named
``__CLANG_OFFLOAD_BUNDLE__sycl-TARGET``; section ``.tgtimg`` has 16 bytes per image: its address and its size (u64
each). In position-independent files the address may stand in the dynamic relocations only. Objects that are not yet
linked have the sections, each one image, and no table.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TypeAlias

from kernlens.errors import FormatError
from kernlens.formats.elf.elf_file import (
    SHT_NOBITS,
    SHT_RELA,
    Elf,
    read_elf,
)
from kernlens.model.binary import Section

_SECTION_PREFIX = "__CLANG_OFFLOAD_BUNDLE__"
_HOST_PREFIX = _SECTION_PREFIX + "host-"
_TABLE = ".tgtimg"
_SHF_ALLOC = 2
_ENTRY = struct.Struct("<QQ")
_RELA = struct.Struct("<QQq")
#: ``R_X86_64_RELATIVE`` and ``R_AARCH64_RELATIVE`` by ``e_machine``: the addend is the address.
_RELATIVE = {62: 8, 183: 1027}

#: Offset in the file, size, bundle section (None: another one).
_Place: TypeAlias = tuple[int, int, Section | None]


@dataclass(frozen=True, slots=True)
class OffloadImage:
    """One device image. ``offset`` is bytes within the host file, ``data`` a view.

    ``target`` is what the section's name says, ``spir64``, ``spir64_gen`` or ``spir64-unknown-unknown``; None if the
    image lies in no such section. What the image is, its own first bytes say: SPIR-V, an ELF, an ``ar`` archive.
    """

    name: str
    target: str | None
    offset: int
    data: memoryview = field(repr=False, compare=False)


def read_offload_images(data: memoryview) -> tuple[OffloadImage, ...]:
    """The device images in a host ELF, in the order of its image table; empty if it has none.

    Raises FormatError for a damaged ELF and for a table that points outside the file.
    """
    elf = read_elf(data, format="offload-bundle")
    bundles = [section for section in elf.sections if _is_bundle(section)]
    table = elf.section(_TABLE)
    if table is None or not len(table.data):
        places: list[_Place] = [(section.offset, section.size, section) for section in bundles]
    else:
        places = _listed(elf, table)
    if sum(size for _, size, _ in places) > len(data):
        raise _error("images overlap: together they are larger than the file", table)
    counts: dict[str, int] = {}
    return tuple(_image(data, offset, size, section, counts) for offset, size, section in places)


def _image(data: memoryview, offset: int, size: int, section: Section | None, counts: dict[str, int]) -> OffloadImage:
    kind = "image" if section is None else section.name.removeprefix(_SECTION_PREFIX)
    number = counts[kind] = counts.get(kind, -1) + 1
    return OffloadImage(
        name=f"{kind}.{number}",
        target=None if section is None else kind.partition("-")[2] or kind,
        offset=offset,
        data=data[offset : offset + size],
    )


def _is_bundle(section: Section) -> bool:
    """Whether a section holds images; objects also have an empty one for the host."""
    name = section.name
    return name.startswith(_SECTION_PREFIX) and not name.startswith(_HOST_PREFIX) and section.type != SHT_NOBITS


def _listed(elf: Elf, table: Section) -> list[_Place]:
    """The place of each image in the table."""
    if len(table.data) % _ENTRY.size:
        raise _error(f"its {len(table.data)} bytes are no whole number of entries of {_ENTRY.size}", table)
    entries = list(_ENTRY.iter_unpack(table.data))
    addresses = _relocated(elf, table) if any(not address for address, _ in entries) else {}
    loaded = [one for one in elf.sections if one.flags & _SHF_ALLOC and len(one.data)]
    loaded.sort(key=_address)
    found: list[_Place] = []
    for index, (address, size) in enumerate(entries):
        address = address or addresses.get(table.address + index * _ENTRY.size, 0)
        before = bisect_right(loaded, address, key=_address)
        section = loaded[before - 1] if before else table
        start = address - section.address
        if not address or not before or start + size > section.size:
            raise _error(f"image {index} of {size} bytes at address {address:#x} lies in no section", table)
        found.append((section.offset + start, size, section if _is_bundle(section) else None))
    return found


def _address(section: Section) -> int:
    return section.address


def _relocated(elf: Elf, table: Section) -> dict[int, int]:
    """Place -> address, for the relative dynamic relocations of the table's places."""
    relative = _RELATIVE.get(elf.machine)
    first, last = table.address, table.address + table.size
    found: dict[int, int] = {}
    read = 0
    for section in elf.sections_of_type(SHT_RELA):
        read += section.size
        if read > len(elf.data):
            raise _error("relocation sections overlap: together they are larger than the file", section)
        whole = section.data[: section.size // _RELA.size * _RELA.size]
        for place, type, addend in _RELA.iter_unpack(whole):
            if first <= place < last and type == relative:
                found[place] = addend
    return found


def _error(message: str, section: Section | None) -> FormatError:
    if section is None:
        return FormatError(message, format="offload-bundle")
    return FormatError(message, format="offload-bundle", section=section.name, offset=section.offset)
