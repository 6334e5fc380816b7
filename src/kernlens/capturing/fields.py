"""The fields that most files of a capture's folder consist of: names and bytes (``native/recording/spool.c``)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from kernlens import log
from kernlens.errors import FormatError

_NUMBER = struct.Struct("<Q")
#: So many bytes of a build's file hold, nearly always, when it had finished.
_HEAD_SIZE = 4096


def read_fields(path: Path, most: int = -1) -> Iterator[tuple[str, bytes]]:
    """Yield the fields of a file, or of its first ``most`` bytes. Raises FormatError if it is damaged, or cut there."""
    with path.open("rb") as file:
        content = file.read(most)
    offset, end = 0, len(content)
    name: str | None = None
    while offset < end or name is not None:
        start = offset + _NUMBER.size
        if start > end:
            raise FormatError(f"{path.name} ends within a field", format="capture", offset=offset)
        offset = start + _NUMBER.unpack_from(content, offset)[0]
        if offset > end:
            raise FormatError(f"a field of {path.name} is longer than the file", format="capture", offset=start)
        block = content[start:offset]
        if name is None:
            name = block.rstrip(b"\0").decode("utf-8", "replace")
        else:
            yield name, block
            name = None


def finished_at(path: Path) -> int:
    """When a build had finished, in nanoseconds since 1970; 0 if its file is damaged."""
    for most in (_HEAD_SIZE, -1):
        time = duration = 0
        try:
            for name, value in read_fields(path, most):
                if name == "time":
                    time = int.from_bytes(value, "little")
                elif name == "duration":
                    duration = int.from_bytes(value, "little")
                    return time + duration  # Large fields follow.
        except (FormatError, OSError) as error:
            log.debug("capturing", "%s: %s", path, error)
    return time + duration
