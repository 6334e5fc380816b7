"""The reader of recordings (``.klens``): what a compile saved.

A recording may come from anybody. Its tables must be exactly those of ``schema.py``, the type of every value is checked,
content is unpacked up to a limit and compared with its hash, and each query has a time limit. Reading never writes to the
file.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kernlens import log
from kernlens.errors import FormatError, KernlensError, NotFoundError, UnsupportedError
from kernlens.model.allowance import Allowance
from kernlens.model.build import (
    BUILT,
    OUTCOMES,
    REFUSED,
    Build,
    BuildParts,
    BuildToolchain,
    Source,
    outcome_told,
)
from kernlens.model.stage import Snapshot
from kernlens.recording import schema
from kernlens.recording.blobs import PackedParts, PackedSnapshots, RecordedContents
from kernlens.recording.capture_notes import device_times, given_constants, linked_from
from kernlens.recording.schema import damaged, typed
from kernlens.recording.settled import connect, cut_off, settled_file

if TYPE_CHECKING:
    import sqlite3

    from kernlens.model.behaviour import Behaviour
    from kernlens.model.device_time import DeviceTime
    from kernlens.model.kept_launch import KeptLaunch

#: Seconds that one query may take: a real one takes milliseconds.
QUERY_TIMEOUT = 10.0
#: The most programs, parts of a program, or snapshots of a program that are read.
ROW_LIMIT = 200_000
#: SQLite's codes of errors that are no damage: PERM, BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, CANTOPEN, TOOBIG.
_NO_DAMAGE = (3, 5, 6, 7, 8, 9, 14, 18)
#: SQLite checks the deadline once in this many steps of its virtual machine.
STEPS = 50_000


class _RecordedParts:
    """The parts of one recorded build; each is read from the recording on first use, those of roles in ``without`` never."""

    #: The device's times of its launches.
    device_times: Mapping[str, DeviceTime] = {}

    def __init__(self, recording: Recording, number: int, without: Collection[str] = ()) -> None:
        self._recording = recording
        self._number = number
        self._without = without

    @cached_property
    def log(self) -> str:
        return self._only("log").decode("utf-8", "replace")

    @cached_property
    def binary(self) -> bytes:
        return self._only("binary")

    @cached_property
    def debug(self) -> bytes:
        return self._only("debug")

    @cached_property
    def spirv(self) -> bytes:
        return self._only("spirv")

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        rows = [(path, blob) for role, path, blob in self._rows if role == "source" and blob is not None]
        contents, read_rows = self._recording.contents, self._recording.rows
        contents.check_sources([blob for _, blob in rows], read_rows)
        return tuple(Source(path, contents.text(blob, read_rows), "recording") for path, blob in rows)

    @cached_property
    def source_paths(self) -> tuple[str, ...]:
        return tuple(path for role, path, _ in self._rows if role == "source")

    @cached_property
    def snapshots(self) -> tuple[Snapshot, ...]:
        return () if "stage" in self._without else self._recording._snapshots(self._number)

    @cached_property
    def launch_shared(self) -> Mapping[str, int]:
        text = self._only(schema.LAUNCHES)
        try:
            launches = typed(json.loads(text), dict, "part") if text else {}
        except (ValueError, RecursionError) as error:
            raise damaged("what launches ask for cannot be read") from error
        return {name: typed(size, int, "part") for name, size in launches.items()}

    @cached_property
    def behaviours(self) -> Mapping[str, Sequence[Behaviour]]:
        if schema.BEHAVIOUR in self._without or self._recording.schema_version < schema.FIRST_OBSERVED:
            return {}
        from kernlens.recording.launch_rows import behaviour_rows

        rows = behaviour_rows(self._recording, self._number)
        if not rows:
            return {}
        from kernlens.recording.behaviours import FREE_OF_KERNEL, RATIO_OF_KERNEL, RecordedBehaviours

        recording = self._recording
        room = FREE_OF_KERNEL + RATIO_OF_KERNEL * recording.allowance.size
        return RecordedBehaviours(rows, lambda blob: recording.contents.read(blob, recording.rows), room)

    @cached_property
    def kept_launches(self) -> Sequence[KeptLaunch]:
        if schema.LAUNCH in self._without or self._recording.schema_version < schema.FIRST_WITH_LAUNCHES:
            return ()
        from kernlens.recording.launch_rows import recorded_launches

        return recorded_launches(self._recording, self._number)

    @cached_property
    def _rows(self) -> tuple[tuple[str, str, int | None], ...]:
        rows = self._recording._parts(self._number)
        return tuple((role, path, None if role in self._without else blob) for role, path, blob in rows)

    def _only(self, asked: str) -> bytes:
        for role, _, blob in self._rows:
            if role == asked and blob is not None:
                return self._recording.contents.part(blob, self._recording.rows)
        return b""


class Recording:
    """An open recording; a context manager, usable from several threads.

    It stays open as long as it or one of its builds is in use, unless ``close`` is called. The file is opened once: neither
    a change of working folder nor another file under its name changes what is read. With ``is_held`` it may be written
    over too: a copy is read, in a temporary folder that goes with the recording.

    Raises NotFoundError if there is no such file, FormatError if the file is no recording or damaged, UnsupportedError if
    a newer kernlens wrote it, KernlensError if somebody writes to it while it is copied.
    """

    def __init__(self, path: str | Path, *, is_held: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._deadline = 0.0
        closing = contextlib.ExitStack()
        self._close = weakref.finalize(self, closing.close)
        try:
            self.schema_version = _checked_schema(self.path, self.path)
            with _sqlite_errors(self.path):
                settled = settled_file(self.path, closing, is_held=is_held)
                if settled != self.path:  # Meanwhile another file may have come under the name.
                    self.schema_version = _checked_schema(settled, self.path)
                self._size = settled.stat().st_size
                #: What may be unpacked; whoever reads what was unpacked shares it.
                self.allowance = Allowance(self._size)
                #: Its contents, by their numbers.
                self.contents = RecordedContents(self.allowance)
                self._connection = connect(settled, "?mode=ro&immutable=1", closing)
                self._limit_time(self._connection)
            self._check_tables()
            log.debug("recording", "%s: schema %d, %d bytes", self.path, self.schema_version, self._size)
        except BaseException:
            closing.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, after which no further content can be read. More calls do nothing."""
        with self._lock:
            self._close()

    @cached_property
    def metadata(self) -> dict[str, str]:
        """The writer's notes: ``kernlens_version``, ``created``, ``command_line`` (a JSON list), ``host``,
        ``redacted`` ("source" or empty)."""
        rows = self.rows("SELECT key, value FROM recording")
        return {typed(key, str, "recording"): typed(value, str, "recording") for key, value in rows}

    @cached_property
    def command_line(self) -> tuple[str, ...]:
        """The command that made the recording; empty if it was made from Python."""
        try:
            words = json.loads(self.metadata.get("command_line", "[]"))
        except (ValueError, RecursionError):
            return ()
        return tuple(word for word in words if isinstance(word, str)) if isinstance(words, list) else ()

    @property
    def redacted(self) -> bool:
        """True if source text was left out."""
        return self.metadata.get("redacted") == "source"

    def builds(self) -> list[Build]:
        """Return all builds, in the order in which they finished. Their parts are read on first use, which raises
        FormatError if the recording is damaged there."""
        toolchains, linked, constants = self._toolchains(), linked_from(self.metadata), given_constants(self.metadata)
        query = "SELECT id, name, device, toolchain, options, status, reason, seconds, command, created FROM program"
        rows, builds = self.rows(query + " ORDER BY id"), dict[int, Build]()
        times = device_times(self.metadata, ((row[1], row[2]) for row in rows))
        for row in rows:
            # Only builds before it: nothing is linked from itself.
            known = tuple(builds[number] for number in linked.get(row[0], ()) if number in builds)
            builds[row[0]] = self._build(row, toolchains, known, constants.get(row[0], {}), times.get(row[1:3], {}))
        return list(builds.values())

    def _build(
        self,
        row: tuple[Any, ...],
        toolchains: dict[int, BuildToolchain],
        linked: tuple[Build, ...],
        constants: dict[int, int],
        times: Mapping[str, DeviceTime],
    ) -> Build:
        number, name, device, toolchain, options, status, reason, seconds, command, created = row
        if toolchain is not None and toolchain not in toolchains:
            raise damaged("a program names a toolchain that is not there")
        parts = _RecordedParts(self, typed(number, int, "program"))
        parts.device_times = times
        outcome, ok = _outcome(status, typed(reason, str, "program"))
        return Build(
            name=typed(name, str, "program"),
            device=typed(device, str, "program"),
            toolchain=None if toolchain is None else toolchains[toolchain],
            options=typed(options, str, "program"),
            command=typed(command, str, "program"),
            ok=ok,
            reason=typed(reason, str, "program") or None,
            seconds=typed(seconds, float, "program"),
            created=typed(created, str, "program"),
            parts=parts,
            inputs=linked,
            constants=constants,
            without_binary="" if ok or outcome == REFUSED else outcome,
        )

    def unread(self, program: int, without: Collection[str] = ()) -> BuildParts:
        """Return the parts of a program, by its number, without those of some roles (``stage``: snapshots). Whoever drops them
        drops what was read of them."""
        return _RecordedParts(self, program, without)

    def packed(self, program: int, without: Collection[str] = ()) -> tuple[PackedParts, PackedSnapshots]:
        """Return the parts of a program as ``unread`` does, each with its content as it is in the file: nothing is unpacked for
        longer than to check it."""
        contents, read_rows = self.contents, self.rows
        parts = [
            (role, path, None if blob is None or role in without else contents.packed(blob, read_rows))
            for role, path, blob in self._parts(program)
            if role == "source" or role not in without
        ]
        stages = () if "stage" in without else self._snapshot_rows(program)
        return parts, [(snapshot, contents.packed(blob, read_rows)) for snapshot, blob in stages]

    def _toolchains(self) -> dict[int, BuildToolchain]:
        toolchains = {}
        for number, *texts in self.rows("SELECT id, name, neo_version, igc_version FROM toolchain"):
            name, neo, igc = (typed(text, str, "toolchain") for text in texts)
            toolchains[typed(number, int, "toolchain")] = BuildToolchain(name, neo, igc)
        return toolchains

    def _parts(self, program: int) -> tuple[tuple[str, str, int | None], ...]:
        """Return (role, path, blob) of each part; the blob is None if the content was left out."""
        parts: list[tuple[str, str, int | None]] = []
        rows = self.rows("SELECT role, path, blob FROM part WHERE program = ? ORDER BY position", program)
        for role, path, blob in rows:
            if role not in schema.ROLES:
                raise damaged(f"a part has the role {role!r}")
            parts.append((role, typed(path, str, "part"), None if blob is None else typed(blob, int, "part")))
        return tuple(parts)

    def _snapshots(self, program: int) -> tuple[Snapshot, ...]:
        return tuple(snapshot for snapshot, _ in self._snapshot_rows(program))

    def _snapshot_rows(self, program: int) -> list[tuple[Snapshot, int]]:
        snapshots = []
        attempts = "attempt" if self.schema_version > 1 else "1"
        query = (
            f"SELECT stage, kernel, form, ending, {attempts}, blob, blob.size FROM snapshot"
            " LEFT JOIN blob ON blob.id = snapshot.blob WHERE program = ? ORDER BY position"
        )
        for stage, kernel, form, ending, attempt, blob, size in self.rows(query, program):
            if form not in schema.FORMS:
                raise damaged(f"a snapshot has the form {form!r}")
            number = typed(blob, int, "snapshot")
            snapshot = Snapshot(
                stage=typed(stage, str, "snapshot"),
                kernel=typed(kernel, str, "snapshot") or None,
                form=form,
                ending=typed(ending, str, "snapshot"),
                find_content=partial(self.contents.read, number, self.rows),
                size=typed(size, int, "blob"),
                attempt=typed(attempt, int, "snapshot"),
                allowance=self.allowance,
            )
            snapshots.append((snapshot, number))
        return snapshots

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query, read while the lock is held."""
        with self._lock, _sqlite_errors(self.path):
            self._deadline = time.monotonic() + QUERY_TIMEOUT
            return list(self._bounded(self._connection.execute(query, values)))

    def _bounded(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        # The file holds values as they are, so a table's rows together cannot be larger than the file, unless its pages
        # are linked in a circle.
        room = self._size
        for number, row in enumerate(rows):
            room -= sum(len(value) for value in row if isinstance(value, str | bytes))
            if number >= ROW_LIMIT or room < 0:
                raise damaged("a table holds more than the file can")
            yield row

    def _limit_time(self, connection: sqlite3.Connection) -> None:
        # The connection holds the handler, which must not keep the recording alive.
        reference = weakref.ref(self)

        def is_over() -> bool:
            recording = reference()
            return recording is None or time.monotonic() > recording._deadline

        connection.set_progress_handler(is_over, STEPS)

    def _check_tables(self) -> None:
        rows = self.rows("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'")
        tables = {name: (kind, sql) for kind, name, sql in rows}
        for name, definition in schema.SCHEMAS[self.schema_version].items():
            kind, sql = tables.pop(name, (None, None))
            if kind != "table" or not isinstance(sql, str) or not schema.same_definition(sql, definition):
                raise damaged(f"the table {name} is missing or not as schema {self.schema_version} defines it")
        if tables:
            raise damaged(f"{sorted(map(repr, tables))[0]} does not belong to schema {self.schema_version}")


def _checked_schema(path: Path, name: Path) -> int:
    """Return the schema of a file, which errors call ``name``."""
    try:
        with path.open("rb") as file:
            head = file.read(schema.HEADER_SIZE)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no recording {name}; correct its name") from error
    except OSError as error:
        raise KernlensError(f"the recording {name} cannot be read: {error.strerror}") from error
    if len(head) < schema.HEADER_SIZE or not schema.is_recording(head):
        raise FormatError(
            f"{name} is not a kernlens recording; kernlens compile and kernlens capture write them",
            format="recording",
            offset=0,
        )
    version = int.from_bytes(head[60:64], "big")
    if version > schema.SCHEMA_VERSION:
        raise UnsupportedError(
            f"{name} has schema {version}, written by a newer kernlens, and this one reads schema {schema.SCHEMA_VERSION}:"
            " update kernlens"
        )
    if version not in schema.SCHEMAS:
        raise FormatError(f"{name} has the unknown schema {version}", format="recording", offset=60)
    return version


@contextlib.contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    import sqlite3

    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError, OverflowError) as error:
        # A damaged text column raises OperationalError, a damaged page DatabaseError, a closed file ProgrammingError.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if isinstance(error, sqlite3.ProgrammingError) or code in _NO_DAMAGE:
            raise FormatError(f"{path} cannot be read: {error}", format="recording") from error
        log.debug("recording", "%s: SQLite says: %s", path, error)
        raise FormatError(f"{path} is damaged{cut_off(path)}; copy or make it again", format="recording") from error


def _outcome(status: object, reason: str) -> tuple[str, bool]:
    """Return the outcome of a build, and whether it has a binary. Raises FormatError if the status is none."""
    if status in OUTCOMES:
        return str(status), status == BUILT and not reason
    if status not in schema.FORMER_STATUS:
        raise damaged(f"a program has the status {status!r}")
    outcome = schema.FORMER_STATUS[str(status)]
    return (outcome, True) if outcome == BUILT else (outcome_told(reason) or REFUSED, False)
