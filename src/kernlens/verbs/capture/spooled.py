"""The entries and fields in the files of a capture's folder (``native/recording/spool.c``).

A file of builds has an entry for each: a head of three numbers (its size, its kind, a time), then fields. A field is a name,
ended by a zero byte, and bytes, each preceded by its size. All numbers have 64 bits, little-endian.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import FormatError

_NUMBER = struct.Struct("<Q")
_HEAD = struct.Struct("<3Q")
#: Kinds of entries: one that is not whole or was taken back, a build that has not ended, and one that has.
VOID, STARTED, BUILD = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A build's entry in a file: its fields' place, whether the build has ended, and when (nanoseconds since 1970), or when it
    began."""

    path: Path
    offset: int
    size: int
    has_ended: bool
    time: int

    def fields(self) -> Iterator[tuple[str, bytes]]:
        """Yield its fields. Raises FormatError if they are damaged, OSError if the file cannot be read."""
        file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = os.pread(file, self.size, self.offset)
        finally:
            os.close(file)
        return read_fields(content, f"the entry at {self.offset} of {self.path.name}")


def read_entries(path: Path) -> Iterator[Entry]:
    """Yield the entries of a file of builds. What a killed process did not finish is passed over. Raises FormatError if
    the file is damaged."""
    with path.open("rb") as file:
        end = os.fstat(file.fileno()).st_size
        offset = 0
        while offset + _HEAD.size <= end:
            size, kind, time = _HEAD.unpack(os.pread(file.fileno(), _HEAD.size, offset))
            start = offset + _HEAD.size
            offset = start + size
            if kind == VOID:
                continue
            if kind not in (STARTED, BUILD) or offset > end:
                raise FormatError(f"{path.name} is damaged", format="capture", offset=start)
            yield Entry(path, start, size, kind == BUILD, time)


def read_fields(content: bytes, what: str) -> Iterator[tuple[str, bytes]]:
    """Yield the fields that the content consists of. Raises FormatError if it is damaged."""
    blocks = []
    offset, end = 0, len(content)
    while offset < end:
        start = offset + _NUMBER.size
        if start > end:
            raise FormatError(f"{what} ends within a field", format="capture", offset=offset)
        offset = start + _NUMBER.unpack_from(content, offset)[0]
        if offset > end:
            raise FormatError(f"a field of {what} extends beyond its end", format="capture", offset=start)
        blocks.append(content[start:offset])
    if len(blocks) % 2:
        raise FormatError(f"{what} ends within a field", format="capture", offset=end)
    for name, value in zip(blocks[::2], blocks[1::2], strict=True):
        yield name.rstrip(b"\0").decode("utf-8", "replace"), value
