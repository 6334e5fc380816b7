"""``ar`` archives, as ocloc makes them for many devices ("fat binaries").

Source: System V ``ar.h`` (member header, 60 bytes), GNU binutils' long names (``//``), BSD's (``#1/N``); for what ocloc
writes, compute-runtime's ``device_binary_format/ar`` and real files: members are named ``64.12.55.8`` (bits of a
pointer, then the device's IP version) or ``generic_ir`` (SPIR-V for any device), and ``pad_N`` members of zeros
stand between them so that device binaries begin at multiples of 8.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.model.device import IpVersion

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"

_HEADER_LAYOUT = struct.Struct("16s12s6s6s8s10s2s")
HEADER_SIZE = _HEADER_LAYOUT.size
_HEADER_END = b"`\n"
#: Symbol indexes of System V, of its 64-bit form, and of BSD; long names are in ``//``.
_INDEX_NAMES = frozenset(("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED"))
_LONG_NAMES = "//"
#: Bytes of a name at most, as overlapping names in a hostile file could make any amount of text; paths are not longer.
_LONGEST_NAME = 4096
_DEVICE_NAME = re.compile(
    r"(?:(?P<bits>32|64)\.)?(?P<architecture>\d{1,4})\.(?P<release>\d{1,3})\.(?P<revision>\d{1,2})"
)


class _ArHeader(NamedTuple):
    """A member's header, ``struct ar_hdr`` of ``ar.h``: text fields of fixed width, padded with spaces."""

    ar_name: bytes
    ar_date: bytes
    ar_uid: bytes
    ar_gid: bytes
    ar_mode: bytes
    ar_size: bytes
    ar_fmag: bytes


@dataclass(frozen=True, slots=True)
class ArMember:
    """A file in an archive. ``offset`` is that of its first byte in the archive; ``data`` is a view, not a copy."""

    name: str
    offset: int
    data: memoryview = field(repr=False, compare=False)

    @property
    def is_padding(self) -> bool:
        """True if ocloc put the member there to align the next one."""
        return self.name.startswith("pad_")

    @property
    def device_name(self) -> str | None:
        """The device in ocloc's name for a device binary: ``12.55.8``, or an older ocloc's acronym; None for other names."""
        bits, dot, rest = self.name.partition(".")
        return rest if dot and rest and bits in ("32", "64") else None

    @property
    def ip(self) -> IpVersion | None:
        """The device's IP version, None if the name does not hold one."""
        match = _DEVICE_NAME.fullmatch(self.name)
        if match is None:
            return None
        return IpVersion(int(match["architecture"]), int(match["release"]), int(match["revision"]))


def read_ar(data: memoryview) -> tuple[ArMember, ...]:
    """Return all members in file order, padding included, symbol indexes and long-name tables left out.

    Raises FormatError for a thin archive (it holds no members' bytes), a damaged header, or a member that does not
    fit into the file.
    """
    magic = data[: len(MAGIC)]
    if magic == THIN_MAGIC:
        raise _error("this is a thin archive: it names files but does not hold them", 0)
    if magic != MAGIC:
        raise _error("this is not an ar archive: it does not begin with !<arch>", 0)
    members = []
    long_names = b""
    offset, size = len(MAGIC), len(data)
    while offset < size:
        if size - offset < HEADER_SIZE:
            rest = bytes(data[offset:])
            if not rest.strip(b"\0\n"):
                break  # padding after the last member
            raise _error(f"{len(rest)} bytes are left, too few for a member header of {HEADER_SIZE}", offset)
        header = _ArHeader._make(_HEADER_LAYOUT.unpack_from(data, offset))
        length = _length(header, offset)
        start = offset + HEADER_SIZE
        if length > size - start:
            name = _text(header.ar_name)
            raise _error(f"member {name!r} of {length} bytes does not fit into the file of {size}", offset)
        name, name_length = _name(header, data[start : start + length], long_names, offset)
        if name == _LONG_NAMES:
            long_names = bytes(data[start : start + length])
        elif name not in _INDEX_NAMES:
            members.append(ArMember(name, start + name_length, data[start + name_length : start + length]))
        offset = start + length + (length & 1)
    return tuple(members)


def _length(header: _ArHeader, offset: int) -> int:
    """Read the bytes of a member: ``ar_size``, in decimal. ``offset`` is the header's, for errors."""
    if header.ar_fmag != _HEADER_END:
        raise _error("a member header does not end with 60 0a", offset)
    digits = header.ar_size.rstrip(b" ")
    if not digits.isdigit():
        raise _error(f"a member's size is not a number: {_text(header.ar_size)!r}", offset)
    return int(digits)


def _name(header: _ArHeader, contents: memoryview, long_names: bytes, offset: int) -> tuple[str, int]:
    """Read a member's name; return with it how many bytes of the contents belong to the name (BSD)."""
    name = header.ar_name.rstrip(b" ")
    if name.startswith(b"#1/"):
        return _bsd_name(name, contents, offset)
    if name.startswith(b"/") and name[1:].isdigit():
        return _long_name(long_names, int(name[1:]), offset), 0
    if name.endswith(b"/") and name not in (b"/", b"//", b"/SYM64/"):
        name = name[:-1]
    return _text(name), 0


def _bsd_name(name: bytes, contents: memoryview, offset: int) -> tuple[str, int]:
    """Read a name like ``#1/N``: the first N bytes of the contents, padded with NULs."""
    digits = name[3:]
    if not digits.isdigit() or int(digits) > len(contents):
        raise _error(f"member name {_text(name)!r} asks for more bytes than the member's {len(contents)}", offset)
    length = int(digits)
    return _text(bytes(contents[:length]).rstrip(b"\0")), length


def _long_name(long_names: bytes, start: int, offset: int) -> str:
    """Read a name like ``/N``: it begins at byte N of ``//``, ``start``, and ends with a slash and a newline."""
    if start >= len(long_names):
        raise _error(f"a member's name is at {start} of the long names, which have {len(long_names)} bytes", offset)
    end = long_names.find(b"\n", start, start + _LONGEST_NAME)
    if end < 0:
        raise _error(f"a member's name at {start} of the long names does not end within {_LONGEST_NAME} bytes", offset)
    return _text(long_names[start:end].removesuffix(b"/"))


def _text(field: bytes) -> str:
    return field.decode("utf-8", "backslashreplace")


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format="ar", offset=offset)
