"""The chunks of an ``explore`` document: parts that are made, packed and sent one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Any, NamedTuple

from kernlens.report.explore.kernel_chunk import without_stage_texts
from kernlens.report.explore.packing import RAW_LIMIT, encoded, packed


class Packed(NamedTuple):
    """A chunk, packed, and how many bytes that unpacks to."""

    content: bytes
    size: int


class Chunks(Mapping[str, bytes]):
    """The chunks of a document by their ids, packed. A chunk is made each time it is asked for,
    by one thread at a time."""

    def __init__(self) -> None:
        self._makers: dict[str, tuple[str, Callable[[], Any]]] = {}
        self._lock = Lock()
        #: Kernel's chunk -> the figures that came to light when it was made.
        self.figures: dict[str, Mapping[str, int | None]] = {}
        #: Kernel's chunk -> columns of the index that were left to the chunk, as their figures are counted in code.
        self.counted: dict[str, Mapping[str, int | None]] = {}
        #: Kernel's chunk -> why it has no code.
        self.without_code: dict[str, str] = {}

    def add(self, kind: str, chunk_id: str, make: Callable[[], Any]) -> str:
        """Add a chunk of this kind, whose content ``make`` returns, and return its id."""
        self._makers.setdefault(chunk_id, (kind, make))
        return chunk_id

    def kind(self, chunk_id: str) -> str:
        """Return the kind of a chunk: ``kernel``, ``source``, ``meta``, ``log``, ``passes`` or ``search``."""
        return self._makers[chunk_id][0]

    def content(self, chunk_id: str) -> bytes:
        """Return what a chunk unpacks to. Raises KeyError if there is none of this id."""
        make = self._makers[chunk_id][1]
        with self._lock:  # What was read for one chunk is kept for the next.
            document = make()
        if "figures" in document:
            self.figures[chunk_id] = document["figures"]
            if "code" in document["missing"]:
                self.without_code[chunk_id] = document["missing"]["code"]
        content = encoded(document)
        if len(content) > RAW_LIMIT and document["kind"] == "kernel":
            content = encoded(without_stage_texts(document))
        return content

    def packed(self, chunk_id: str) -> Packed:
        """Return a chunk with its size. Raises KeyError if there is none of this id."""
        content = self.content(chunk_id)
        return Packed(packed(content), len(content))

    def __getitem__(self, chunk_id: str) -> bytes:
        return self.packed(chunk_id).content

    def __contains__(self, chunk_id: object) -> bool:
        return chunk_id in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def id_of(*parts: bytes | str | int | None) -> str:
    """Return the id of what is made from these parts, in this order: the first 16 digits of their SHA-256."""
    digest = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]
