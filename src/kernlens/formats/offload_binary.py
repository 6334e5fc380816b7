"""Clang's offload binaries: images for devices, which its linker wrapper works on, in an object's section ``.llvm.offloading``.

Source: LLVM's ``Object/OffloadBinary.h``, versions 1 and 2. Binaries follow each other, aligned to 8 bytes, and each says its
size. A binary has entries, one in version 1, each with an image and a map of strings: ``triple``, ``arch``, of SYCL
``compile-opts`` and ``link-opts``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.binary import c_text
from kernlens.model.sycl_image import SyclImage

FORMAT = "offload-binary"
MAGIC = b"\x10\xff\x10\xad"
#: The section of objects that holds them.
SECTION = ".llvm.offloading"
_HEADER = struct.Struct("<4sIQQQ")
_ENTRY = struct.Struct("<HHIQQQQ")
#: A string's key and value by version: their offsets, and the value's size since version 2.
_STRINGS = {1: struct.Struct("<QQ"), 2: struct.Struct("<QQQ")}
_ALIGNMENT = 8
_LONGEST_TEXT = 1 << 16
#: Bytes of a string that cost as much as an entry.
_BYTES_PER_ENTRY = 4096
_NO_PADDING = re.compile(rb"[^\0]")
#: The kind of offloading that SYCL is, and the kinds of images that a descriptor of SYCL has numbers for.
_SYCL = 8
_FORMATS = {1: 1, 2: 3, 6: 2}


@dataclass(frozen=True, slots=True)
class OffloadEntry:
    """An image at ``offset`` of the data that was read. ``strings`` is its map, ``kind`` the kind of offloading (8: SYCL),
    ``image_kind`` what the image is (2: bitcode, 6: SPIR-V)."""

    offset: int
    kind: int
    image_kind: int
    strings: Mapping[str, str]
    data: memoryview = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The target, and the processor if it is named."""
        return "-".join(filter(None, (self.strings.get("triple", "image"), self.strings.get("arch"))))

    @property
    def described(self) -> SyclImage | None:
        """The description of an image of SYCL; None of others."""
        if self.kind != _SYCL:
            return None
        texts = {
            name: text.encode() for name, text in self.strings.items() if name not in ("compile-opts", "link-opts")
        }
        return SyclImage(
            target=self.strings.get("triple", "<unknown>").partition("-")[0],
            version=0,
            format=_FORMATS.get(self.image_kind, 0),
            compile_options=self.strings.get("compile-opts", ""),
            link_options=self.strings.get("link-opts", ""),
            properties={"strings": texts},
        )


def read_offload_binaries(data: memoryview, allowance: Allowance) -> Iterator[OffloadEntry]:
    """Yield the entries of the binaries that follow each other in ``data``. Raises FormatError for a damaged one, TooManyError
    if they are too many for the allowance."""
    at = 0
    while at < len(data):
        if len(data) - at < _HEADER.size:
            raise _error(f"{len(data) - at} bytes are left, too few for a header of {_HEADER.size}", at)
        magic, version, size, entries_at, number = _HEADER.unpack_from(data, at)
        if magic != MAGIC or version not in _STRINGS:
            raise _error(f"version {version}, expected 1 or 2" if magic == MAGIC else "it has no magic number", at)
        if not _HEADER.size <= size <= len(data) - at:
            raise _error(f"it claims {size:,} bytes; there are {len(data) - at:,}", at)
        count = 1 if version == 1 else number
        binary = data[at : at + size]
        if entries_at > size or count > (size - entries_at) // _ENTRY.size:
            raise _error(f"its {count:,} entries at {entries_at:#x} do not fit into its {size:,} bytes", at)
        allowance.count(count, "offload entries", format=FORMAT, weight=KERNEL_WEIGHT)
        for index in range(count):
            yield _entry(binary, entries_at + index * _ENTRY.size, version, at, allowance)
        at += size + -size % _ALIGNMENT
        padding = _NO_PADDING.search(data, at)
        at = padding.start() // _ALIGNMENT * _ALIGNMENT if padding else len(data)


def _entry(binary: memoryview, place: int, version: int, start: int, allowance: Allowance) -> OffloadEntry:
    image_kind, kind, _, strings_at, number, image_at, image_size = _ENTRY.unpack_from(binary, place)
    layout = _STRINGS[version]
    if strings_at > len(binary) or number > (len(binary) - strings_at) // layout.size:
        raise _error(f"its {number:,} strings at {strings_at:#x} do not fit into its {len(binary):,} bytes", start)
    if image_at > len(binary) or image_size > len(binary) - image_at:
        raise _error(f"its image of {image_size:,} bytes at {image_at:#x} reaches beyond its end", start)
    allowance.count(number, "strings", format=FORMAT)
    strings = {}
    for index in range(number):
        key_at, value_at, *size = layout.unpack_from(binary, strings_at + index * layout.size)
        if key_at > len(binary) or value_at > len(binary) or (size and size[0] > len(binary) - value_at):
            raise _error(f"string {index} reaches beyond its end", start)
        length = min(size[0] if size else _LONGEST_TEXT, _LONGEST_TEXT)
        value = binary[value_at : value_at + length]
        allowance.count(len(value) // _BYTES_PER_ENTRY, "bytes of strings", format=FORMAT)
        strings[c_text(binary[key_at : key_at + 256])] = c_text(value)
    return OffloadEntry(start + image_at, kind, image_kind, strings, binary[image_at : image_at + image_size])


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format=FORMAT, offset=offset)
