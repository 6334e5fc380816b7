"""Clang's offload bundles: the code of one source for several targets, as HIP programs and ``clang-offload-bundler`` have it.

Source: Clang's documentation, "Clang Offload Bundler": "Bundled Binary File Layout", "Compression and Decompression". A bundle
begins with ``__CLANG_OFFLOAD_BUNDLE__`` and a table of its entries; a packed one with ``CCOB`` and the method (zlib or zstd),
which version 1 gives no size of the packed bytes. The section ``.hip_fatbin`` of a HIP program has one bundle for each source,
with zeros between them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.zstd_frame import frame_size, is_zstd, unpack_frame
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance

FORMAT = "clang-bundle"
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
PACKED_MAGIC = b"CCOB"
#: The section of a HIP program that holds its bundles.
HIP_SECTION = ".hip_fatbin"

_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")
_LONGEST_ID = 1024
#: Magic, version, method; behind it by version: the sizes of the whole and of what it unpacks to, and a hash.
_PACKED_HEADER = struct.Struct("<4sHH")
_PACKED_SIZES = {1: struct.Struct("<I8x"), 2: struct.Struct("<II8x"), 3: struct.Struct("<QQ8x")}
_ZLIB, _ZSTD = 0, 1
#: Packed bytes that zlib gets at once.
_PIECE = 1 << 14
_NO_PADDING = re.compile(rb"[^\0]")


class _Entry(NamedTuple):
    """An entry of a bundle's table. ``offset`` counts from the bundle's start."""

    offset: int
    size: int
    id: str


@dataclass(frozen=True, slots=True)
class BundleImage:
    """The code for one target. ``id`` is the bundle's word for it (``hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-``); ``offset`` is
    where it lies in the data that was given, of a packed bundle in what it unpacks to, behind the bundle's own offset."""

    id: str
    offset: int
    data: memoryview = field(repr=False, compare=False)

    @property
    def kind(self) -> str:
        """The kind of offloading that the code is for: ``host``, ``hip``, ``hipv4``, ``openmp``."""
        return self.id.partition("-")[0]

    @property
    def target(self) -> str:
        """The processor and its features, ``gfx90a:xnack-``; the whole id if it has none."""
        return self.id.rpartition("--")[2] or self.id


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle at ``offset``, which takes ``stored`` bytes there. ``unpacked`` is what it holds if it is packed, else None."""

    offset: int
    stored: memoryview = field(repr=False)
    images: tuple[BundleImage, ...]
    unpacked: memoryview | None = field(default=None, repr=False)


def is_bundle(data: memoryview) -> bool:
    """Return whether ``data`` begins like a bundle, plain or packed."""
    return data[: len(MAGIC)] == MAGIC or data[: len(PACKED_MAGIC)] == PACKED_MAGIC


def read_bundles(data: memoryview, allowance: Allowance | None = None) -> tuple[Bundle, ...]:
    """Read the bundles in ``data``, the first at its start and the others behind padding of zeros, as in the section of a
    HIP program. Images without code are left out.

    What packed ones unpack to, and all images, count against ``allowance`` (None: one for this data alone). Raises FormatError
    for a damaged bundle, for images that overlap, and if ``data`` does not begin with a bundle; TooManyError.
    """
    allowance = allowance or Allowance(len(data))
    if not is_bundle(data):
        raise _error("this is no offload bundle: it begins neither with __CLANG_OFFLOAD_BUNDLE__ nor with CCOB", 0)
    return tuple(_bundles(data, allowance))


def _bundles(data: memoryview, allowance: Allowance) -> Iterator[Bundle]:
    start = 0
    while True:
        rest = data[start:]
        if not is_bundle(rest):
            raise _error("what follows a bundle is neither padding nor a bundle", start)
        bundle = _packed(rest, start, allowance) if rest[:4] == PACKED_MAGIC else _plain(rest, start, allowance)
        yield bundle
        behind = _NO_PADDING.search(data, start + len(bundle.stored))
        if behind is None:
            return
        start = behind.start()


def _packed(data: memoryview, start: int, allowance: Allowance) -> Bundle:
    try:
        _magic, version, method = _PACKED_HEADER.unpack_from(data)
        layout = _PACKED_SIZES.get(version)
        if layout is None:
            raise _error(f"packed bundle of version {version}; versions 1 to 3 are read", start)
        *stated, size = layout.unpack_from(data, _PACKED_HEADER.size)
    except struct.error:
        raise _error("the packed bundle is cut off in its header", start) from None
    begin = _PACKED_HEADER.size + layout.size
    end = stated[0] if stated else len(data)
    if not begin <= end <= len(data):
        raise _error(f"the packed bundle has {end:,} bytes by its header, and {len(data):,} are there", start)
    packed = data[begin:end]
    if method == _ZSTD and is_zstd(packed):
        packed = packed[: frame_size(packed)]
    allowance.unpack(size, format=FORMAT)
    unpacked, used = _unpacked(packed, method, size, start)
    stored = data[: end if stated else begin + used]
    images = _images(unpacked, start, allowance)
    return Bundle(start, stored, images, unpacked)


def _unpacked(packed: memoryview, method: int, size: int, start: int) -> tuple[memoryview, int]:
    """Return what packed bytes hold, ``size`` bytes, and how many of them it took."""
    if method == _ZSTD:
        content = unpack_frame(packed, size)
        used = len(packed)
    elif method == _ZLIB:
        import zlib

        inflater = zlib.decompressobj()
        pieces, left, used = [], size, 0 if size else len(packed)
        try:
            # Piece by piece, as zlib copies what lies behind its end: all other bundles of the file.
            while used < len(packed) and not inflater.eof and left:
                piece = packed[used : used + _PIECE]
                pieces.append(inflater.decompress(piece, left))
                left -= len(pieces[-1])
                used += len(piece) - len(inflater.unused_data) - len(inflater.unconsumed_tail)
        except zlib.error as error:
            raise _error(f"its packed bytes are damaged ({error})", start) from error
        content = b"".join(pieces)
    else:
        raise _error(f"packed by method {method}; zlib (0) and zstd (1) are read", start)
    if len(content) != size:
        raise _error(f"it unpacks to {len(content):,} bytes, its header says {size:,}", start)
    return memoryview(content), used


def _plain(data: memoryview, start: int, allowance: Allowance) -> Bundle:
    images = _images(data, start, allowance)
    entries = _entries(data, start)
    end = max((entry.offset + entry.size for entry in entries), default=len(MAGIC) + _COUNT.size)
    return Bundle(start, data[:end], images)


def _images(data: memoryview, start: int, allowance: Allowance) -> tuple[BundleImage, ...]:
    entries = _entries(data, start)
    allowance.count(len(entries), "images", format=FORMAT, weight=KERNEL_WEIGHT)
    if sum(entry.size for entry in entries) > len(data):
        raise _error("its images overlap: together they are larger than the bundle", start)
    return tuple(
        BundleImage(entry.id, start + entry.offset, data[entry.offset : entry.offset + entry.size])
        for entry in entries
        if entry.size
    )


def _entries(data: memoryview, start: int) -> list[_Entry]:
    """Read a bundle's table. Raises FormatError for a table or an image outside the bundle."""
    if data[: len(MAGIC)] != MAGIC:
        raise _error("what is packed is no offload bundle", start)
    position = len(MAGIC)
    entries: list[_Entry] = []
    try:
        (count,) = _COUNT.unpack_from(data, position)
        position += _COUNT.size
        if count > (len(data) - position) // _ENTRY.size:
            raise _error(f"its table has {count:,} entries, which do not fit into {len(data):,} bytes", start)
        for _ in range(count):
            offset, size, length = _ENTRY.unpack_from(data, position)
            position += _ENTRY.size
            if length > min(_LONGEST_ID, len(data) - position) or offset + size > len(data):
                raise _error(f"entry {len(entries)} of its table reaches beyond the bundle", start + position)
            name = bytes(data[position : position + length]).decode("utf-8", "backslashreplace")
            entries.append(_Entry(offset, size, name))
            position += length
    except struct.error:
        raise _error("its table is cut off", start + position) from None
    return entries


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format=FORMAT, offset=offset)
