"""The parts that an input's bytes become for a target: several texts, or choices."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

#: Stands between the parts of an input. What a fuzzer inserts into one part moves no other, as lengths in front would.
SEPARATOR = b"\n%%%%\n"

#: Where folders cost nothing: in memory, if the system has that.
_MEMORY = "/dev/shm"

T = TypeVar("T")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield a folder of one input's own."""
    inside = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="kernlens-fuzz-", dir=inside) as name:
        yield Path(name)


def parts(data: bytes, count: int) -> list[bytes]:
    """Return the first ``count`` parts of an input; those that it does not have are empty, and the last has all the rest."""
    result = data.split(SEPARATOR, count - 1)
    return result + [b""] * (count - len(result))


def texts(data: bytes, count: int) -> list[str]:
    """Return the parts of an input as texts."""
    return [part.decode("utf-8", "replace") for part in parts(data, count)]


class Choices:
    """The choices in an input's bytes; when they are used up, the first choice is taken each time."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def is_empty(self) -> bool:
        return self._place >= len(self._data)

    def content(self, size: int) -> bytes:
        """Return the next bytes, at most ``size``."""
        taken = self._data[self._place : self._place + size]
        self._place += size
        return taken

    def number(self, size: int = 1) -> int:
        """Return the next number of so many bytes."""
        return int.from_bytes(self.content(size), "little")

    def one_of(self, things: Sequence[T]) -> T:
        """Return one of at most 256 things."""
        return things[self.number() % len(things)]
