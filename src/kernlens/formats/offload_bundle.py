"""Offload bundles: the device images that SYCL compilers embed in a host executable, library or object.

Source: intel/llvm's ``SYCLOffloadWrapper.cpp`` and ``ClangOffloadWrapper.cpp``; checked on the libraries of the PyPI
packages dpctl 0.22 and dpnp 0.20. The images lie one after the other, each aligned to 16 bytes, in sections named
``__CLANG_OFFLOAD_BUNDLE__sycl-TARGET``; section ``.tgtimg`` has 16 bytes per image: its address and its size (u64
each). In position-independent files the address may stand in the dynamic relocations only. Objects that are not yet
linked have the sections, with one image in each, and no table.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from kernlens.errors import FormatError
from kernlens.formats.elf.elf_file import (
    SHT_NOBITS,
    SHT_RELA,
    Elf,
    read_elf,
)
from kernlens.formats.elf.structures import RELA_LAYOUT
from kernlens.model.binary import Section

_SECTION_PREFIX = "__CLANG_OFFLOAD_BUNDLE__"
_HOST_PREFIX = _SECTION_PREFIX + "host-"
_TABLE = ".tgtimg"
_SHF_ALLOC = 2
_ENTRY_LAYOUT = struct.Struct("<QQ")
#: ``R_X86_64_RELATIVE`` and ``R_AARCH64_RELATIVE`` by ``e_machine``: the addend is the address.
_RELATIVE = {62: 8, 183: 1027}


class _ImageEntry(NamedTuple):
    """An entry of the image table: where the image is loaded, and its bytes."""

    address: int
    size: int


class _ImageSpan(NamedTuple):
    """Where an image lies in the file. ``bundle`` is the section made for it, None if it lies in another section."""

    offset: int
    size: int
    bundle: Section | None


@dataclass(frozen=True, slots=True)
class OffloadImage:
    """One device image. ``offset`` is bytes within the host file, ``data`` a view.

    ``target`` is what the section's name says, ``spir64``, ``spir64_gen`` or ``spir64-unknown-unknown``; None if the
    image lies in no such section. An image's own first bytes say what it is: SPIR-V, an ELF, an ``ar`` archive.
    """

    name: str
    target: str | None
    offset: int
    data: memoryview = field(repr=False, compare=False)


def read_offload_images(data: memoryview) -> tuple[OffloadImage, ...]:
    """Returns the device images in a host ELF, in the order of its image table; none if it has none.

    Raises FormatError for a damaged ELF and for a table that points outside the file.
    """
    elf = read_elf(data, format="offload-bundle")
    bundles = [section for section in elf.sections if _is_bundle(section)]
    table = elf.section(_TABLE)
    if table is None or not len(table.data):
        spans = [_ImageSpan(section.offset, section.size, section) for section in bundles]
    else:
        spans = _listed(elf, table)
    if sum(span.size for span in spans) > len(data):
        raise _error("images overlap: together they are larger than the file", table)
    counts: dict[str, int] = {}
    return tuple(_image(data, span, counts) for span in spans)


def _image(data: memoryview, span: _ImageSpan, counts: dict[str, int]) -> OffloadImage:
    kind = "image" if span.bundle is None else span.bundle.name.removeprefix(_SECTION_PREFIX)
    number = counts[kind] = counts.get(kind, -1) + 1
    return OffloadImage(
        name=f"{kind}.{number}",
        target=None if span.bundle is None else kind.partition("-")[2] or kind,
        offset=span.offset,
        data=data[span.offset : span.offset + span.size],
    )


def _is_bundle(section: Section) -> bool:
    """Tells whether a section holds images; objects also have an empty one for the host."""
    name = section.name
    return name.startswith(_SECTION_PREFIX) and not name.startswith(_HOST_PREFIX) and section.type != SHT_NOBITS


def _listed(elf: Elf, table: Section) -> list[_ImageSpan]:
    """Finds each image that the table lists."""
    if len(table.data) % _ENTRY_LAYOUT.size:
        raise _error(f"its {len(table.data)} bytes are no whole number of entries of {_ENTRY_LAYOUT.size}", table)
    entries = list(map(_ImageEntry._make, _ENTRY_LAYOUT.iter_unpack(table.data)))
    addresses = _relocated(elf, table) if any(not entry.address for entry in entries) else {}
    loaded = [section for section in elf.sections if section.flags & _SHF_ALLOC and len(section.data)]
    loaded.sort(key=_address)
    spans = []
    for index, entry in enumerate(entries):
        address, size = entry.address or addresses.get(table.address + index * _ENTRY_LAYOUT.size, 0), entry.size
        before = bisect_right(loaded, address, key=_address)
        section = loaded[before - 1] if before else table
        start = address - section.address
        if not address or not before or start + size > section.size:
            raise _error(f"image {index} of {size} bytes at address {address:#x} lies in no section", table)
        spans.append(_ImageSpan(section.offset + start, size, section if _is_bundle(section) else None))
    return spans


def _address(section: Section) -> int:
    return section.address


def _relocated(elf: Elf, table: Section) -> dict[int, int]:
    """Maps the site of each relative dynamic relocation in the table to the address that it stores there."""
    relative = _RELATIVE.get(elf.machine)
    first, last = table.address, table.address + table.size
    addresses: dict[int, int] = {}
    read = 0
    for section in elf.sections_of_type(SHT_RELA):
        read += section.size
        if read > len(elf.data):
            raise _error("relocation sections overlap: together they are larger than the file", section)
        entries = section.data[: section.size // RELA_LAYOUT.size * RELA_LAYOUT.size]
        for r_offset, r_type, r_sym, r_addend in RELA_LAYOUT.iter_unpack(entries):
            if first <= r_offset < last and r_type == relative and r_sym == 0:
                addresses[r_offset] = r_addend
    return addresses


def _error(message: str, section: Section | None) -> FormatError:
    if section is None:
        return FormatError(message, format="offload-bundle")
    return FormatError(message, format="offload-bundle", section=section.name, offset=section.offset)
