"""The rows of a recording's tables, as a writer inserts them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernlens.recording.blobs import PackedBlob
from kernlens.recording.schema import FORMS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from kernlens.model.build import Build, BuildToolchain
    from kernlens.model.stage import Snapshot

#: The numbers of what a recording holds already.
Stored = ChainMap["bytes | BuildToolchain", int]
#: Packed content, or the SHA-256 of content that the recording holds already.
Blob = PackedBlob | bytes
#: A launch that was observed: kernel, how often it ran so, content.
Launch = tuple[str, int, Blob]


def now() -> str:
    """Return the time, as recordings have it."""
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _text(text: str) -> str:
    """Return the text as UTF-8, which is all that SQLite holds: other bytes of file names become question marks."""
    return text.encode("utf-8", "replace").decode()


def insert_program(connection: sqlite3.Connection, build: Build, number: int | None, stored: Stored) -> int:
    """Insert a build; return its number."""
    toolchain = None if build.toolchain is None else _toolchain(connection, build.toolchain, stored)
    cursor = connection.execute(
        "INSERT INTO program (id, name, device, toolchain, options, status, reason, seconds, command, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            *map(_text, (build.name, build.device)),
            toolchain,
            *map(_text, (build.options or "", build.outcome, build.reason or "")),
            float(build.seconds),
            *map(_text, (build.command, build.created or now())),
        ),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _toolchain(connection: sqlite3.Connection, toolchain: BuildToolchain, stored: Stored) -> int:
    if toolchain not in stored:
        key = (toolchain.name, toolchain.neo_version, toolchain.igc_version)
        connection.execute("INSERT OR IGNORE INTO toolchain (name, neo_version, igc_version) VALUES (?, ?, ?)", key)
        query = "SELECT id FROM toolchain WHERE name = ? AND neo_version = ? AND igc_version = ?"
        stored[toolchain] = connection.execute(query, key).fetchone()[0]
    return stored[toolchain]


def _blob(connection: sqlite3.Connection, blob: Blob, stored: Stored) -> int:
    digest = blob.sha256 if isinstance(blob, PackedBlob) else blob
    if digest not in stored:
        assert isinstance(blob, PackedBlob)
        cursor = connection.execute("INSERT INTO blob (sha256, size, coding, content) VALUES (?, ?, ?, ?)", blob)
        assert cursor.lastrowid is not None
        stored[digest] = cursor.lastrowid
    return stored[digest]


def insert_parts(
    connection: sqlite3.Connection, program: int, parts: Sequence[tuple[str, str, Blob | None]], stored: Stored
) -> None:
    """Insert a program's parts."""
    for position, (role, path, blob) in enumerate(parts):
        number = None if blob is None else _blob(connection, blob, stored)
        connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", (program, position, role, _text(path), number))


def insert_snapshots(
    connection: sqlite3.Connection, program: int, snapshots: Sequence[tuple[Snapshot, Blob]], stored: Stored
) -> None:
    """Insert a program's snapshots."""
    for position, (snapshot, blob) in enumerate(snapshots):
        assert snapshot.form in FORMS
        kernel = snapshot.kernel or ""
        row = (program, position, snapshot.stage, kernel, snapshot.form, snapshot.ending, snapshot.attempt)
        connection.execute(
            "INSERT INTO snapshot VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, _blob(connection, blob, stored))
        )


def insert_behaviours(connection: sqlite3.Connection, program: int, launches: Sequence[Launch], stored: Stored) -> None:
    """Insert what launches of a program's kernels did; equal ones of a kernel add up."""
    for kernel, count, blob in launches:
        key = (program, _text(kernel), _blob(connection, blob, stored))
        more = "UPDATE behaviour SET launches = launches + ? WHERE program = ? AND kernel = ? AND blob = ?"
        if not connection.execute(more, (count, *key)).rowcount:
            connection.execute(
                "INSERT INTO behaviour SELECT ?1, 1 + coalesce(max(position), -1), ?2, ?3, ?4 FROM behaviour"
                " WHERE program = ?1",
                (program, key[1], count, key[2]),
            )


def insert_launch(
    connection: sqlite3.Connection,
    program: int,
    row: tuple[str, int, int, Blob],
    pieces: Iterator[tuple[int, str, int, Blob]],
    stored: Stored,
) -> None:
    """Insert a launch that was kept: its kernel, number, process and description, and the pieces of its memory. One that is
    there, with the same memory, is not inserted again."""
    kernel, number, process, description = row
    key = (program, _text(kernel), number, process, _blob(connection, description, stored))
    query = "SELECT position FROM launch WHERE program = ? AND kernel = ? AND number = ? AND process = ? AND blob = ?"
    alike = [position for (position,) in connection.execute(query, key)]
    held = [(memory, moment, piece, _blob(connection, blob, stored)) for memory, moment, piece, blob in pieces]
    for position in alike:
        rows = "SELECT number, moment, piece, blob FROM memory WHERE program = ? AND launch = ?"
        if set(connection.execute(rows, (program, position))) == set(held):
            return
    place = "SELECT 1 + coalesce(max(position), -1) FROM launch WHERE program = ?"
    (position,) = connection.execute(place, (program,)).fetchone()
    connection.execute("INSERT INTO launch VALUES (?, ?, ?, ?, ?, ?)", (program, position, *key[1:]))
    connection.executemany(
        "INSERT INTO memory VALUES (?, ?, ?, ?, ?, ?)", [(program, position, *piece) for piece in held]
    )
