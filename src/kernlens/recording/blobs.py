"""A recording's contents, packed with zstd under their SHA-256, and unpacked safely from untrusted files: what several parts
share once, and all of it within an allowance."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kernlens.dataclass import NamedTuple
from kernlens.errors import FormatError
from kernlens.model.allowance import Allowance
from kernlens.model.stage import Snapshot
from kernlens.recording.schema import damaged, typed

ZSTD, RAW = "zstd", "raw"
#: zstd's level: the fastest that still halves machine code.
LEVEL = 3
#: The largest content in bytes.
SIZE_LIMIT = 1 << 30
#: Beyond FREE_SIZE, content may be this many times larger than its packed form, so that a small file cannot unpack to
#: gigabytes. Writers leave content that packs better unpacked.
RATIO_LIMIT = 1000
FREE_SIZE = 1 << 20
#: The largest window of a frame in bytes.
_MOST_WINDOW = 1 << 27

#: Runs a query with its values and returns all rows.
Rows = Callable[..., list[tuple[Any, ...]]]


class PackedBlob(NamedTuple):
    """Content of ``size`` bytes, packed as ``coding`` says; ``sha256`` is the hash of the unpacked bytes."""

    sha256: bytes
    size: int
    coding: str
    content: bytes


#: (role, path, content) of each part of a program, None for content that is left out; and its snapshots with their contents.
PackedParts = list[tuple[str, str, PackedBlob | None]]
PackedSnapshots = list[tuple[Snapshot, PackedBlob]]


def pack(content: bytes, digest: bytes | None = None) -> PackedBlob:
    """Pack ``content``, or keep it raw if packing gains nothing or exceeds the ratio that readers accept. ``digest`` is its
    SHA-256 if that is known already."""
    import zstandard

    digest = digest or hashlib.sha256(content).digest()
    packed = zstandard.ZstdCompressor(level=LEVEL).compress(content)
    if len(packed) >= len(content) or not _believable(len(content), len(packed)):
        return PackedBlob(digest, len(content), RAW, content)
    return PackedBlob(digest, len(content), ZSTD, packed)


def unpack(blob: PackedBlob) -> bytes:
    """Return the content. Raises FormatError if the sizes, the packing or the hash do not match."""
    if not 0 <= blob.size <= SIZE_LIMIT:
        raise _error(f"content of {blob.size} bytes, where at most {SIZE_LIMIT} are allowed")
    if blob.coding == RAW:
        content = blob.content
    elif blob.coding == ZSTD:
        content = _unpack_zstd(blob)
    else:
        raise _error(f"unknown coding {blob.coding!r}")
    if len(content) != blob.size:
        raise _error(f"{len(content)} bytes of content where {blob.size} were recorded")
    if hashlib.sha256(content).digest() != blob.sha256:
        raise _error("content does not have the hash that it is recorded under: the file is damaged")
    return content


def check(blob: PackedBlob) -> None:
    """Raise FormatError where ``unpack`` does. The content is not held: it is unpacked piece by piece."""
    if blob.coding != ZSTD or blob.size <= FREE_SIZE:
        unpack(blob)
        return
    import zstandard

    digest, size = hashlib.sha256(), 0
    with _zstd_errors(blob):
        packer = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
        for piece in packer.read_to_iter(blob.content, write_size=FREE_SIZE):
            digest.update(piece)
            size += len(piece)
    if (size, digest.digest()) != (blob.size, blob.sha256):
        raise _error("content does not have the size or the hash that it is recorded under: the file is damaged")


def _unpack_zstd(blob: PackedBlob) -> bytes:
    import zstandard

    with _zstd_errors(blob):
        return zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).decompress(blob.content)


@contextlib.contextmanager
def _zstd_errors(blob: PackedBlob) -> Iterator[None]:
    """Check what a packed content claims, and raise FormatError for what cannot be unpacked."""
    import zstandard

    if not _believable(blob.size, len(blob.content)):
        raise _error(f"{len(blob.content)} packed bytes claim to unpack to {blob.size}")
    try:
        # The library allocates what the frame claims, so the claim is checked first.
        if zstandard.frame_content_size(blob.content) != blob.size:
            raise _error("the packed size differs from the recorded one")
        yield
    except zstandard.ZstdError as error:
        raise _error(f"content cannot be unpacked ({error})") from error


def _believable(size: int, packed: int) -> bool:
    return size <= FREE_SIZE + RATIO_LIMIT * packed


def _error(message: str) -> FormatError:
    return FormatError(message, format="recording")


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
        return unpack(self._packed(blob, rows))

    def packed(self, blob: int, rows: Rows) -> PackedBlob:
        """Return a blob as it is in the file, for another recording. Raises FormatError where ``read`` does."""
        packed = self._packed(blob, rows)
        check(packed)
        return packed

    def _packed(self, blob: int, rows: Rows) -> PackedBlob:
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
        return packed

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
