"""Offload bundles: the device images that SYCL compilers embed in a host executable, library or object.

Source: intel/llvm's ``SYCLOffloadWrapper.cpp`` and ``ClangOffloadWrapper.cpp``; checked on the libraries of the PyPI
packages dpctl 0.22 and dpnp 0.20. The images lie one after the other, each aligned to 16 bytes, in sections named
``__CLANG_OFFLOAD_BUNDLE__sycl-TARGET``; section ``.tgtimg`` has 16 bytes per image: its address and its size (u64
each). In position-independent files the address may stand in the dynamic relocations only. Objects that are not yet
linked have the sections, with one image in each, and no table.

The descriptors of ``sycl_descriptors.py`` say more of the images that the linker's wrapper made, and lead to those of a file
without a table.

Since oneAPI 2026 an image may be a zstd frame (checked on the PyPI packages onemkl-sycl-rng and onemkl-sycl-vm 2026.2):
the table then holds the size of what the frame unpacks to, and the next image follows the frame.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.elf.elf_file import Elf, read_elf
from kernlens.formats.elf.header import SHT_NOBITS
from kernlens.formats.elf.loaded_memory import LoadedMemory
from kernlens.formats.sycl_descriptors import Descriptor, read_descriptors
from kernlens.formats.zstd_frame import MAGIC, claimed_size, frame_size, is_zstd, unpack_frame
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.binary import EMPTY, Section
from kernlens.model.sycl_image import SyclImage

_SECTION_PREFIX = "__CLANG_OFFLOAD_BUNDLE__"
_HOST_PREFIX = _SECTION_PREFIX + "host-"
_TABLE = ".tgtimg"
_ENTRY_LAYOUT = struct.Struct("<QQ")


class _ImageSpan(NamedTuple):
    """The place of an image in the file. ``bundle`` is the section made for it, None if it lies in another section.

    ``unpacked`` is the size of what a packed image holds, None for an image that is not packed. ``unreadable`` says why
    the image cannot be read, None if it can.
    """

    offset: int
    size: int
    bundle: Section | None
    unpacked: int | None = None
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class OffloadImage:
    """One device image. ``offset`` is bytes within the host file, ``stored`` a view of what lies there.

    ``target`` is what the section's name says, ``spir64``, ``spir64_gen`` or ``spir64-unknown-unknown``; None if the
    image lies in no such section. An image's own first bytes say what it is: SPIR-V, an ELF, an ``ar`` archive.
    ``unpacked`` is the size of a packed image's content, None for an image that lies there as it is. ``unreadable`` says
    why the image cannot be read, as far as that is known without unpacking it. ``described`` is what its descriptor says.
    """

    name: str
    target: str | None
    offset: int
    stored: memoryview = field(repr=False, compare=False)
    unpacked: int | None = None
    unreadable: str | None = None
    described: SyclImage | None = field(default=None, repr=False)

    def read(self) -> memoryview:
        """Return the image, unpacked if it is packed. Raises FormatError if the image cannot be read."""
        if self.unreadable is not None:
            raise FormatError(self.unreadable, format="offload-bundle", offset=self.offset)
        return self.stored if self.unpacked is None else memoryview(unpack_frame(self.stored, self.unpacked))


def read_offload_images(data: memoryview, allowance: Allowance | None = None) -> tuple[OffloadImage, ...]:
    """Return the device images in a host ELF, in the order of its image table; none if it has none.

    What packed images unpack to counts against ``allowance``, that of the whole input (None: this file is it). An image that
    cannot be read is listed with the reason. Raises FormatError for a damaged ELF or table, TooManyError for images that are
    too many for the allowance.
    """
    elf = read_elf(data, format="offload-bundle", allowance=allowance)
    memory = LoadedMemory(elf)
    described: dict[int, Descriptor] = {}
    for descriptor in read_descriptors(memory, elf.type, elf.allowance):
        described.setdefault(descriptor.section.offset + descriptor.start, descriptor)
    table = elf.section(_TABLE)
    spans: Iterator[_ImageSpan]
    if table is None or not len(table.data):
        bundles = [section for section in elf.sections if _is_bundle(section)]
        starts = {section.offset for section in bundles}
        others = (each for offset, each in described.items() if offset not in starts)
        spans = chain(
            (_stored(section, 0, section.size) for section in bundles),
            (_stored(each.section, each.start, each.size) for each in others),
        )
    else:
        spans = _listed(memory, table)
    counts: dict[str, int] = {}
    return tuple(_image(data, span, described.get(span.offset), counts) for span in _bounded(spans, elf, table))


def _image(data: memoryview, span: _ImageSpan, descriptor: Descriptor | None, counts: dict[str, int]) -> OffloadImage:
    described = descriptor.image if descriptor is not None else None
    if span.bundle is not None:
        kind = span.bundle.name.removeprefix(_SECTION_PREFIX)
    else:
        kind = f"sycl-{described.target}" if described is not None else "image"
    number = counts[kind] = counts.get(kind, -1) + 1
    target = described.target if described is not None else None
    return OffloadImage(
        name=f"{kind}.{number}",
        target=target if span.bundle is None else kind.partition("-")[2] or kind,
        offset=span.offset,
        stored=data[span.offset : span.offset + span.size] if span.size else EMPTY,
        unpacked=span.unpacked,
        unreadable=span.unreadable,
        described=described,
    )


def _bounded(spans: Iterable[_ImageSpan], elf: Elf, table: Section | None) -> Iterator[_ImageSpan]:
    """Yield the images; those that would unpack to more than the allowance has left are unreadable.

    Raises FormatError as soon as the images take more than the file has: many entries share one image then; TooManyError
    if they are too many for the allowance.
    """
    stored = len(elf.data)
    for span in spans:
        stored -= span.size
        if stored < 0:
            raise _error("images overlap: together they are larger than the file", table)
        elf.allowance.count(1, "device image", format="offload-bundle", weight=KERNEL_WEIGHT)
        try:
            elf.allowance.unpack(span.unpacked or 0, format="zstd")
        except FormatError as error:
            span = span._replace(unreadable=str(error))
        yield span


def _stored(section: Section, start: int, size: int) -> _ImageSpan:
    """Return the place of the image that begins at ``start`` of the section. ``size`` is that of the image once it is
    unpacked, if it is packed: the frame itself says where it ends."""
    offset = section.offset + start
    bundle = section if _is_bundle(section) else None
    rest = section.data[start:]
    if is_zstd(rest):
        try:
            packed = frame_size(rest)
            claim = claimed_size(rest[:packed])
        except FormatError as error:
            return _ImageSpan(offset, error.offset or len(MAGIC), bundle, unreadable=str(error))
        return _ImageSpan(offset, packed, bundle, size if claim is None else claim)
    if size > len(rest):
        return _ImageSpan(offset, 0, bundle, unreadable=f"its {size} bytes reach beyond section {section.name}")
    return _ImageSpan(offset, size, bundle)


def _is_bundle(section: Section) -> bool:
    """Return whether a section holds images; objects also have an empty one for the host."""
    name = section.name
    return name.startswith(_SECTION_PREFIX) and not name.startswith(_HOST_PREFIX) and section.type != SHT_NOBITS


def _listed(memory: LoadedMemory, table: Section) -> Iterator[_ImageSpan]:
    """Yield each image that the table lists."""
    if len(table.data) % _ENTRY_LAYOUT.size:
        raise _error(f"its {len(table.data)} bytes are not a whole number of entries of {_ENTRY_LAYOUT.size}", table)
    start = memory.places.get(table.index)
    for index, (address, size) in enumerate(_ENTRY_LAYOUT.iter_unpack(bytes(table.data))):
        if start is not None:
            address = memory.pointer_at(start + index * _ENTRY_LAYOUT.size) or 0
        place = memory.place(address)
        if place is not None:
            span = _stored(*place, size)
        else:
            reason = f"image {index} of {size} bytes at address {address:#x} lies in no section"
            span = _ImageSpan(table.offset + index * _ENTRY_LAYOUT.size, 0, None, unreadable=reason)
        yield span


def _error(message: str, section: Section | None) -> FormatError:
    if section is None:
        return FormatError(message, format="offload-bundle")
    return FormatError(message, format="offload-bundle", section=section.name, offset=section.offset)
