"""The writer of recordings (``.klens``) while programs are built, so that a crash loses no finished program.

Each program is one transaction in SQLite's write-ahead mode, and is copied into the main file at once. If the process is
killed at any moment, the file opens and holds every program for which ``add`` has returned; a ``-wal`` file may lie beside
it until the recording is next written or copied. ``close`` leaves one file and nothing beside it. (With SQLite's older
rollback mode a reader would need the right to write after a crash, to roll back.)
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kernlens import __version__
from kernlens.errors import KernlensError, OutputError
from kernlens.recording.blobs import SIZE_LIMIT, pack
from kernlens.recording.insertion import (
    Blob,
    Launch,
    Stored,
    insert_behaviours,
    insert_launch,
    insert_parts,
    insert_program,
    insert_snapshots,
    now,
)
from kernlens.recording.redaction import STAND_IN, Redaction, contents_of
from kernlens.recording.schema import APPLICATION_ID, LAUNCHES, SCHEMA_VERSION, TABLES
from kernlens.recording.target import Target

if TYPE_CHECKING:
    import sqlite3

    from kernlens.model.behaviour import Behaviour
    from kernlens.model.build import Build, BuildToolchain
    from kernlens.model.kept_launch import KeptLaunch
    from kernlens.model.stage import Snapshot
    from kernlens.recording.launches import PackedLaunch

#: Milliseconds that ``close`` waits for readers of the file, which keep it from being finished.
READERS_TIMEOUT = 500


class RecordingWriter:
    """A writer of a recording; a context manager, safe to use from several threads at once.

    ``command_line`` is what the user ran. With ``redact_source`` the recording holds no source text, nor copies of its
    lines in other parts, nor launches that were kept; ``redaction`` knows texts of other builds too.
    With ``is_whole`` the recording gets its name when the context ends without an error, and not before. Raises OutputError
    if the file cannot be written, if it exists and ``overwrite`` is False or it is no recording, and if another process is
    writing it.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        command_line: Sequence[str] = (),
        redact_source: bool = False,
        redaction: Redaction | None = None,
        overwrite: bool = False,
        is_whole: bool = False,
    ) -> None:
        self.path = Path(path)
        self._redact = redact_source
        self._redaction = redaction
        self._is_whole = is_whole
        self._lock = threading.Lock()
        #: The numbers of contents that the recording holds, by SHA-256, and of toolchains: they are not stored again.
        self._stored: dict[bytes | BuildToolchain, int] = {}
        metadata = _metadata(command_line, redact_source)
        with self._errors():
            self._target = Target(self.path, overwrite, lambda file: _create(file, metadata), is_whole)
            try:
                self._connection: sqlite3.Connection | None = _open(self._target)
            except BaseException:
                self._target.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._is_whole = self._is_whole and error is None
        self.close()

    def add(self, build: Build, number: int | None = None) -> int:
        """Record one build, whole or not at all; return its number in the recording, from 1. Builds are read in the order of
        their numbers; ``number`` None: the next one.

        Snapshots that failed, or whose form a missing tool would have to make, are left out. Once this returns, the build
        survives the end of this process, however it ends; but as long as no build was ok, a recording that existed before
        is not replaced. Raises OutputError if it cannot be written.
        """
        redaction = self._redaction or (_redaction(build) if self._redact else None)
        if redaction is not None and build.reason:
            build = replace(build, reason=redaction.apply(build.reason.encode("utf-8", "replace")).decode())
        parts = [
            (role, path, None if content is None else self._packed(content))
            for role, path, content in _parts(build, redaction)
        ]
        snapshots = [(snapshot, self._packed(content)) for snapshot, content in _snapshots(build, redaction)]
        behaviours = build.behaviours
        launches = [self._launch(name, each, redaction) for name in behaviours for each in behaviours[name]]
        number = self.add_packed(build, parts, snapshots, number, launches)
        for launch in build.parts.kept_launches:
            self.add_launch(number, launch)
        return number

    def add_behaviour(self, program: int, behaviour: Behaviour) -> None:
        """Record what a launch of a kernel did, under the number that ``add`` returned for its program; ``behaviour.kernel`` is
        its kernel's name there. One whose content and kernel are recorded already adds its ``launches`` to that. Its counts
        are left out, and why is said, if they are too many. Raises OutputError if it cannot be written."""
        self.add_packed_behaviours(program, [self._launch(behaviour.kernel, behaviour, self._redaction)])

    def add_packed_behaviours(self, program: int, launches: Sequence[Launch]) -> None:
        """Record launches as ``add_behaviour`` does, which another recording may have packed."""
        with self._insertion() as (connection, stored):
            insert_behaviours(connection, program, launches, stored)

    def add_launch(self, program: int, launch: KeptLaunch) -> None:
        """Record a launch that was kept whole, under the number that ``add`` returned for its program; not in a recording
        without source text, which holds nothing of the user's data. Contents that are there already are not stored again.
        Raises FormatError if a reader would refuse it, OutputError if it cannot be written."""
        if self._redact:
            return
        from kernlens.recording.launches import encoded, packed_memory

        row = (launch.kernel, launch.number, launch.process, self._packed(encoded(launch)))
        with self._insertion() as (connection, stored):
            insert_launch(connection, program, row, packed_memory(launch, stored), stored)

    def add_packed_launch(self, program: int, launch: PackedLaunch) -> None:
        """Record a launch as ``add_launch`` does, as another recording has it."""
        with self._insertion() as (connection, stored):
            insert_launch(connection, program, launch[:4], launch.contents(), stored)

    @contextlib.contextmanager
    def _insertion(self) -> Iterator[tuple[sqlite3.Connection, Stored]]:
        """Give the connection, in a transaction, and the numbers of what the recording has, to which new ones are added."""
        with self._lock, self._errors():
            if self._connection is None:
                raise OutputError(f"the recording {self.path} is closed")
            stored: Stored = ChainMap({}, self._stored)
            with _transaction(self._connection):
                yield self._connection, stored
            self._stored.update(stored.maps[0])

    def _launch(self, kernel: str, behaviour: Behaviour, redaction: Redaction | None) -> Launch:
        from kernlens.recording.behaviours import encoded, redacted

        if redaction is not None:
            behaviour = redacted(behaviour, lambda text: redaction.apply(text.encode("utf-8", "replace")).decode())
        elif self._redact:
            behaviour = redacted(behaviour, lambda text: STAND_IN.decode() * len(text))
        return kernel, behaviour.launches, self._packed(encoded(behaviour))

    def add_packed(
        self,
        build: Build,
        parts: Sequence[tuple[str, str, Blob | None]],
        snapshots: Sequence[tuple[Snapshot, Blob]],
        number: int | None = None,
        launches: Sequence[Launch] = (),
    ) -> int:
        """Record one build as ``add`` does, with parts that another recording has packed."""
        with self._lock, self._errors():
            connection = self._connection
            if connection is None:
                raise OutputError(f"the recording {self.path} is closed")
            stored: Stored = ChainMap({}, self._stored)
            with _transaction(connection):
                number = insert_program(connection, build, number, stored)
                insert_parts(connection, number, parts, stored)
                insert_snapshots(connection, number, snapshots, stored)
                insert_behaviours(connection, number, launches, stored)
            self._stored.update(stored.maps[0])
            if self._target.is_published:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            elif build.ok and not self._target.is_whole:
                self._connection = None
                connection.close()
                self._target.publish()
                self._connection = _open(self._target)
        return number

    def _packed(self, content: bytes) -> Blob:
        """Return the content packed; its SHA-256 alone if the recording holds it."""
        if len(content) > SIZE_LIMIT:
            raise KernlensError(
                f"a part of {len(content)} bytes is too large for a recording; the limit is {SIZE_LIMIT}"
            )
        digest = hashlib.sha256(content).digest()
        return digest if digest in self._stored else pack(content, digest)

    def note(self, key: str, value: str) -> None:
        """Add to the recording's metadata. Raises OutputError if it cannot be written."""
        with self._lock, self._errors():
            if self._connection is None:
                raise OutputError(f"the recording {self.path} is closed")
            self._connection.execute("INSERT OR REPLACE INTO recording VALUES (?, ?)", (key, value))

    @property
    def is_published(self) -> bool:
        """True if this writer's recording has its name: not while an older one has it and no build was ok."""
        return self._target.is_published

    def close(self) -> None:
        """Finish the recording, which is then one file, with nothing beside it once nobody reads it. More calls do
        nothing. A new recording that holds no program is removed."""
        with self._lock, self._errors():
            connection, self._connection = self._connection, None
            try:
                if connection is not None and self._target.is_whole and not self._is_whole:
                    # There is nothing to finish: what went wrong, perhaps for want of room, would go wrong here again.
                    connection.close()
                    self._target.discard(is_empty=True)
                elif connection is not None:
                    is_empty = connection.execute("SELECT id FROM program LIMIT 1").fetchone() is None
                    _finish(connection)
                    if self._is_whole and not is_empty:
                        self._target.publish()
                    self._target.discard(is_empty)
            except BaseException:
                if self._target.is_whole:
                    self._target.discard(is_empty=False)
                raise
            finally:
                self._target.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        import sqlite3

        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            folder = self.path.parent
            advice = "choose another place" if folder.is_dir() else f"there is no folder {folder}: make it"
            raise OutputError(f"the recording {self.path} cannot be written: {reason}; {advice}") from error


def _metadata(command_line: Sequence[str], redacted: bool) -> dict[str, str]:
    import platform

    return {
        "kernlens_version": __version__,
        "created": now(),
        "command_line": json.dumps(list(command_line)),
        "host": platform.platform(),
        "redacted": "source" if redacted else "",
    }


def _create(file: Path, metadata: dict[str, str]) -> None:
    """Make an empty recording."""
    import sqlite3

    connection = sqlite3.connect(file, isolation_level=None)
    try:
        with _transaction(connection):
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            for definition in TABLES.values():
                connection.execute(definition)
            connection.executemany("INSERT INTO recording VALUES (?, ?)", metadata.items())
    finally:
        connection.close()


def _open(target: Target) -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(target.file, isolation_level=None, check_same_thread=False)
    if target.is_published:
        # On a file system without shared memory SQLite stays in its older mode, which is as safe.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
    elif target.is_whole:
        # Until it has its name, nobody misses it: all of it is one transaction.
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN IMMEDIATE")
    return connection


def _finish(connection: sqlite3.Connection) -> None:
    import sqlite3

    try:
        if connection.in_transaction:
            connection.execute("COMMIT")
        # Leaving write-ahead mode empties and removes the file beside the recording, and lets the recording be read from
        # places where nothing can be written.
        connection.execute(f"PRAGMA busy_timeout={READERS_TIMEOUT}")
        connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        # Another program reads the file: everything is written, and the last to close it tidies up.
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
    finally:
        connection.close()


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    if connection.in_transaction:  # Of a recording that is only kept as a whole.
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _redaction(build: Build) -> Redaction:
    redaction = Redaction()
    redaction.learn_of(build)
    return redaction


def _parts(build: Build, redaction: Redaction | None) -> Iterator[tuple[str, str, bytes | None]]:
    """Yield (role, path, content) of each part; the content is None of a source that is redacted or was not read."""
    texts = {source.path: source.text for source in build.sources if not source.unread}
    for path in build.parts.source_paths:
        is_kept = redaction is None and path in texts
        yield "source", path, texts[path].encode("utf-8", "replace") if is_kept else None
    for role, content in (("binary", build.binary), ("debug", build.debug), ("spirv", build.spirv)):
        if content:
            yield role, "", redaction.apply(content) if redaction else content
    if build.launch_shared:
        yield LAUNCHES, "", json.dumps(dict(build.launch_shared)).encode()
    if build.log:
        log = build.log.encode("utf-8", "replace")
        yield "log", "", redaction.apply_to_log(log) if redaction else log


def _snapshots(build: Build, redaction: Redaction | None) -> Iterator[tuple[Snapshot, bytes]]:
    for snapshot, content in contents_of(build.snapshots):
        if redaction is None:
            yield snapshot, content
        elif snapshot.form != "text":
            yield snapshot, redaction.apply(content)
