"""``ar`` archives, as ocloc makes them for many devices ("fat binaries").

Source: System V ``ar.h`` (member header, 60 bytes), GNU binutils' long names (``//``), BSD's (``#1/N``); for what ocloc
writes, compute-runtime's ``device_binary_format/ar`` and real files: members are named ``64.12.55.8`` (bits of a
pointer, then the device's IP version) or ``generic_ir`` (SPIR-V for any device), and ``pad_N`` members of zeros
stand between them so that device binaries begin at multiples of 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernlens.errors import FormatError
from kernlens.model.device import IpVersion

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
HEADER_SIZE = 60

_HEADER_END = b"`\n"
#: Symbol indexes of System V, of its 64-bit form, and of BSD; long names are in ``//``.
_INDEX_NAMES = frozenset(("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED"))
_LONG_NAMES = "//"
#: A bound on what overlapping names can make of a hostile file; paths are not longer.
_LONGEST_NAME = 4096
_DEVICE_NAME = re.compile(
    r"(?:(?P<bits>32|64)\.)?(?P<architecture>\d{1,4})\.(?P<release>\d{1,3})\.(?P<revision>\d{1,2})"
)


@dataclass(frozen=True, slots=True)
class ArMember:
    """A file in an archive. ``offset`` is that of its first byte in the archive; ``data`` is a view, not a copy."""

    name: str
    offset: int
    data: memoryview = field(repr=False, compare=False)

    @property
    def is_padding(self) -> bool:
        """Whether ocloc put it there to align the next member."""
        return self.name.startswith("pad_")

    @property
    def device_name(self) -> str | None:
        """The device as ocloc's name says it, ``12.55.8`` or an older ocloc's acronym; None if it is no such name."""
        bits, dot, rest = self.name.partition(".")
        return rest if dot and rest and bits in ("32", "64") else None

    @property
    def ip(self) -> IpVersion | None:
        """The device's IP version where the name holds one."""
        match = _DEVICE_NAME.fullmatch(self.name)
        if match is None:
            return None
        return IpVersion(int(match["architecture"]), int(match["release"]), int(match["revision"]))


def read_ar(data: memoryview) -> tuple[ArMember, ...]:
    """All members in file order, padding included, symbol indexes and long-name tables left out.

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
    at, size = len(MAGIC), len(data)
    while at < size:
        header = bytes(data[at : at + HEADER_SIZE])
        if len(header) < HEADER_SIZE:
            if not header.strip(b"\0\n"):
                break  # padding after the last member
            raise _error(f"{len(header)} bytes are left, too few for a member header of {HEADER_SIZE}", at)
        length = _length(header, at)
        start = at + HEADER_SIZE
        if length > size - start:
            raise _error(f"member {_field(header[:16])!r} of {length} bytes does not fit into the file of {size}", at)
        name, name_length = _name(header, data[start : start + length], long_names, at)
        if name == _LONG_NAMES:
            long_names = bytes(data[start : start + length])
        elif name not in _INDEX_NAMES:
            members.append(ArMember(name, start + name_length, data[start + name_length : start + length]))
        at = start + length + (length & 1)
    return tuple(members)


def _length(header: bytes, at: int) -> int:
    """``ar_size``: bytes of a member, in decimal."""
    if header[58:60] != _HEADER_END:
        raise _error("a member header does not end with 60 0a", at)
    digits = header[48:58].rstrip(b" ")
    if not digits.isdigit():
        raise _error(f"a member's size is not a number: {_field(header[48:58])!r}", at)
    return int(digits)


def _name(header: bytes, contents: memoryview, long_names: bytes, at: int) -> tuple[str, int]:
    """A member's name and how many bytes of its contents belong to the name (BSD)."""
    name = header[:16].rstrip(b" ")
    if name.startswith(b"#1/"):
        return _bsd_name(name, contents, at)
    if name.startswith(b"/") and name[1:].isdigit():
        return _long_name(long_names, int(name[1:]), at), 0
    if name.endswith(b"/") and name not in (b"/", b"//", b"/SYM64/"):
        name = name[:-1]
    return _field(name), 0


def _bsd_name(name: bytes, contents: memoryview, at: int) -> tuple[str, int]:
    """``#1/N``: the name is the first N bytes of the contents, padded with NULs."""
    digits = name[3:]
    if not digits.isdigit() or int(digits) > len(contents):
        raise _error(f"member name {_field(name)!r} asks for more bytes than the member's {len(contents)}", at)
    length = int(digits)
    return _field(bytes(contents[:length]).rstrip(b"\0")), length


def _long_name(long_names: bytes, offset: int, at: int) -> str:
    """``/N``: the name begins at byte N of ``//`` and ends with a slash and a newline."""
    if offset >= len(long_names):
        raise _error(f"a member's name is at {offset} of the long names, which have {len(long_names)} bytes", at)
    end = long_names.find(b"\n", offset, offset + _LONGEST_NAME)
    if end < 0:
        raise _error(f"a member's name at {offset} of the long names does not end within {_LONGEST_NAME} bytes", at)
    return _field(long_names[offset:end].removesuffix(b"/"))


def _field(text: bytes) -> str:
    return text.decode("utf-8", "backslashreplace")


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format="ar", offset=offset)
