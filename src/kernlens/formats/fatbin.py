"""CUDA fat binaries: PTX and machine code for many GPUs, in section ``.nv_fatbin`` of a host file or in a file alone.

Source: ``fatbinary_section.h`` of the CUDA toolkit for what a host file holds; the entries' headers have no public
description: their fields were told by comparing files with what ``cuobjdump`` lists. Each of several regions has a header of
16 bytes: magic (u32), version and header size (u16), the size of the entries behind it (u64). An entry has a header of 64
bytes or more: kind and version (u16), header size (u32), size of what is stored (u64), packed size (u32), ..., the
architecture (u32 at byte 28), flags (u64 at byte 40), unpacked size (u64 at byte 56).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kernlens.dataclass import dataclass, field, replace
from kernlens.errors import FormatError
from kernlens.formats.lz4_block import RATIO, unpack_block
from kernlens.formats.zstd_frame import frame_size, unpack_frame
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance

MAGIC = b"\x50\xed\x55\xba"
SECTIONS = (".nv_fatbin", "__nv_relfatbin")

_REGION = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_PTX, _ELF = 1, 2
_KINDS = {_PTX: "ptx", _ELF: "cubin"}
_LZ4, _ZSTD = 0x2000, 0x8000
#: A zstd block has at most 128 KiB, of which one byte and a header of 3 may be all that is stored.
_ZSTD_RATIO = 1 << 15


@dataclass(frozen=True, slots=True)
class FatEntry:
    """One image. ``name`` is its kind, architecture and number; ``offset`` is in bytes within the fat binary, ``stored`` what
    lies there. ``unpacked`` is the size of what a packed one holds, None for one that lies there as it is; ``packing`` is
    ``lz4``, ``zstd`` or empty. ``unreadable`` says why it cannot be read, None if it can."""

    name: str
    kind: str
    architecture: str
    offset: int
    stored: memoryview = field(repr=False, compare=False)
    unpacked: int | None = None
    packing: str = ""
    unreadable: str | None = None

    def read(self) -> memoryview:
        """Return the image, unpacked if it is packed. Raises FormatError if it cannot be read."""
        if self.unreadable is not None:
            raise FormatError(self.unreadable, format="fatbin", offset=self.offset)
        if self.unpacked is None:
            return self.stored
        if self.packing == "lz4":
            try:
                return memoryview(unpack_block(self.stored, self.unpacked))
            except FormatError as error:
                if self.kind in _KINDS.values():
                    raise
                # Seen of kind 8 in libmathdx.so 0.3.1, whose entry names a .cu file: packed otherwise.
                message = f"neither PTX nor machine code, and not packed as these are ({error})"
                raise FormatError(message, format="fatbin", offset=self.offset) from error
        image = unpack_frame(self.stored[: frame_size(self.stored)], self.unpacked)
        if len(image) != self.unpacked:
            raise FormatError(
                f"an image of {len(image):,} bytes, where {self.unpacked:,} were promised", format="fatbin"
            )
        return memoryview(image)


def read_fatbin(data: memoryview, allowance: Allowance | None = None) -> tuple[FatEntry, ...]:
    """Return the images of all regions, in their order. What packed ones unpack to counts against ``allowance``, that of the
    whole input (None: this is it); one that is too large for it is listed with the reason. Raises FormatError for a damaged
    header, TooManyError for too many images."""
    allowance = allowance or Allowance(len(data))
    entries: list[FatEntry] = []
    counts: dict[str, int] = {}
    for start, end in _regions(data):
        for entry in _entries(data, start, end, counts):
            allowance.count(1, "image", format="fatbin", weight=KERNEL_WEIGHT)
            entries.append(_bounded(entry, allowance))
    return tuple(entries)


def _regions(data: memoryview) -> Iterator[tuple[int, int]]:
    """Yield where the entries of each region begin and end."""
    position = 0
    while position + _REGION.size <= len(data):
        magic, _, header_size, size = _REGION.unpack_from(data, position)
        if magic != int.from_bytes(MAGIC, "little"):
            if position == 0 or any(data[position : position + 8]):
                raise _error("no region of a fat binary begins here", position)
            position += 8  # Regions are aligned.
            continue
        start = position + header_size
        if header_size < _REGION.size or size > len(data) - start:
            raise _error(f"a region of {size:,} bytes does not fit into the {len(data):,} that there are", position)
        yield start, start + size
        position = start + size


def _entries(data: memoryview, start: int, end: int, counts: dict[str, int]) -> Iterator[FatEntry]:
    position = start
    while position < end:
        if end - position < _ENTRY.size:
            raise _error(f"{end - position} bytes are too few for an entry's header of {_ENTRY.size}", position)
        kind, _, header_size, size, packed, _, _, _, number, _, _, flags, _, unpacked = _ENTRY.unpack_from(
            data, position
        )
        if header_size < _ENTRY.size or header_size + size > end - position:
            raise _error(f"an entry of {size:,} bytes reaches beyond its region's end", position)
        name = _KINDS.get(kind, f"kind{kind}")
        architecture = f"sm_{number}"
        count = counts[f"{name}.{architecture}"] = counts.get(f"{name}.{architecture}", -1) + 1
        body = position + header_size
        packing = "lz4" if flags & _LZ4 else "zstd" if flags & _ZSTD else ""
        yield FatEntry(
            f"{name}.{architecture}.{count}",
            name,
            architecture,
            body,
            data[body : body + (min(packed, size) if packing else size)],
            unpacked if packing else None,
            packing,
        )
        position = body + size


def _bounded(entry: FatEntry, allowance: Allowance) -> FatEntry:
    if entry.unpacked is None:
        return entry
    ratio = RATIO if entry.packing == "lz4" else _ZSTD_RATIO
    if entry.unpacked > ratio * len(entry.stored):
        return replace(
            entry, unreadable=f"{len(entry.stored):,} packed bytes cannot hold the {entry.unpacked:,} that are promised"
        )
    try:
        allowance.unpack(entry.unpacked, format="fatbin")
    except FormatError as error:
        return replace(entry, unreadable=str(error))
    return entry


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format="fatbin", offset=offset)
