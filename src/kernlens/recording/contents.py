"""The contents of a recording's blobs: what several parts share is unpacked once, and all of it within an allowance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernlens.model.allowance import Allowance
from kernlens.recording.blobs import PackedBlob, unpack
from kernlens.recording.damage import damaged, typed

#: Runs a query with its values and returns all rows.
Rows = Callable[..., list[tuple[Any, ...]]]


class RecordedContents:
    """The contents of one recording. ``allowance`` counts each blob that is unpacked, once."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._counted: set[int] = set()
        self._shared: frozenset[int] | None = None
        self._parts: dict[int, bytes] = {}
        self._texts: dict[int, str] = {}
        self._sizes: dict[int, int] = {}

    def read(self, blob: int, rows: Rows) -> bytes:
        """Unpack a blob. Raises FormatError if it is missing, damaged, or more than the allowance has left."""
        stored = rows("SELECT sha256, size, coding, content FROM blob WHERE id = ?", blob)
        if not stored:
            raise damaged("content is missing")
        digest, size, coding, content = stored[0]
        values = (typed(digest, bytes, "blob"), typed(size, int, "blob"), typed(coding, str, "blob"))
        packed = PackedBlob(*values, typed(content, bytes, "blob"))
        if blob not in self._counted:
            # Content that is stored as it is takes no more than the file has.
            self._allowance.unpack(max(0, packed.size - len(packed.content)), format="recording")
            self._counted.add(blob)
        return unpack(packed)

    def part(self, blob: int, rows: Rows) -> bytes:
        """Return the content of a program's part; that of several parts is kept."""
        content = self._parts.get(blob)
        if content is None:
            content = self.read(blob, rows)
            if self._is_shared(blob, rows):
                self._parts[blob] = content
        return content

    def text(self, blob: int, rows: Rows) -> str:
        """Return the text of a source; that of several parts is kept."""
        text = self._texts.get(blob)
        if text is None:
            text = self.read(blob, rows).decode("utf-8", "replace")
            if self._is_shared(blob, rows):
                self._texts[blob] = text
        return text

    def check_sources(self, blobs: Sequence[int], rows: Rows) -> None:
        """Raise FormatError if the sources of one program, which may be one blob many times, are too large together."""
        room = Allowance(self._allowance.size)
        for blob in blobs:
            size = self._sizes.get(blob)
            if size is None:
                sizes = rows("SELECT size FROM blob WHERE id = ?", blob)
                size = self._sizes[blob] = max(0, typed(sizes[0][0], int, "blob")) if sizes else 0
            room.unpack(size, format="recording")

    def _is_shared(self, blob: int, rows: Rows) -> bool:
        """Tell whether several parts have this content."""
        if self._shared is None:
            blobs = rows("SELECT blob FROM part WHERE blob IS NOT NULL GROUP BY blob HAVING count(*) > 1")
            self._shared = frozenset(typed(shared, int, "part") for (shared,) in blobs)
        return blob in self._shared
